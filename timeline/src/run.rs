//! Writes the profile of a run of this process: records and what ordered them in, a folder out that the readers of this
//! crate, and the field's own tools, take as one capture.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use crate::{Capture, Record, Result, Sync, kernel_details, trace};

/// Writes `kernel_details.csv` (the operators) and `trace_view.json` (the operators, records and waits with the place in
/// the source that each comes from) into a folder, which is made if it is missing.
///
/// Files of these names that are there already are replaced.
///
/// # Errors
///
/// [`Error::Write`](crate::Error::Write) if the folder or a file cannot be written.
///
/// ```
/// use multicore_timeline::{Core, Record, write_folder};
///
/// let folder = std::env::temp_dir().join(format!("profile-{}", std::process::id()));
/// write_folder(&folder, &[Record::new("add_0", "Add", Core::AiVectorCore)], &[])?;
/// assert!(folder.join("kernel_details.csv").exists() && folder.join("trace_view.json").exists());
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), multicore_timeline::Error>(())
/// ```
pub fn write_folder(folder: impl AsRef<Path>, records: &[Record], syncs: &[Sync]) -> Result<()> {
    let folder = folder.as_ref();
    fs::create_dir_all(folder)?;
    kernel_details::write(BufWriter::new(File::create(folder.join("kernel_details.csv"))?), records)?;
    let to = BufWriter::new(File::create(folder.join("trace_view.json"))?);
    trace::write(to, &Capture::from_records(records, syncs), &trace::Options::default())
}
