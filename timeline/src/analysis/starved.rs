//! Operators that sat on their stream and waited for cores.
//!
//! A profile's duration runs from handing the operator to the device to its completion, so an operator that waits for
//! cores looks busy. It is *starved* if all of this holds:
//!
//! 1. it lasted at least [`STARVED_TIMES`](super::thresholds::STARVED_TIMES) times its reference, and at least
//!    [`STARVED_FLOOR_NS`](super::thresholds::STARVED_FLOOR_NS) longer;
//! 2. its core time did not grow by more than [`CORE_TIME_GROWTH`](super::thresholds::CORE_TIME_GROWTH), so it did not
//!    compute more;
//! 3. work on another stream covered at least half of the time by which it was longer.
//!
//! The reference is the shortest operator with the same type, shapes and blocks. If even that lasted three times its
//! core time, all of them may be starved: then the reference is the operator's own core time, and it only counts if the
//! blocks of the two exceed the chip.

use hashbrown::HashMap;
use serde::Serialize;

use super::clean::{Class, Item};
use super::intervals::{Spans, Window};
use super::op::Op;
use super::thresholds::{CORE_TIME_GROWTH, CORES_SHARE, MAX_CORES, STARVED_FLOOR_NS, STARVED_TIMES};
use super::{Analysis, Cores};
use crate::Capture;
use crate::capture::{Row, Symbol};
use crate::cores::blocks;

/// What the duration of an operator is held against.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Reference {
    /// The shortest operator with the same type, shapes and blocks.
    Alike {
        /// That operator.
        op: Op,
        /// Its core time, in ns.
        core_ns: u64,
        /// Operators with that type, shapes and blocks.
        count: usize,
    },
    /// The operator's own core time: all with its type and shapes are long.
    CoreTime,
}

/// An operator that waited for cores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Starved {
    /// The operator.
    pub op: Op,
    /// What its duration is held against.
    pub reference: Reference,
    /// How long it should have lasted, in ns.
    pub reference_ns: u64,
    /// How much longer than that it lasted, in ns: the time it was held up.
    pub held_ns: u64,
    /// Its duration over the reference.
    pub times: f64,
    /// How long cores worked on it, in ns.
    pub core_ns: u64,
    /// The operator on another stream that covers most of it.
    pub beside: Op,
    /// Blocks that the two asked for together. Blocks are cores up to the size of the chip.
    pub asked: Cores,
    /// Whether that is more than the chip has; `None` if its cores are not known.
    pub over: Option<bool>,
}

/// Starved operators of one type and shape on one stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StarvedGroup {
    /// The type of operator.
    pub op_type: String,
    /// The shapes of its inputs.
    pub input_shapes: String,
    /// The stream.
    pub stream: Option<u32>,
    /// How many are starved.
    pub count: usize,
    /// How many there are of that type and shapes on that stream.
    pub of: usize,
    /// Median duration of the starved, in ns.
    pub median_ns: u64,
    /// Median core time of the starved, in ns.
    pub median_core_ns: u64,
    /// Smallest reference, in ns.
    pub reference_ns: u64,
    /// Time held up, added, in ns; smaller is better.
    pub held_ns: u64,
    /// The type of operator that covers most of them.
    pub beside: String,
}

/// Everything that waited for cores.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Starvation {
    /// By type, shapes and stream, the longest time held up first.
    pub groups: Vec<StarvedGroup>,
    /// Each operator, the longest time held up first.
    pub operators: Vec<Starved>,
    /// Whether core times are in the profile at all; without them nothing can be said.
    pub measured: bool,
}

/// How long cores worked on an operator, in ns: the longer of cube and vector time; `None` if not measured.
pub(super) fn core_ns(row: &Row) -> Option<u64> {
    row.aicore_ns.max(row.aiv_ns).filter(|&ns| ns > 0)
}

/// For cube and for vector cores, the largest number of blocks up to [`MAX_CORES`] that at least
/// [`CORES_SHARE`] of the operators on such cores asked for: who asks for all cores is not alone.
pub(super) fn guess_cores(capture: &Capture, items: &[Item]) -> Option<Cores> {
    let mut asked = [[0usize; MAX_CORES as usize + 1]; 2];
    for item in items.iter().filter(|item| item.class == Class::Work) {
        let (cube, vector) = blocks(&capture.rows[item.row as usize]);
        for (counts, blocks) in asked.iter_mut().zip([cube, vector]) {
            counts[if blocks <= MAX_CORES { blocks as usize } else { 0 }] += 1;
        }
    }
    let [cube, vector] = asked.map(|counts| {
        let all: usize = counts[1..].iter().sum();
        let common = |&blocks: &usize| counts[blocks] > 0 && counts[blocks] as f64 >= CORES_SHARE * all as f64;
        (1..counts.len()).rev().find(common).unwrap_or(0) as u32
    });
    (cube > 0 || vector > 0).then_some(Cores { cube, vector })
}

/// Type, shapes and blocks.
pub(super) type Alike = (Symbol, Symbol, Option<u32>);
/// For each type, shapes and blocks: the shortest operator, and how many there are.
pub(super) type Shortest = HashMap<Alike, (u32, usize)>;
/// Type, shapes and stream.
type Group = (Symbol, Symbol, Option<u32>);

/// Where in each stream's work the last question was, so that the next one in order of time starts there.
#[derive(Default)]
pub(super) struct Near(Vec<usize>);

impl Analysis<'_> {
    /// Operators that waited for cores.
    pub fn starved(&self) -> Starvation {
        let shortest = self.shortest();
        let mut operators: Vec<(u32, Starved)> = Vec::new();
        for work in &self.work {
            let mut near = Near::default();
            let starved = work.iter().filter_map(|&index| Some((index, self.is_starved(index, shortest, &mut near)?)));
            operators.extend(starved);
        }
        operators.sort_by(|(_, a), (_, b)| b.held_ns.cmp(&a.held_ns).then(a.op.start_ns.cmp(&b.op.start_ns)));
        let groups = self.starved_groups(&operators);
        let operators = operators.into_iter().map(|(_, starved)| starved).collect();
        Starvation { groups, operators, measured: !shortest.is_empty() }
    }

    fn alike(&self, row: &Row) -> Alike {
        (self.op_type(row), row.input_shapes, row.blocks)
    }

    /// For each type, shapes and blocks with core times: the shortest operator and how many there are.
    pub(super) fn shortest(&self) -> &Shortest {
        self.shortest.get_or_init(|| self.find_shortest())
    }

    fn find_shortest(&self) -> Shortest {
        let mut shortest = Shortest::new();
        for work in &self.work {
            for &index in work {
                let row = self.row(index);
                if core_ns(row).is_none() {
                    continue;
                }
                let entry = shortest.entry(self.alike(row)).or_insert((index, 0));
                entry.1 += 1;
                let best = self.row(entry.0);
                if (row.duration_ns, row.start_ns) < (best.duration_ns, best.start_ns) {
                    entry.0 = index;
                }
            }
        }
        shortest
    }

    /// Whether a row was held up for cores, and by what.
    pub(super) fn is_starved(&self, index: u32, shortest: &Shortest, near: &mut Near) -> Option<Starved> {
        let row = self.row(index);
        let core = core_ns(row)?;
        let long = |than: u64| {
            row.duration_ns >= than + STARVED_FLOOR_NS && row.duration_ns as f64 >= STARVED_TIMES * than as f64
        };
        // No reference is shorter than its core time, nor that much shorter than this one's: almost every row ends here.
        if !long((core as f64 / CORE_TIME_GROWTH) as u64) {
            return None;
        }
        let &(best, count) = shortest.get(&self.alike(row))?;
        let (best, best_core) = (self.row(best), core_ns(self.row(best))?);
        let healthy = (best.duration_ns as f64) < STARVED_TIMES * best_core as f64;
        let grew = core as f64 > CORE_TIME_GROWTH * best_core as f64;
        let (reference, reference_ns) = if healthy && long(best.duration_ns) && !grew {
            let op = Op::of(self.capture, best, self.origin_ns);
            (Reference::Alike { op, core_ns: best_core, count }, best.duration_ns)
        } else if !healthy && long(core) {
            (Reference::CoreTime, core)
        } else {
            return None;
        };

        let held_ns = row.duration_ns - reference_ns;
        let (beside, covered_ns) = self.beside(index, near)?;
        if covered_ns * 2 < held_ns {
            return None;
        }
        let (mine, theirs) = (blocks(row), blocks(self.row(beside)));
        let asked = Cores { cube: mine.0 + theirs.0, vector: mine.1 + theirs.1 };
        let over = self.cores.map(|cores| asked.cube > cores.cube || asked.vector > cores.vector);
        if reference == Reference::CoreTime && over == Some(false) {
            return None;
        }
        Some(Starved {
            op: self.op(index),
            reference,
            reference_ns,
            held_ns,
            times: row.duration_ns as f64 / reference_ns.max(1) as f64,
            core_ns: core,
            beside: self.op(beside),
            asked,
            over,
        })
    }

    /// The operator on another stream that covers most of a row, and how long all of them together cover it, in ns.
    fn beside(&self, index: u32, near: &mut Near) -> Option<(u32, u64)> {
        let (window, stream) = (self.window(index), self.row(index).stream);
        let mut best: Option<(u64, u32)> = None;
        let mut covers = Vec::new();
        near.0.resize(self.work.len(), 0);
        for (work, from) in self.work.iter().zip(&mut near.0) {
            *from = self.ended_before(work, *from, window.start_ns);
            for &other in &work[*from..] {
                let cover = self.window(other);
                if cover.start_ns >= window.end_ns {
                    break;
                }
                let ns = cover.overlap_ns(&window);
                if ns == 0 || self.row(other).stream == stream {
                    continue;
                }
                covers.push(Window::new(cover.start_ns.max(window.start_ns), cover.end_ns.min(window.end_ns)));
                if best.is_none_or(|(most, _)| ns > most) {
                    best = Some((ns, other));
                }
            }
        }
        best.map(|(_, other)| (other, Spans::union(covers).total_ns()))
    }

    /// How many operators of a stream's work, at least `from`, end up to a time: from there on they run later. Steps
    /// forward from `from`, doubling, so that asking in order of time costs a step each.
    fn ended_before(&self, work: &[u32], from: usize, ns: u64) -> usize {
        let ended = |&index: &u32| self.window(index).end_ns <= ns;
        if from > 0 && !work.get(from - 1).is_some_and(ended) {
            return work.partition_point(ended);
        }
        let mut reach = 1;
        while work.get(from + reach).is_some_and(ended) {
            reach *= 2;
        }
        let until = work.len().min(from + reach + 1);
        from + work[from..until].partition_point(ended)
    }

    fn starved_groups(&self, operators: &[(u32, Starved)]) -> Vec<StarvedGroup> {
        let key = |row: &Row| (self.op_type(row), row.input_shapes, row.stream);
        let mut members: HashMap<Group, Vec<&(u32, Starved)>> = HashMap::new();
        for operator in operators {
            members.entry(key(self.row(operator.0))).or_default().push(operator);
        }
        let mut of: HashMap<Group, usize> = HashMap::new();
        for &index in self.work.iter().flatten() {
            *of.entry(key(self.row(index))).or_default() += 1;
        }
        let mut groups: Vec<StarvedGroup> = members
            .into_iter()
            .map(|(key, members)| {
                let mut beside: HashMap<&str, u64> = HashMap::new();
                for (_, starved) in &members {
                    *beside.entry(&starved.beside.op_type).or_default() += starved.held_ns;
                }
                let beside = beside.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)));
                let starved = || members.iter().map(|(_, starved)| starved);
                StarvedGroup {
                    op_type: self.text(key.0).to_owned(),
                    input_shapes: self.text(key.1).to_owned(),
                    stream: key.2,
                    count: members.len(),
                    of: of[&key],
                    median_ns: median(starved().map(|s| s.op.duration_ns)),
                    median_core_ns: median(starved().map(|s| s.core_ns)),
                    reference_ns: starved().map(|s| s.reference_ns).min().unwrap_or(0),
                    held_ns: starved().map(|s| s.held_ns).sum(),
                    beside: beside.map(|(text, _)| text.to_owned()).unwrap_or_default(),
                }
            })
            .collect();
        groups.sort_by(|a, b| {
            let rest = |g: &StarvedGroup| (g.op_type.clone(), g.input_shapes.clone(), g.stream);
            b.held_ns.cmp(&a.held_ns).then_with(|| rest(a).cmp(&rest(b)))
        });
        groups
    }
}

/// The middle value, the lower of two; 0 of nothing.
pub(super) fn median(values: impl IntoIterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.into_iter().collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}
