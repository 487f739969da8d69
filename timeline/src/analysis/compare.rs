//! Two captures, operator by operator: did a change help?
//!
//! Only durations are compared, never start times: each capture has its own clock. Operators are alike if type, input
//! shapes and input types are. For each kind of operator the medians differ by more than noise if the difference
//! exceeds [`NOISE_FLOOR`] of the median before and [`NOISE_DEVIATIONS`] median absolute deviations of the noisier side.
//! With fewer than [`REPEATS`] on a side the noise is not known and the verdict is *unsure*.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Analysis;
use super::starved::median;
use super::summary::share;
use super::thresholds::{NOISE_DEVIATIONS, NOISE_FLOOR, OWED_WALL_CHANGE, REPEATS};

/// What became of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorVerdict {
    /// Shorter beyond noise.
    Faster,
    /// Longer beyond noise.
    Slower,
    /// The same within noise.
    Same,
    /// Different, but with too few repetitions to know the noise.
    Unsure,
    /// Only in the second capture.
    New,
    /// Only in the first capture.
    Gone,
}

impl OperatorVerdict {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            OperatorVerdict::Faster => "faster",
            OperatorVerdict::Slower => "slower",
            OperatorVerdict::Same => "same",
            OperatorVerdict::Unsure => "unsure",
            OperatorVerdict::New => "new",
            OperatorVerdict::Gone => "gone",
        }
    }
}

/// Durations of one kind of operator in one capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// How many.
    pub count: usize,
    /// Durations added, in ns.
    pub sum_ns: u64,
    /// Median, the lower of two, in ns.
    pub median_ns: u64,
    /// Median of the distances from the median, in ns: half of all lie within it.
    pub deviation_ns: u64,
    /// Shortest, in ns.
    pub min_ns: u64,
    /// Longest, in ns.
    pub max_ns: u64,
}

impl Spread {
    fn of(durations: &[u64]) -> Spread {
        let median_ns = median(durations.iter().copied());
        Spread {
            count: durations.len(),
            sum_ns: durations.iter().sum(),
            median_ns,
            deviation_ns: median(durations.iter().map(|ns| ns.abs_diff(median_ns))),
            min_ns: durations.iter().copied().min().unwrap_or(0),
            max_ns: durations.iter().copied().max().unwrap_or(0),
        }
    }
}

/// One kind of operator before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorChange {
    /// The type of operator.
    pub op_type: String,
    /// Shapes of its inputs.
    pub input_shapes: String,
    /// Types of its inputs.
    pub input_types: String,
    /// Durations before.
    pub before: Spread,
    /// Durations after.
    pub after: Spread,
    /// Median after over median before; below 1 is better. `None` if it is only on one side.
    pub ratio: Option<f64>,
    /// Sum after minus sum before, in ns; negative is better.
    pub sum_change_ns: i64,
    /// How much the medians may differ by chance, in ns.
    pub noise_ns: u64,
    /// What became of it.
    pub verdict: OperatorVerdict,
}

/// Two captures compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Wall before, in ns.
    pub wall_before_ns: u64,
    /// Wall after, in ns.
    pub wall_after_ns: u64,
    /// Wall after over wall before; below 1 is better.
    pub wall_ratio: f64,
    /// Work added, before, in ns.
    pub work_before_ns: u64,
    /// Work added, after, in ns.
    pub work_after_ns: u64,
    /// The run as a whole: faster or slower if the wall changed by at least the published 5 %, otherwise same.
    pub verdict: OperatorVerdict,
    /// Whether the overlap check is owed: the wall did not change by 5 %.
    pub overlap_check_owed: bool,
    /// How many kinds of operators are faster, slower, the same, unsure, new, gone, in this order.
    pub counts: [usize; 6],
    /// Operators, the largest change of their sum first.
    pub operators: Vec<OperatorChange>,
    /// What a reader of the numbers should know, a sentence each.
    pub notes: Vec<String>,
}

/// Compares two captures by operator type and shapes.
pub fn compare(before: &Analysis<'_>, after: &Analysis<'_>) -> Comparison {
    let mut operators: BTreeMap<(String, String, String), [Vec<u64>; 2]> = BTreeMap::new();
    for (side, analysis) in [before, after].into_iter().enumerate() {
        for (key, durations) in analysis.durations() {
            operators.entry(key).or_default()[side] = durations;
        }
    }
    let mut operators: Vec<OperatorChange> =
        operators.into_iter().map(|(key, [before, after])| change(key, &before, &after)).collect();
    operators.sort_by_key(|operator| std::cmp::Reverse(operator.sum_change_ns.unsigned_abs()));

    let (wall_before_ns, wall_after_ns) = (before.wall().len_ns(), after.wall().len_ns());
    let wall_ratio = share(wall_after_ns, wall_before_ns);
    let overlap_check_owed = (wall_ratio - 1.0).abs() < OWED_WALL_CHANGE;
    let verdict = match wall_ratio {
        _ if overlap_check_owed => OperatorVerdict::Same,
        ratio if ratio < 1.0 => OperatorVerdict::Faster,
        _ => OperatorVerdict::Slower,
    };
    let sum = |pick: fn(&OperatorChange) -> u64| operators.iter().map(pick).sum();
    let counts = [
        OperatorVerdict::Faster,
        OperatorVerdict::Slower,
        OperatorVerdict::Same,
        OperatorVerdict::Unsure,
        OperatorVerdict::New,
        OperatorVerdict::Gone,
    ]
    .map(|verdict| operators.iter().filter(|operator| operator.verdict == verdict).count());
    Comparison {
        wall_before_ns,
        wall_after_ns,
        wall_ratio,
        work_before_ns: sum(|operator| operator.before.sum_ns),
        work_after_ns: sum(|operator| operator.after.sum_ns),
        verdict,
        overlap_check_owed,
        counts,
        notes: notes(&operators, overlap_check_owed),
        operators,
    }
}

fn change(key: (String, String, String), before: &[u64], after: &[u64]) -> OperatorChange {
    let (before, after) = (Spread::of(before), Spread::of(after));
    let deviation = before.deviation_ns.max(after.deviation_ns) as f64;
    let noise_ns = (NOISE_FLOOR * before.median_ns as f64).max(NOISE_DEVIATIONS * deviation).round() as u64;
    let verdict = match (before.count, after.count) {
        (0, _) => OperatorVerdict::New,
        (_, 0) => OperatorVerdict::Gone,
        _ if before.median_ns.abs_diff(after.median_ns) <= noise_ns => OperatorVerdict::Same,
        (a, b) if a.min(b) < REPEATS => OperatorVerdict::Unsure,
        _ if after.median_ns < before.median_ns => OperatorVerdict::Faster,
        _ => OperatorVerdict::Slower,
    };
    let both = before.count > 0 && after.count > 0 && before.median_ns > 0;
    OperatorChange {
        op_type: key.0,
        input_shapes: key.1,
        input_types: key.2,
        ratio: both.then(|| share(after.median_ns, before.median_ns)),
        sum_change_ns: after.sum_ns as i64 - before.sum_ns as i64,
        before,
        after,
        noise_ns,
        verdict,
    }
}

fn notes(operators: &[OperatorChange], overlap_check_owed: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if overlap_check_owed {
        notes.push("the wall changed by less than 5 %: check the overlap before judging the change".to_owned());
    }
    let counted = |operator: &&OperatorChange| {
        operator.before.count != operator.after.count && operator.before.count > 0 && operator.after.count > 0
    };
    let different = operators.iter().filter(counted).count();
    if different > 0 {
        notes.push(format!(
            "{different} kinds of operators ran a different number of times: compare their medians, not their sums"
        ));
    }
    if operators.iter().all(|operator| operator.ratio.is_none()) {
        notes.push("no operator has the same type and shapes in both captures: they are not comparable".to_owned());
    }
    notes
}

impl Analysis<'_> {
    /// Durations of work by type, input shapes and input types.
    fn durations(&self) -> BTreeMap<(String, String, String), Vec<u64>> {
        let mut by_symbol = hashbrown::HashMap::new();
        for item in self.items.iter().filter(|item| item.class == super::Class::Work) {
            let row = self.row(item.row);
            let key = (self.op_type(row), row.input_shapes, row.input_types);
            by_symbol.entry(key).or_insert_with(Vec::new).push(row.duration_ns);
        }
        let text = |symbol| self.text(symbol).to_owned();
        by_symbol.into_iter().map(|((a, b, c), durations)| ((text(a), text(b), text(c)), durations)).collect()
    }
}
