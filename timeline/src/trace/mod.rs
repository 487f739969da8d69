//! Writes `trace_view.json`: a capture in, a trace out that Perfetto and MindStudio Insight open.
//!
//! Both read Chrome's JSON, each with its own limits, and the trace keeps to those of both:
//!
//! - Times are numbers relative to the first start, in us with three decimals, formatted from integers. The start itself
//!   is in `otherData.origin_ns`: as an absolute time it would be beyond what a reader's `f64` resolves.
//! - A lane is a thread of the process `Ascend Hardware`, `tid` its stream. Slices of a lane never overlap; where a
//!   stream overlaps itself, there are further lanes `Stream 4 #2`.
//! - Only the phases `M`, `X`, `C`, `s` and `f` are used: a reader skips others without a word.
//! - One event a line, `ph` its last key, and the text of the file starts with what is not an event: readers that cut
//!   large files look for that.
//! - Every `pid` has the same number of digits, since one reader tells lanes apart by `pid` and `tid` put together.
//! - Events are sorted by time, and at one time so that `s` and `f` come after the slice that they belong to.

mod events;
pub(crate) mod json;
mod places;

use std::io::Write;

use self::json::{Object, Quoted};
use crate::{Capture, Mark, Result};

/// What to write besides the operators.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Windows and verdicts, drawn in the process `Overlap verdict`.
    pub marks: Vec<Mark>,
    /// The number of cube and of vector cores, where it is known: no operator counts for more in the core sums.
    pub cores: Option<(u32, u32)>,
}

/// Writes the trace of a capture.
///
/// # Errors
///
/// [`Error::Write`](crate::Error::Write) if `to` cannot be written.
///
/// ```
/// use multicore_timeline::{Capture, Core, Record, trace};
///
/// let add = Record { stream_id: Some(2), duration_ns: 1_380, ..Record::new("add_0", "Add", Core::AiVectorCore) };
/// let mut text = Vec::new();
/// trace::write(&mut text, &Capture::from_records(&[add], &[]), &trace::Options::default())?;
/// assert!(String::from_utf8_lossy(&text).contains(r#""ts":0.000,"dur":1.380"#));
/// # Ok::<(), multicore_timeline::Error>(())
/// ```
pub fn write(mut to: impl Write, capture: &Capture, options: &Options) -> Result<()> {
    let origin_ns = first_start(capture);
    let about = Object::new()
        .text("producer", concat!("multicore-timeline ", env!("CARGO_PKG_VERSION")))
        .with("origin_ns", Quoted(&origin_ns.to_string()));
    write!(to, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{},\"traceEvents\":[", about.end())?;
    let mut separator = "\n";
    events::each(capture, options, origin_ns, |event| {
        to.write_all(separator.as_bytes())?;
        separator = ",\n";
        to.write_all(event.as_bytes())
    })?;
    to.write_all(b"\n]}\n")?;
    to.flush()?;
    Ok(())
}

/// The first start of anything in a capture.
pub(crate) fn first_start(capture: &Capture) -> u64 {
    let rows = capture.rows.iter().map(|row| row.start_ns);
    rows.chain(capture.syncs.iter().map(|sync| sync.start_ns)).min().unwrap_or(0)
}
