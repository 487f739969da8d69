//! A capture of a run of this process: records and syncs in, rows out, no file between.

use super::builder::Builder;
use crate::capture::{Capture, Row};
use crate::kernel_details::{sizes, types};
use crate::{Record, Sync};

impl Capture {
    /// The capture of a run that is at hand as records.
    ///
    /// Says the same as the capture of a `kernel_details.csv` that [`kernel_details::write`](crate::kernel_details::write)
    /// made of the records, apart from [`Capture::sources`] and from syncs, which that file has no place for. Row `line`
    /// is the place among the records, from 1.
    ///
    /// ```
    /// use multicore_timeline::{Capture, Core, Record};
    ///
    /// let add = Record { stream_id: Some(2), start_ns: 10, duration_ns: 5, ..Record::new("add", "Add", Core::AiCore) };
    /// let capture = Capture::from_records(&[add], &[]);
    /// assert_eq!(capture.rows[0].end_ns(), 15);
    /// ```
    pub fn from_records(records: &[Record], syncs: &[Sync]) -> Capture {
        let mut builder = Builder::new();
        for (index, record) in records.iter().enumerate() {
            let row = row(record, index as u64 + 1, &mut builder);
            builder.keep(row);
        }
        for sync in syncs {
            builder.sync(sync.clone());
        }
        builder.finish()
    }
}

fn row(record: &Record, line: u64, to: &mut Builder) -> Row {
    let count = |count: u32| Some(count).filter(|&count| count > 0);
    Row {
        source: 0,
        line,
        device: record.device_id,
        step: None,
        stream: record.stream_id,
        task: record.task_id,
        name: to.intern(&record.name),
        op_type: to.intern(&record.op_type),
        core: record.core,
        start_ns: record.start_ns,
        duration_ns: record.duration_ns,
        blocks: count(record.block_num),
        mix_blocks: count(record.mix_block_num),
        input_shapes: to.intern(&sizes(&record.inputs)),
        input_types: to.intern(&types(&record.inputs)),
        output_shapes: to.intern(&sizes(&record.outputs)),
        output_types: to.intern(&types(&record.outputs)),
        aicore_ns: record.aicore_ns,
        aiv_ns: record.aiv_ns,
    }
}
