//! Reads profiles: a file or a folder in, a [`Capture`] out.
//!
//! What a file is, is seen from what it says, not from its name. Files are read in blocks; nothing but the rows stays in
//! memory.

mod builder;
mod columns;
mod cuda;
#[cfg(feature = "sqlite")]
mod database;
mod events;
mod folder;
mod join;
mod kind;
mod marks;
mod number;
mod operators;
mod parallel;
mod progress;
mod records;
mod step_trace;
mod table;
mod task_args;
mod trace;

use std::path::Path;

pub use progress::Progress;

use crate::{Capture, Error, Result};
use builder::Builder;
use progress::{Counted, Meter};

/// Bytes that tell what a file is.
const SNIFF: u64 = 4096;

/// How to read.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Of a folder with several ranks, the one to read.
    pub rank: Option<u32>,
    /// Called now and then with how far it is.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

/// Reads a profile.
///
/// # Errors
///
/// [`Error::NoData`] if no operator is in it, [`Error::Read`] and [`Error::Format`] if it cannot be read,
/// [`Error::Unsuitable`] if it lacks what an analysis of streams needs; each says what to do. Single rows that cannot be
/// read are no error, they are listed in [`Capture::dropped`].
///
/// ```
/// use multicore_timeline::read::{Options, read};
/// # let path = std::env::temp_dir().join(format!("multicore_read_{}.csv", std::process::id()));
/// # std::fs::write(&path, "Name,Stream ID,Start Time(us),Duration(us)\nAdd0,2,1774497535428633.256\t,1.38\n")?;
///
/// let capture = read(&path, &Options::default())?;
/// assert_eq!(capture.rows[0].start_ns, 1_774_497_535_428_633_256);
/// assert_eq!(capture.strings.text(capture.rows[0].name), "Add0");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>, options: &Options<'_>) -> Result<Capture> {
    let path = path.as_ref();
    let mut builder = Builder::new();
    let data = std::fs::metadata(path).map_err(Error::read(path))?;
    if data.is_dir() {
        folder::read(path, options, &mut builder)?;
    } else {
        file(path, &mut builder, &Meter::new(data.len(), options.progress))?;
    }
    let capture = builder.finish();
    check(&capture, path)?;
    Ok(capture)
}

/// Reads one file, whatever it is.
fn file(path: &Path, to: &mut Builder, meter: &Meter<'_>) -> Result<()> {
    let mut from = meter.open(path)?;
    let mark = to.mark();
    let result = match Kind::of(&mut from, path)? {
        Kind::Json => trace::read(from, path, to),
        Kind::Csv => operators::read(from, path, to),
        #[cfg(feature = "sqlite")]
        Kind::Database => database::read(path, to),
        #[cfg(not(feature = "sqlite"))]
        Kind::Database => Err(Error::format(path, "is a database, and this is built without the feature `sqlite`")),
    };
    result.inspect_err(|_| to.undo(&mark))
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Csv,
    Json,
    Database,
}

impl Kind {
    /// By the first bytes of a file, which is left at its start.
    fn of(file: &mut Counted<'_>, path: &Path) -> Result<Kind> {
        let first = file.peek(SNIFF).map_err(Error::read(path))?;
        let text = first.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&first);
        match text.trim_ascii_start() {
            [b'[' | b'{', ..] => Ok(Kind::Json),
            text if text.starts_with(b"SQLite format 3\0") => Ok(Kind::Database),
            [0x1f, 0x8b, ..] => Err(Error::format(path, "is compressed; unpack it: gunzip FILE")),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(Error::format(path, "is UTF-16; save it as UTF-8")),
            _ => Ok(Kind::Csv),
        }
    }
}

/// Whether there is something to analyse.
fn check(capture: &Capture, path: &Path) -> Result<()> {
    if capture.rows.is_empty() {
        let why = match capture.dropped.first() {
            Some(dropped) => {
                let rows = capture.dropped.len();
                format!("none of its {rows} rows can be read; line {}: {}", dropped.line, dropped.why)
            }
            None => "a header and no rows: was anything running while it was collected?".into(),
        };
        return Err(Error::no_data(path, why));
    }
    if capture.rows.iter().all(|row| row.stream.is_none()) {
        let why = "no row has a stream: collectives alone, or collected at level 0; collect at level 1 or above to see streams";
        return Err(Error::unsuitable(path, why));
    }
    Ok(())
}
