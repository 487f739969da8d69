//! What of a capture is work.
//!
//! In: the rows of one device. Out: one [`Item`] a row, in an order that depends on what the rows say and not on where
//! they stand in the file. Each row has exactly one [`Class`]:
//!
//! - *duplicate*: a communication row without stream whose start and duration are those of a row on a stream;
//! - *shell*: an AI_CPU row that drives a collective (`allreduceAicpuKernel`): it brackets the wait and the collective,
//!   which has its own row;
//! - *control*: waits, records, resets, place holders;
//! - *untimed*: start 0 and duration 0 in a capture that starts later;
//! - *suspect*: a computing row that swallows the start of the next row on its stream and lasts ten times the median
//!   of its type and shapes;
//! - *copy*: a copy by a DMA engine: it moves data and is no operator;
//! - *work*: everything else.
//!
//! Raw sums have all rows but the untimed and the copies, cleaned sums have no duplicates, sums of work have work only.

use hashbrown::{HashMap, HashSet};
use std::cmp::Ordering;

use serde::Serialize;

use super::intervals::Window;
use super::kind::{Kind, is_control, is_shell};
use super::op::{Op, is_untyped, type_of};
use super::thresholds::{OVERRUN_FLOOR_NS, OVERRUN_TIMES, REPEATS};
use crate::capture::{Row, Symbol};
use crate::{Capture, Core};

/// Whether a row is work, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// An operator that did something.
    Work,
    /// The second row of a collective.
    Duplicate,
    /// An AI_CPU row that brackets a collective.
    Shell,
    /// A wait, record, or mark.
    Control,
    /// A row without times.
    Untimed,
    /// A row with an impossible duration.
    Suspect,
    /// A copy by a DMA engine.
    Copy,
}

impl Class {
    /// Whether walls, raw sums and unions have it.
    pub const fn counts(self) -> bool {
        !matches!(self, Class::Untimed | Class::Copy)
    }
}

/// When a row ran, relative to a time; what was before it is cut.
pub(super) fn window(row: &Row, origin_ns: u64) -> Window {
    Window::new(row.start_ns.saturating_sub(origin_ns), row.end_ns().saturating_sub(origin_ns))
}

/// A row with what the analysis knows about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Index into [`Capture::rows`].
    pub(crate) row: u32,
    pub(crate) kind: Kind,
    pub(crate) class: Class,
}

/// An operator that runs into the next one on its stream although a stream runs one at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suspect {
    /// The operator.
    pub op: Op,
    /// The next one on the stream, which starts before it ends.
    pub next: Op,
    /// By how much, in ns.
    pub overrun_ns: u64,
    /// The median duration of its type and shapes, in ns; `None` with fewer than three.
    pub median_ns: Option<u64>,
    /// Whether its duration is so far off that it does not count as work.
    pub excluded: bool,
}

/// The order of the analysis: by start, and among equal starts by everything else a row says, so that it does not depend
/// on the order of the file.
pub(crate) fn order(capture: &Capture, a: &Row, b: &Row) -> Ordering {
    let text = |symbol: Symbol| capture.strings.text(symbol);
    let measured = |row: &Row| (row.core, row.step, row.blocks, row.mix_blocks, row.aicore_ns, row.aiv_ns);
    (a.start_ns, a.duration_ns, a.stream, a.task)
        .cmp(&(b.start_ns, b.duration_ns, b.stream, b.task))
        .then_with(|| text(a.name).cmp(text(b.name)))
        .then_with(|| text(a.op_type).cmp(text(b.op_type)))
        .then_with(|| text(a.input_shapes).cmp(text(b.input_shapes)))
        .then_with(|| text(a.output_shapes).cmp(text(b.output_shapes)))
        .then_with(|| measured(a).cmp(&measured(b)))
        .then_with(|| (a.source, a.line).cmp(&(b.source, b.line)))
}

/// Classifies `rows` (indices into the capture, of one device), in the order of the analysis.
pub(crate) fn classify(capture: &Capture, mut rows: Vec<u32>) -> Vec<Item> {
    let row = |index: u32| &capture.rows[index as usize];
    let by_order = |a: &u32, b: &u32| order(capture, row(*a), row(*b));
    if !rows.is_sorted_by(|a, b| by_order(a, b) != Ordering::Greater) {
        rows.sort_unstable_by(by_order);
    }

    let mut types: HashMap<(Symbol, Core), (Kind, Class, bool)> = HashMap::new();
    let mut items: Vec<Item> = Vec::with_capacity(rows.len());
    let clock_starts_later = rows.iter().any(|&index| row(index).start_ns > 0 && row(index).duration_ns > 0);
    for index in rows {
        let row = row(index);
        // Almost all rows are told by type and core; only where those do not say, the name is read.
        let of = types.entry((row.op_type, row.core)).or_insert_with(|| {
            let op_type = capture.strings.text(row.op_type);
            let (kind, class) = tell(row.core, op_type, "");
            (kind, class, is_untyped(op_type) || matches!(kind, Kind::Compute | Kind::AiCpu))
        });
        let (mut kind, mut class, unclear) = *of;
        if unclear {
            (kind, class) = tell(row.core, capture.strings.text(row.op_type), capture.strings.text(row.name));
        }
        if row.start_ns == 0 && row.duration_ns == 0 && clock_starts_later {
            class = Class::Untimed;
        }
        items.push(Item { row: index, kind, class });
    }
    mark_duplicates(capture, &mut items);
    items
}

/// What an operator is by its type and name alone.
fn tell(core: Core, op_type: &str, name: &str) -> (Kind, Class) {
    let kind = Kind::of(core, op_type, name);
    let class = if is_control(op_type) || is_untyped(op_type) && is_control(name) {
        Class::Control
    } else if kind == Kind::Copy {
        Class::Copy
    } else if kind == Kind::AiCpu && is_shell(op_type, name) {
        Class::Shell
    } else {
        Class::Work
    };
    (kind, class)
}

fn mark_duplicates(capture: &Capture, items: &mut [Item]) {
    let row = |item: &Item| &capture.rows[item.row as usize];
    let stray =
        |item: &Item| item.class == Class::Work && row(item).stream.is_none() && item.kind == Kind::Communication;
    let strays: HashSet<(u64, u64)> =
        items.iter().filter(|i| stray(i)).map(|i| (row(i).start_ns, row(i).duration_ns)).collect();
    if strays.is_empty() {
        return;
    }
    let twins: HashSet<(u64, u64)> = items
        .iter()
        .map(row)
        .filter(|row| row.stream.is_some())
        .map(|row| (row.start_ns, row.duration_ns))
        .filter(|times| strays.contains(times))
        .collect();
    for item in items.iter_mut() {
        if stray(item) && twins.contains(&(row(item).start_ns, row(item).duration_ns)) {
            item.class = Class::Duplicate;
        }
    }
}

/// Finds computing operators that run into their successor, and marks those with impossible durations.
pub(crate) fn mark_suspects(capture: &Capture, items: &mut [Item], origin_ns: u64) -> Vec<Suspect> {
    let row = |at: usize, items: &[Item]| &capture.rows[items[at].row as usize];
    let mut last: HashMap<u32, usize> = HashMap::new();
    let mut overruns: Vec<(usize, usize)> = Vec::new();
    for at in 0..items.len() {
        let (item, this) = (items[at], row(at, items));
        let Some(stream) = this.stream.filter(|_| item.class == Class::Work && item.kind.computes()) else { continue };
        if let Some(before) = last.insert(stream, at) {
            let previous = row(before, items);
            let overrun = previous.end_ns().saturating_sub(this.start_ns);
            if overrun >= OVERRUN_FLOOR_NS && previous.start_ns < this.start_ns {
                overruns.push((before, at));
            }
        }
    }
    if overruns.is_empty() {
        return Vec::new();
    }

    let key = |row: &Row| (type_of(capture, row), row.input_shapes);
    let accused: HashSet<(Symbol, Symbol)> = overruns.iter().map(|&(at, _)| row(at, items)).map(key).collect();
    let mut durations: HashMap<(Symbol, Symbol), Vec<u64>> = HashMap::new();
    for item in items.iter() {
        let row = &capture.rows[item.row as usize];
        if accused.contains(&key(row)) {
            durations.entry(key(row)).or_default().push(row.duration_ns);
        }
    }
    durations.values_mut().for_each(|all| all.sort_unstable());

    let mut suspects = Vec::with_capacity(overruns.len());
    for (at, next) in overruns {
        let (this, after) = (row(at, items), row(next, items));
        let same = &durations[&key(this)];
        let median_ns = (same.len() >= REPEATS).then(|| same[same.len() / 2]);
        let excluded = median_ns.is_some_and(|median| this.duration_ns as f64 >= OVERRUN_TIMES * median.max(1) as f64);
        if excluded {
            items[at].class = Class::Suspect;
        }
        suspects.push(Suspect {
            op: Op::of(capture, this, origin_ns),
            next: Op::of(capture, after, origin_ns),
            overrun_ns: this.end_ns() - after.start_ns,
            median_ns,
            excluded,
        });
    }
    suspects
}
