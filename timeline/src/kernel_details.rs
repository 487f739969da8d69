//! Writes `kernel_details.csv`: records in, text out, with the header and the cell formats of CANN's profiler (the
//! header that says `Block Num`; older ones say `Block Dim`).
//!
//! Guaranteed: rows are sorted by start; times are exact to the nanosecond; a cell that the record has no answer for
//! says `N/A`, as the profiler does.

use std::io::Write;

use crate::{Operand, Record, Result};

/// What the profiler writes for "does not belong to a model".
const NO_MODEL: &str = "4294967295";
const UNKNOWN: &str = "N/A";

/// One row: the record, and what depends on the rows around it.
struct Row<'a> {
    record: &'a Record,
    wait_ns: u64,
}

/// A column: its title, and its cell of a row.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: [Column; 46] = [
    ("Device_id", |row| row.record.device_id.to_string()),
    ("Model ID", |_| NO_MODEL.into()),
    ("Task ID", |row| number(row.record.task_id)),
    ("Stream ID", |row| number(row.record.stream_id)),
    ("Name", |row| row.record.name.to_string()),
    ("Type", |row| row.record.op_type.to_string()),
    ("OP State", unknown),
    ("Accelerator Core", |row| row.record.core.to_string()),
    // The profiler ends absolute times with a tab, so that spreadsheets do not round them to 15 digits.
    ("Start Time(us)", |row| micros(row.record.start_ns) + "\t"),
    ("Duration(us)", |row| micros(row.record.duration_ns)),
    ("Wait Time(us)", |row| micros(row.wait_ns) + "000"),
    ("Block Num", |row| row.record.block_num.to_string()),
    ("Mix Block Num", |row| row.record.mix_block_num.to_string()),
    ("HF32 Eligible", unknown),
    ("Input Shapes", |row| shapes(&row.record.inputs)),
    ("Input Data Types", |row| each(&row.record.inputs, |x| x.dtype.to_string())),
    ("Input Formats", |row| each(&row.record.inputs, |x| x.format.to_string())),
    ("Output Shapes", |row| shapes(&row.record.outputs)),
    ("Output Data Types", |row| each(&row.record.outputs, |x| x.dtype.to_string())),
    ("Output Formats", |row| each(&row.record.outputs, |x| x.format.to_string())),
    ("Context ID", unknown),
    ("aicore_time(us)", |row| time(row.record.aicore_ns)),
    ("aic_total_cycles", unknown),
    ("aic_mac_time(us)", unknown),
    ("aic_mac_ratio", unknown),
    ("aic_scalar_time(us)", unknown),
    ("aic_scalar_ratio", unknown),
    ("aic_mte1_time(us)", unknown),
    ("aic_mte1_ratio", unknown),
    ("aic_mte2_time(us)", unknown),
    ("aic_mte2_ratio", unknown),
    ("aic_fixpipe_time(us)", unknown),
    ("aic_fixpipe_ratio", unknown),
    ("aic_icache_miss_rate", unknown),
    ("aiv_time(us)", |row| time(row.record.aiv_ns)),
    ("aiv_total_cycles", unknown),
    ("aiv_vec_time(us)", unknown),
    ("aiv_vec_ratio", unknown),
    ("aiv_scalar_time(us)", unknown),
    ("aiv_scalar_ratio", unknown),
    ("aiv_mte2_time(us)", unknown),
    ("aiv_mte2_ratio", unknown),
    ("aiv_mte3_time(us)", unknown),
    ("aiv_mte3_ratio", unknown),
    ("aiv_icache_miss_rate", unknown),
    ("cube_utilization(%)", unknown),
];

/// The titles of the columns, in order.
pub fn header() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|(title, _)| *title)
}

/// Writes a header and one row a record, sorted by start.
///
/// `Wait Time` is what it is in real files: the gap since the row before ended, whatever its stream, and 0 if that was
/// still running. (It does not say how long the operator waited for anything.)
///
/// # Errors
///
/// [`Error::Write`](crate::Error::Write) if `to` cannot be written.
///
/// ```
/// use multicore_timeline::{Core, Record, kernel_details};
///
/// let mut text = Vec::new();
/// kernel_details::write(&mut text, &[Record::new("add_0", "Add", Core::AiVectorCore)])?;
/// assert_eq!(String::from_utf8_lossy(&text).lines().count(), 2);
/// # Ok::<(), multicore_timeline::Error>(())
/// ```
pub fn write<'a>(to: impl Write, records: impl IntoIterator<Item = &'a Record>) -> Result<()> {
    let mut records: Vec<&Record> = records.into_iter().collect();
    records.sort_by_key(|record| record.start_ns);

    let mut csv = csv::Writer::from_writer(to);
    csv.write_record(header())?;
    let mut previous_end = None;
    for record in records {
        let wait_ns = previous_end.map_or(0, |end| record.start_ns.saturating_sub(end));
        let row = Row { record, wait_ns };
        csv.write_record(COLUMNS.iter().map(|(_, cell)| cell(&row)))?;
        previous_end = Some(record.end_ns());
    }
    csv.flush()?;
    Ok(())
}

fn unknown(_: &Row) -> String {
    UNKNOWN.into()
}

fn number(value: Option<impl ToString>) -> String {
    value.map_or_else(|| UNKNOWN.into(), |value| value.to_string())
}

fn time(ns: Option<u64>) -> String {
    ns.map_or_else(|| UNKNOWN.into(), micros)
}

/// Nanoseconds as microseconds with three decimals, without a float on the way.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

/// `"4096,7168;1"`. The quotes are part of the cell; writing it as CSV triples them.
fn shapes(operands: &[Operand]) -> String {
    if operands.is_empty() { UNKNOWN.into() } else { format!("\"{}\"", sizes(operands)) }
}

/// One text an operand, joined by `;`.
fn each(operands: &[Operand], text: impl Fn(&Operand) -> String) -> String {
    if operands.is_empty() { UNKNOWN.into() } else { joined(operands, text) }
}

/// `4096,7168;1`: operands by `;`, sizes by `,`.
pub(crate) fn sizes(operands: &[Operand]) -> String {
    joined(operands, |x| x.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

/// `DT_BF16;INT32`.
pub(crate) fn types(operands: &[Operand]) -> String {
    joined(operands, |x| x.dtype.to_string())
}

fn joined(operands: &[Operand], text: impl Fn(&Operand) -> String) -> String {
    operands.iter().map(text).collect::<Vec<_>>().join(";")
}
