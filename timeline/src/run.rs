//! Writes the profile of a run of this process: records and what ordered them in, a folder out that the readers of this
//! crate, and the field's own tools, take as one capture.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use crate::capture::Row;
use crate::{Capture, Operand, Record, Result, Sync, kernel_details, trace};

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
    trace::write(to, &Capture::of_run(records, syncs), &trace::Options::default())
}

impl Capture {
    /// The capture of a run of this process: rows in order of start, numbered from 1.
    pub fn of_run(records: &[Record], syncs: &[Sync]) -> Capture {
        let mut capture = Capture { syncs: syncs.to_vec(), ..Capture::default() };
        capture.syncs.sort_by_key(|sync| sync.start_ns);
        let mut by_start: Vec<&Record> = records.iter().collect();
        by_start.sort_by_key(|record| record.start_ns);
        capture.rows = by_start.iter().zip(1..).map(|(record, number)| capture.row(record, number)).collect();
        capture
    }

    fn row(&mut self, record: &Record, number: u64) -> Row {
        let mut each = |operands: &[Operand], text: fn(&Operand) -> String| {
            let texts: Vec<_> = operands.iter().map(text).collect();
            self.strings.intern(&texts.join(";"))
        };
        let sizes: fn(&Operand) -> String =
            |x: &Operand| x.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        Row {
            source: 0,
            line: number,
            device: record.device_id,
            step: None,
            stream: record.stream_id,
            task: record.task_id,
            input_shapes: each(&record.inputs, sizes),
            input_types: each(&record.inputs, |x| x.dtype.to_string()),
            output_shapes: each(&record.outputs, sizes),
            output_types: each(&record.outputs, |x| x.dtype.to_string()),
            name: self.strings.intern(&record.name),
            op_type: self.strings.intern(&record.op_type),
            core: record.core,
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            blocks: Some(record.block_num).filter(|&blocks| blocks > 0),
            mix_blocks: Some(record.mix_block_num).filter(|&blocks| blocks > 0),
            aicore_ns: record.aicore_ns,
            aiv_ns: record.aiv_ns,
        }
    }
}
