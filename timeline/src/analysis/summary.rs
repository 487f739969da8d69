//! The run in numbers: how long it took, how much was done, how much of that was counted twice.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use serde::Serialize;

use super::clean::Item;
use super::intervals::{Spans, Window};
use super::kind::Kind;
use super::{Analysis, Class, Cores, Suspect};
use crate::capture::Symbol;

/// Work of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindTotal {
    /// The kind.
    pub kind: Kind,
    /// Operators of it.
    pub rows: usize,
    /// Their durations added, in ns.
    pub sum_ns: u64,
    /// How long at least one of them ran, in ns.
    pub busy_ns: u64,
    /// `busy_ns` over the wall, 0 to 1.
    pub share: f64,
}

/// Work of one operator type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeTotal {
    /// The type of operator: `MatMulV2`.
    pub op_type: String,
    /// Operators of it.
    pub rows: usize,
    /// Their durations added, in ns.
    pub sum_ns: u64,
    /// `sum_ns` over the sum of all work, 0 to 1.
    pub share: f64,
}

/// The run in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Last end minus first start, in ns; smaller is better.
    pub wall_ns: u64,
    /// All durations added, in ns. Counts collectives twice where the profiler writes them twice.
    pub sum_ns: u64,
    /// All durations added but those of duplicate collective rows, in ns.
    pub cleaned_sum_ns: u64,
    /// Durations of work added, in ns: without duplicates, AI_CPU shells, waits, and impossible durations.
    pub work_sum_ns: u64,
    /// How long at least one row was active, in ns.
    pub union_ns: u64,
    /// How long at least one row of work was active, in ns.
    pub work_union_ns: u64,
    /// How long nothing worked, in ns: the wall minus `work_union_ns`; smaller is better.
    pub free_ns: u64,
    /// Rows that were looked at.
    pub rows: usize,
    /// Rows that the reader could not take over; the capture lists them.
    pub dropped_rows: usize,
    /// `sum_ns` over the wall. Above 1 something overlapped, or was counted twice: compare with the next two.
    pub sum_over_wall: f64,
    /// `cleaned_sum_ns` over the wall. The published check is owed up to 1.05.
    pub cleaned_sum_over_wall: f64,
    /// `work_sum_ns` over the wall: average number of operators at work; larger is better.
    pub work_sum_over_wall: f64,
    /// `union_ns` over the wall, 0 to 1.
    pub utilisation: f64,
    /// `work_union_ns` over the wall, 0 to 1; larger is better.
    pub work_utilisation: f64,
    /// Duplicate collective rows.
    pub duplicate_rows: usize,
    /// Their durations added, in ns.
    pub duplicate_ns: u64,
    /// AI_CPU rows that bracket a collective.
    pub shell_rows: usize,
    /// Their durations added, in ns.
    pub shell_ns: u64,
    /// Waits, records and marks among the rows.
    pub control_rows: usize,
    /// Their durations added, in ns.
    pub control_ns: u64,
    /// Copies by a DMA engine, which are in no wall, sum or union.
    pub copy_rows: usize,
    /// Their durations added, in ns.
    pub copy_ns: u64,
    /// Rows without start and duration, left out of everything.
    pub untimed_rows: usize,
    /// Operators of zero length; they are rows but take no time.
    pub zero_length_rows: usize,
    /// Operators that run into the next on their stream, longest overrun first.
    pub suspects: Vec<Suspect>,
    /// The device.
    pub device: u32,
    /// The first start of the device, in ns on the clock of the capture: 0 of all other times.
    pub origin_ns: u64,
    /// When the selected part begins, in ns after the origin.
    pub start_ns: u64,
    /// Steps that have rows, in order.
    pub steps: Vec<u32>,
    /// Rows outside every step, if there are steps.
    pub outside_steps: usize,
    /// Cores of the chip, given or guessed from the blocks asked for.
    pub cores: Option<Cores>,
    /// Work by kind, in the order of [`Kind::ALL`]; kinds without work are left out.
    pub kinds: Vec<KindTotal>,
    /// Work by operator type, the largest sum first.
    pub types: Vec<TypeTotal>,
    /// What a reader of the numbers should know, a sentence each.
    pub notes: Vec<String>,
}

impl Analysis<'_> {
    /// The run in numbers.
    pub fn summary(&self) -> Summary {
        let timed = || self.items.iter().filter(|item| item.class.counts());
        let of = |class: Class| self.items.iter().filter(move |item| item.class == class);
        let duration = |item: &Item| self.row(item.row).duration_ns;
        let sum = |class: Class| -> u64 { of(class).map(duration).sum() };
        let count = |class: Class| of(class).count();

        let wall = self.wall();
        let wall_ns = wall.len_ns();
        let union_ns = Spans::union(timed().map(|item| self.window(item.row))).total_ns();
        let work_union_ns = Spans::union(of(Class::Work).map(|item| self.window(item.row))).total_ns();
        let (sum_ns, cleaned_sum_ns, work_sum_ns) = self.sums();
        let (steps, outside_steps) = self.steps();

        let mut summary = Summary {
            wall_ns,
            sum_ns,
            cleaned_sum_ns,
            work_sum_ns,
            union_ns,
            work_union_ns,
            free_ns: wall_ns - work_union_ns,
            rows: self.items.len(),
            dropped_rows: self.capture.dropped.len(),
            sum_over_wall: share(sum_ns, wall_ns),
            cleaned_sum_over_wall: share(cleaned_sum_ns, wall_ns),
            work_sum_over_wall: share(work_sum_ns, wall_ns),
            utilisation: share(union_ns, wall_ns),
            work_utilisation: share(work_union_ns, wall_ns),
            duplicate_rows: count(Class::Duplicate),
            duplicate_ns: sum(Class::Duplicate),
            shell_rows: count(Class::Shell),
            shell_ns: sum(Class::Shell),
            control_rows: count(Class::Control),
            control_ns: sum(Class::Control),
            copy_rows: count(Class::Copy),
            copy_ns: sum(Class::Copy),
            untimed_rows: count(Class::Untimed),
            zero_length_rows: timed().filter(|item| self.window(item.row).len_ns() == 0).count(),
            suspects: self.sorted_suspects(),
            device: self.device,
            origin_ns: self.origin_ns,
            start_ns: wall.start_ns,
            steps,
            outside_steps,
            cores: self.cores,
            kinds: self.kinds(wall_ns),
            types: self.types(work_sum_ns),
            notes: Vec::new(),
        };
        summary.notes = notes(&summary, self);
        summary
    }

    /// All durations added; without duplicates; work alone. In ns.
    pub(super) fn sums(&self) -> (u64, u64, u64) {
        let mut sums = (0, 0, 0);
        for item in self.items.iter().filter(|item| item.class.counts()) {
            let ns = self.window(item.row).len_ns();
            sums.0 += ns;
            sums.1 += if item.class == Class::Duplicate { 0 } else { ns };
            sums.2 += if item.class == Class::Work { ns } else { 0 };
        }
        sums
    }

    fn steps(&self) -> (Vec<u32>, usize) {
        let mut steps: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        // Steps come in runs of rows.
        for run in self.items.chunk_by(|a, b| self.row(a.row).step == self.row(b.row).step) {
            *steps.entry(self.row(run[0].row).step).or_default() += run.len();
        }
        let outside = steps.remove(&None).unwrap_or(0);
        let steps: Vec<u32> = steps.into_keys().flatten().collect();
        let outside = if steps.is_empty() { 0 } else { outside };
        (steps, outside)
    }

    fn kinds(&self, wall_ns: u64) -> Vec<KindTotal> {
        let mut windows: [Vec<Window>; Kind::ALL.len()] = Default::default();
        for item in self.items.iter().filter(|item| matches!(item.class, Class::Work | Class::Copy)) {
            windows[item.kind as usize].push(self.window(item.row));
        }
        let total = |(kind, windows): (Kind, Vec<Window>)| {
            let (rows, sum_ns) = (windows.len(), windows.iter().map(Window::len_ns).sum());
            let busy_ns = Spans::union(windows).total_ns();
            KindTotal { kind, rows, sum_ns, busy_ns, share: share(busy_ns, wall_ns) }
        };
        Kind::ALL.into_iter().zip(windows).map(total).filter(|total| total.rows > 0).collect()
    }

    fn types(&self, work_sum_ns: u64) -> Vec<TypeTotal> {
        let mut totals: HashMap<Symbol, (usize, u64)> = HashMap::new();
        for item in self.items.iter().filter(|item| item.class == Class::Work) {
            let row = self.row(item.row);
            let total = totals.entry(self.op_type(row)).or_default();
            total.0 += 1;
            total.1 += row.duration_ns;
        }
        let mut types: Vec<TypeTotal> = totals
            .into_iter()
            .map(|(op_type, (rows, sum_ns))| TypeTotal {
                op_type: self.text(op_type).to_owned(),
                rows,
                sum_ns,
                share: share(sum_ns, work_sum_ns),
            })
            .collect();
        types.sort_unstable_by(|a, b| b.sum_ns.cmp(&a.sum_ns).then_with(|| a.op_type.cmp(&b.op_type)));
        types
    }

    fn sorted_suspects(&self) -> Vec<Suspect> {
        let mut suspects = self.suspects.clone();
        suspects.sort_by(|a, b| b.overrun_ns.cmp(&a.overrun_ns).then(a.op.start_ns.cmp(&b.op.start_ns)));
        suspects
    }
}

/// `part` over `whole`, 0 if there is no whole.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn notes(summary: &Summary, analysis: &Analysis<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if summary.duplicate_rows > 0 {
        notes.push(format!(
            "{} collective rows appear twice (without stream and on one): counted once, sum/wall is {:.4}, not {:.4}",
            summary.duplicate_rows, summary.cleaned_sum_over_wall, summary.sum_over_wall
        ));
    }
    if summary.shell_rows > 0 {
        notes.push(format!(
            "{} AI_CPU rows bracket collectives and are not work: sum/wall without them is {:.4}",
            summary.shell_rows, summary.work_sum_over_wall
        ));
    }
    if summary.control_rows > 0 {
        notes.push(format!("{} waits, records and marks are not counted as work", summary.control_rows));
    }
    if summary.untimed_rows > 0 {
        notes.push(format!("{} rows have neither start nor duration and are left out", summary.untimed_rows));
    }
    if let Some(first) = summary.suspects.iter().find(|suspect| suspect.excluded) {
        let excluded = summary.suspects.iter().filter(|suspect| suspect.excluded).count();
        notes.push(format!(
            "{excluded} durations are impossible and not counted as work; the worst: line {} ends {} ns after line {} starts \
             on the same stream",
            first.op.line, first.overrun_ns, first.next.line
        ));
    }
    if summary.outside_steps > 0 {
        notes.push(format!("{} rows lie outside every step", summary.outside_steps));
    }
    notes.extend(analysis.uneven_steps());
    notes
}
