//! Makes one capture of a table and a trace of the same run.
//!
//! An operator is in both if it starts at the same nanosecond on the same stream; the table's row stays, since it says
//! more. From the trace come the waits and records, and the operators that only it has (copies). Collectives as a whole,
//! which belong to no stream, may start a few nanoseconds apart: the two files round differently.

use std::collections::HashMap;

use super::builder::{Builder, Mark};

/// By how much the starts of one collective may differ.
const COLLECTIVE_SLACK_NS: u64 = 10;

/// Joins what was read since `mark` (the trace) to what was read before (the table).
pub(crate) fn join(to: &mut Builder, mark: &Mark) {
    let (table, trace) = to.rows().split_at(mark.rows);
    let in_trace = trace.len();
    let mut unmatched: HashMap<(u64, Option<u32>), u32> = HashMap::with_capacity(table.len());
    let mut devices: Vec<u32> = Vec::new();
    for row in table {
        *unmatched.entry((row.start_ns, row.stream)).or_default() += 1;
        if !devices.contains(&row.device) {
            devices.push(row.device);
        }
    }
    // A trace names its devices badly; if the table has one, it is that.
    let device = if let [device] = devices[..] { Some(device) } else { None };

    let mut take = |start_ns: u64, stream: Option<u32>| {
        let count = unmatched.get_mut(&(start_ns, stream)).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    };
    let mut known = 0;
    to.settle(
        mark,
        |row| {
            row.device = device.unwrap_or(row.device);
            let slack = if row.stream.is_none() { COLLECTIVE_SLACK_NS } else { 0 };
            let mut around = row.start_ns.saturating_sub(slack)..=row.start_ns.saturating_add(slack);
            let in_table = around.any(|start_ns| take(start_ns, row.stream));
            known += u64::from(in_table);
            !in_table
        },
        |sync| sync.device_id = device.unwrap_or(sync.device_id),
    );
    if known == 0 && in_trace > 0 {
        let traces = to.sources().get(mark.sources).cloned();
        to.undo(mark);
        if let Some(trace) = traces {
            to.source(&trace.path, "left out");
            to.drop_row(
                0,
                format!("none of its {in_trace} operators starts when one of the table does: another capture"),
            );
        }
    }
}
