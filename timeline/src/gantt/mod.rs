//! Draws a run: a capture in, a picture out, with a lane a stream, colours by kind of core, windows and verdict over the
//! lanes, waits as hatched bars with an arrow from what they waited for, and the cores in use below.
//!
//! [`svg`] makes a picture for a page, [`html`] a page of its own to zoom and point at. Guaranteed of both: nothing is
//! loaded from anywhere, and they follow the reader's choice of light or dark. The size of the SVG is bounded by its
//! width and the number of lanes, not by the number of operators: what is below a pixel is merged.

mod data;
mod kind;
mod layout;
mod svg;

use std::io::Write;

pub use self::kind::Kind;
use crate::{Capture, Mark, Result};

/// What to draw besides the operators.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The heading; empty for none.
    pub title: String,
    /// A line below the heading: the verdict in words.
    pub verdict: String,
    /// Windows and barriers.
    pub marks: Vec<Mark>,
    /// A word about a stream, such as its role: device, stream, word.
    pub notes: Vec<(u32, Option<u32>, String)>,
    /// The number of cube and of vector cores, where it is known.
    pub cores: Option<(u32, u32)>,
    /// The 0 of the time axis, in ns on the capture's own clock; the first start if not given.
    pub origin_ns: Option<u64>,
}

/// Draws an SVG of 1200 units width.
///
/// # Errors
///
/// [`Error::Write`](crate::Error::Write) if `to` cannot be written.
///
/// ```
/// use multicore_timeline::{Capture, Core, Record, gantt};
///
/// let add = Record { stream_id: Some(2), duration_ns: 1_380, ..Record::new("add_0", "Add", Core::AiVectorCore) };
/// let mut text = Vec::new();
/// gantt::svg(&mut text, &Capture::from_records(&[add], &[]), &gantt::Options::default())?;
/// assert!(text.starts_with(b"<svg "));
/// # Ok::<(), multicore_timeline::Error>(())
/// ```
pub fn svg(mut to: impl Write, capture: &Capture, options: &Options) -> Result<()> {
    to.write_all(svg::draw(capture, options).as_bytes())?;
    to.flush()?;
    Ok(())
}

/// Draws a page to zoom (wheel), move (drag) and point at; it holds every operator.
///
/// # Errors
///
/// [`Error::Write`](crate::Error::Write) if `to` cannot be written.
pub fn html(mut to: impl Write, capture: &Capture, options: &Options) -> Result<()> {
    let page = include_str!("page.html");
    // The page has one place for each: its style, its data, its script.
    for part in page.split_inclusive("-->") {
        match part.rsplit_once("<!--") {
            Some((before, "style-->")) => write!(to, "{before}<style>\n{}</style>", include_str!("page.css"))?,
            Some((before, "script-->")) => write!(to, "{before}<script>\n{}</script>", include_str!("page.js"))?,
            Some((before, "data-->")) => {
                write!(to, "{before}<script type=\"application/json\" id=\"data\">")?;
                data::write(&mut to, capture, options)?;
                write!(to, "</script>")?;
            }
            _ => to.write_all(part.as_bytes())?,
        }
    }
    to.flush()?;
    Ok(())
}
