//! How many records and waits a program takes under several rules.
//!
//! In: a `#[multicore]` function whose launches go through [`task`]. Out: what its plan made when it ran, and what the
//! rules of others would make of the same launches, which [`task`] has noted with the data that they use.
//!
//! | rule | a launch waits for | events are recorded |
//! |---|---|---|
//! | [`every_edge`] | every launch on another stream whose data it uses | after each launch |
//! | [`latest_per_stream`] | the latest of those of each stream (SYCL's CUDA adapter) | after each launch |
//! | [`pairwise`] | each unless its stream waited for that launch before; the latest of each stream (CANN GE) | one for each wait |
//! | [`pair_cache`] | the latest of each stream, unless its stream waited for that or a later one (CUDASTF) | after each launch |
//! | [`reduction`] | what no other path of waits and streams gives, by brute force | where somebody waits |
//!
//! The rules of others are emulations as their sources read, not runs of their code.

pub mod programs;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use multicore::prelude::*;

use crate::dag::{Dag, Task};

/// What a program launched, in order.
#[derive(Default)]
pub struct Log {
    streams: RefCell<Vec<Stream>>,
    launches: RefCell<Vec<Task>>,
    /// Nothing is freed before the end, so that no memory is handed on, which might order more than the data does.
    kept: RefCell<Vec<Tensor>>,
}

/// What a task has computed.
pub struct Value {
    tensor: Tensor,
    task: usize,
}

/// A kernel whose cost is that of its launch.
struct Touch;

impl Kernel for Touch {
    fn name(&self) -> &'static str {
        "Touch"
    }
    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }
    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        tile.output::<f32>(0)?.as_mut_slice()?.fill(1.0);
        Ok(())
    }
}

impl Log {
    /// The number of a stream; 0 is the one that was current first.
    fn stream(&self, stream: Stream) -> usize {
        let mut streams = self.streams.borrow_mut();
        streams.iter().position(|known| *known == stream).unwrap_or_else(|| {
            streams.push(stream);
            streams.len() - 1
        })
    }

    /// The task graph, and at its end what the function makes `main` wait for: all that was launched.
    fn graph(self) -> Dag {
        let (mut tasks, streams) = (self.launches.into_inner(), self.streams.into_inner().len());
        let mut last: Vec<Option<usize>> = vec![None; streams];
        tasks.iter().enumerate().for_each(|(i, task)| last[task.stream] = Some(i));
        tasks.push(Task { length: 0, after: last.into_iter().flatten().collect(), stream: 0 });
        Dag { tasks, streams }
    }
}

/// Launches something on the current stream that reads `inputs`.
///
/// # Errors
/// Those of the launch.
pub fn task(log: &Log, inputs: &[&Value]) -> Result<Value> {
    let mut tensor = Tensor::empty(&[1, 16], DType::F32)?;
    let launch = inputs.iter().fold(Launch::new(Touch), |launch, value| launch.input(&value.tensor));
    launch.output(&mut tensor, [1, 16]).submit()?;
    let stream = log.stream(Stream::current()?);
    log.kept.borrow_mut().push(tensor.clone());
    let mut launches = log.launches.borrow_mut();
    launches.push(Task { length: 0, after: inputs.iter().map(|value| value.task).collect(), stream });
    Ok(Value { tensor, task: launches.len() - 1 })
}

/// Waits and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Waits of one stream for another.
    pub waits: u64,
    /// Events recorded.
    pub records: u64,
}

/// What a program took: its own, and by each rule.
pub struct Compared {
    /// Launches.
    pub launches: u64,
    /// Made when the function ran.
    pub ours: Counts,
    /// The fewest that order the same.
    pub reduction: Counts,
    /// By the rules of others, in the order of [`RULES`].
    pub others: [Counts; 4],
}

/// A rule that says what is recorded and waited for in a graph whose last task is the end of the function.
type Rule = fn(&Dag) -> Counts;

/// The rules of others, by name.
pub const RULES: [(&str, Rule); 4] = [
    ("every_edge", every_edge),
    ("latest_per_stream", latest_per_stream),
    ("pairwise", pairwise),
    ("pair_cache", pair_cache),
];

/// What running `f` on a device makes of records and waits: by the clocks of its streams, none that they imply.
///
/// # Errors
/// Those of `f` and of the device.
pub fn counted(f: impl FnOnce() -> Result<()>) -> Result<(u64, Counts)> {
    let device = Device::open("host,workers=1")?;
    let main = device.default_stream();
    let _on = main.enter();
    let before = device.stats();
    f()?;
    let after = device.stats();
    device.synchronize()?;
    assert_eq!(after.hazards, 0, "every order was planned");
    let counts = Counts { waits: after.waits - before.waits, records: after.records - before.records };
    Ok((after.launches - before.launches, counts))
}

/// Runs a program, and applies the rules to what it launched.
///
/// # Errors
/// Those of the program and of the device.
pub fn compare(program: fn(&Log) -> Result<()>) -> Result<Compared> {
    let log = Log::default();
    let (launches, ours) = counted(|| {
        log.stream(Stream::current()?);
        program(&log)
    })?;
    let graph = log.graph();
    Ok(Compared { launches, ours, reduction: reduction(&graph), others: RULES.map(|(_, rule)| rule(&graph)) })
}

/// Data that goes from one stream to another: from which task to which.
fn crossing(graph: &Dag) -> BTreeSet<(usize, usize)> {
    let edges = graph.tasks.iter().enumerate().flat_map(|(i, task)| task.after.iter().map(move |&before| (before, i)));
    edges.filter(|&(from, to)| graph.tasks[from].stream != graph.tasks[to].stream).collect()
}

/// Of the edges into a task from one stream the latest.
fn latest(graph: &Dag, edges: impl IntoIterator<Item = (usize, usize)>) -> BTreeSet<(usize, usize)> {
    let mut latest: HashMap<(usize, usize), usize> = HashMap::new();
    for (from, to) in edges {
        let known = latest.entry((graph.tasks[from].stream, to)).or_insert(from);
        *known = from.max(*known);
    }
    latest.into_iter().map(|((_, to), from)| (from, to)).collect()
}

/// With an event after each launch, all but the end of the function.
fn after_each(graph: &Dag, waits: usize) -> Counts {
    Counts { waits: waits as u64, records: graph.tasks.len() as u64 - 1 }
}

/// An event after each launch, a wait for each that is used from another stream.
pub fn every_edge(graph: &Dag) -> Counts {
    after_each(graph, crossing(graph).len())
}

/// As every edge, but of several from one stream only the latest.
pub fn latest_per_stream(graph: &Dag) -> Counts {
    after_each(graph, latest(graph, crossing(graph)).len())
}

/// An event for each pair of launches, less those of a launch that the stream has waited for, then less those that are
/// not the latest of their stream.
pub fn pairwise(graph: &Dag) -> Counts {
    let mut waited = BTreeSet::new();
    let mut edges: Vec<(usize, usize)> = crossing(graph).into_iter().collect();
    edges.sort_unstable_by_key(|&(from, to)| (to, from));
    edges.retain(|&(from, to)| waited.insert((from, graph.tasks[to].stream)));
    let waits = latest(graph, edges).len() as u64;
    Counts { waits, records: waits }
}

/// As the latest of each stream, less those that the stream has waited for, or for a later one.
pub fn pair_cache(graph: &Dag) -> Counts {
    let mut waited: HashMap<(usize, usize), usize> = HashMap::new();
    let mut edges: Vec<(usize, usize)> = latest(graph, crossing(graph)).into_iter().collect();
    edges.sort_unstable_by_key(|&(from, to)| (to, from));
    edges.retain(|&(from, to)| {
        let pair = (graph.tasks[from].stream, graph.tasks[to].stream);
        waited.get(&pair).is_none_or(|known| *known < from) && {
            waited.insert(pair, from);
            true
        }
    });
    after_each(graph, edges.len())
}

/// The edges between streams of the transitive reduction of data and stream order, by reachability in bit sets.
pub fn reduction(graph: &Dag) -> Counts {
    let mut last: Vec<Option<usize>> = vec![None; graph.streams];
    let mut before: Vec<Vec<usize>> = Vec::with_capacity(graph.tasks.len());
    for (i, task) in graph.tasks.iter().enumerate() {
        before.push(task.after.iter().copied().chain(last[task.stream].replace(i)).collect());
    }
    let words = graph.tasks.len().div_ceil(64);
    let mut reach: Vec<Vec<u64>> = Vec::with_capacity(before.len());
    for before in &before {
        let mut all = vec![0; words];
        for &task in before {
            all.iter_mut().zip(&reach[task]).for_each(|(a, b)| *a |= b);
            all[task / 64] |= 1 << (task % 64);
        }
        reach.push(all);
    }
    let implied = |from: usize, to: usize| before[to].iter().any(|&via| reach[via][from / 64] >> (from % 64) & 1 == 1);
    let kept: Vec<(usize, usize)> = crossing(graph).into_iter().filter(|&(from, to)| !implied(from, to)).collect();
    let sources: BTreeSet<usize> = kept.iter().map(|(from, _)| *from).collect();
    Counts { waits: kept.len() as u64, records: sources.len() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_less_than_the_plan_and_the_plan_is_the_reduction() -> Result<()> {
        for (name, program) in programs::ALL {
            let Compared { launches, ours, reduction, others } = compare(program)?;
            assert!(launches > 50 && ours.waits > 20, "{name}");
            assert_eq!(ours.waits, reduction.waits, "{name}: waits");
            assert!(ours.records >= reduction.records, "{name}: {ours:?} {reduction:?}");
            for ((rule, _), counts) in RULES.iter().zip(others) {
                assert!(ours.waits <= counts.waits, "{name}, {rule}: {ours:?} {counts:?}");
                assert!(ours.records <= counts.records, "{name}, {rule}: {ours:?} {counts:?}");
            }
        }
        Ok(())
    }

    #[test]
    fn the_layer_written_out_is_the_main_jobs() -> Result<()> {
        let Compared { launches, ours, .. } = compare(programs::moe)?;
        assert_eq!(programs::main_job()?, (launches, ours));
        Ok(())
    }

    #[test]
    fn the_rules_on_a_small_graph() {
        // 0 and 1 on s0; 2 on s1 after both, 3 on s1 after 0, 4 on s2 after 0, 1 and 2; the end on s0.
        let task = |stream, after: &[usize]| Task { length: 0, after: after.to_vec(), stream };
        let tasks =
            vec![task(0, &[]), task(0, &[]), task(1, &[0, 1]), task(1, &[0]), task(2, &[0, 1, 2]), task(0, &[1, 3, 4])];
        let graph = Dag { tasks, streams: 3 };
        let counts = |waits, records| Counts { waits, records };
        assert_eq!(every_edge(&graph), counts(8, 5));
        assert_eq!(latest_per_stream(&graph), counts(6, 5));
        // 2 waits for 1 and not for 0, 3 for nothing: its stream waited for 0 before that wait was dropped.
        assert_eq!(pairwise(&graph), counts(5, 5));
        assert_eq!(pair_cache(&graph), counts(5, 5));
        assert_eq!(reduction(&graph), counts(4, 4));
    }
}
