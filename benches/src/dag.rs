//! Task graphs on which task runtimes are compared, and the fewest waits that order them.
//!
//! The kernel of a task is a chain of dependent multiplications of a fixed length: work is fixed, not time, so that a
//! preempted thread shows as lost efficiency.

use std::hint::black_box;
use std::sync::OnceLock;

use crate::seconds;

/// A task: how long it computes, and which earlier tasks it comes after.
pub struct Task {
    /// Length of its chain of multiplications; 0 for an empty task.
    pub length: u64,
    /// Indices of the tasks it depends on.
    pub after: Vec<usize>,
    /// The stream it is submitted to.
    pub stream: usize,
}

/// Tasks in the order of submission.
pub struct Dag {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The number of streams.
    pub streams: usize,
}

/// Computes for `length` steps.
#[inline(never)]
pub fn spin(length: u64) -> u64 {
    let mut a = 113 + length;
    for _ in 0..length {
        a = black_box(a.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    }
    a
}

/// Steps of [`spin`] in a microsecond on this machine, measured once.
pub fn steps_per_us() -> f64 {
    static STEPS: OnceLock<f64> = OnceLock::new();
    *STEPS.get_or_init(|| {
        let run = |_| {
            seconds(|| {
                black_box(spin(1_000_000));
            })
        };
        let fastest = (0..15).map(run).fold(f64::INFINITY, f64::min);
        1.0 / fastest
    })
}

fn length(us: f64) -> u64 {
    (us * steps_per_us()) as u64
}

/// W1: `n` empty tasks in four streams; every fourth row of a stream also comes after the next stream's row before.
pub fn w1(n: usize) -> Dag {
    let task = |i: usize| {
        let (stream, row) = (i % 4, i / 4);
        let mut after = Vec::new();
        if row > 0 {
            after.push(i - 4);
        }
        if row % 4 == 3 {
            after.push((row - 1) * 4 + (stream + 1) % 4);
        }
        Task { length: 0, after, stream }
    };
    Dag { tasks: (0..n).map(task).collect(), streams: 4 }
}

/// W2: a stencil of `width` columns (one a stream) and `steps` rows: a task comes after its three neighbours above.
pub fn w2(width: usize, steps: usize, us: f64) -> Dag {
    let length = length(us);
    let task = |i: usize| {
        let (row, x) = (i / width, i % width);
        let neighbours = x.saturating_sub(1)..=(x + 1).min(width - 1);
        let after = if row > 0 { neighbours.map(|y| (row - 1) * width + y).collect() } else { Vec::new() };
        Task { length, after, stream: x }
    };
    Dag { tasks: (0..width * steps).map(task).collect(), streams: width }
}

/// W3: `joins` times four tasks of 10 us, then an empty one that comes after all four.
pub fn w3(joins: usize) -> Dag {
    let length = length(10.0);
    let task = |i: usize| {
        let (round, k) = (i / 5, i % 5);
        match k {
            4 => Task { length: 0, after: (round * 5..round * 5 + 4).collect(), stream: 0 },
            _ => Task { length, after: if round > 0 { vec![round * 5 - 1] } else { Vec::new() }, stream: k },
        }
    };
    Dag { tasks: (0..5 * joins).map(task).collect(), streams: 4 }
}

/// Which tasks record an event, and for which events each task waits.
pub struct Plan {
    /// True for a task after which an event is recorded.
    pub records: Vec<bool>,
    /// The tasks whose events each task waits for.
    pub waits: Vec<Vec<usize>>,
}

impl Dag {
    /// For each task, the tasks that come after it.
    pub fn successors(&self) -> Vec<Vec<usize>> {
        let mut successors = vec![Vec::new(); self.tasks.len()];
        for (i, task) in self.tasks.iter().enumerate() {
            for &before in &task.after {
                successors[before].push(i);
            }
        }
        successors
    }

    /// The fewest records and waits that order the tasks and nothing else: a vector clock a stream, predecessors latest
    /// first, one that the clock already covers is skipped.
    pub fn plan(&self) -> Plan {
        let mut clocks = vec![vec![0; self.streams]; self.streams];
        let mut at: Vec<Vec<usize>> = Vec::with_capacity(self.tasks.len());
        let mut plan = Plan { records: vec![false; self.tasks.len()], waits: Vec::with_capacity(self.tasks.len()) };
        for (i, task) in self.tasks.iter().enumerate() {
            let clock = &mut clocks[task.stream];
            let mut others: Vec<usize> =
                task.after.iter().copied().filter(|&p| self.tasks[p].stream != task.stream).collect();
            others.sort_unstable_by(|a, b| b.cmp(a));
            others.retain(|&p| {
                let needed = clock[self.tasks[p].stream] <= p;
                if needed {
                    plan.records[p] = true;
                    clock.iter_mut().zip(&at[p]).for_each(|(mine, its)| *mine = (*mine).max(*its));
                }
                needed
            });
            clock[task.stream] = i + 1;
            at.push(clock.clone());
            plan.waits.push(others);
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_a_stencil_waits_for_the_neighbours() {
        let plan = w2(4, 3, 0.0).plan();
        assert!(plan.waits[..4].iter().all(Vec::is_empty));
        assert_eq!(plan.waits[4..8], [vec![1], vec![2, 0], vec![3, 1], vec![2]]);
        // Nobody waits for the last row.
        assert_eq!(plan.records, [[true; 8].as_slice(), &[false; 4]].concat());
    }

    #[test]
    fn a_wait_that_others_imply_is_not_planned() {
        // 0 on s0, 1 on s1 after 0, 2 on s2 after both: 1 implies 0.
        let task = |stream, after: &[usize]| Task { length: 0, after: after.to_vec(), stream };
        let dag = Dag { tasks: vec![task(0, &[]), task(1, &[0]), task(2, &[0, 1])], streams: 3 };
        assert_eq!(dag.plan().waits, [vec![], vec![0], vec![1]]);
    }

    #[test]
    fn a_join_waits_for_three_streams() {
        let plan = w3(2).plan();
        assert_eq!(plan.waits[4], [3, 2, 1]);
        assert_eq!(plan.waits[5..9], [vec![], vec![4], vec![4], vec![4]]);
    }
}
