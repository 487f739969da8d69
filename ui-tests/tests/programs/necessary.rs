//! Every wait is needed: when a test leaves it out, somebody notices on at least one input that executes it.
//!
//! Who notices: the clocks of the runtime, which find a conflict that nobody ordered; or, for the waits of `after`, `reads`
//! and `writes`, which hold whether or not data is touched, the order of the stream's next launch. The result stays right
//! either way, which is checked as well.
//!
//! What becomes of a wait of which that is not true depends on what the macro can know, so there are three classes of
//! functions, and what is held of each:
//!
//! - *straight*: no branches, no loops, streams that are known, and every use is what its syntax says. **Each wait is
//!   missed**; this is the claim of the fewest waits, on the device.
//! - *exact*: with branches, loops and exits; variables keep the value that they are declared with, a block gives one
//!   value, and of a structure one field is used (what to wait for is kept by variable). **No wait is unused**: each is missed, or its events are ordered
//!   without it on all paths that the inputs take. (The macro takes the meet of all paths, these inputs some.) Either its
//!   stream came after them already, or expected them (*implied*); or another wait of the same statement has them too
//!   (*replaced*), as when both inputs come from one launch on this path, and not on another. Few are: the test fails if
//!   they are more than one in 50, as they would be if waits were made twice.
//! - the others: the plan is sufficient, as everywhere: with all its waits no input leaves a hazard, and without one of
//!   them the runtime still computes the same. But a wait may be *unused*: by its syntax a statement may use what it does
//!   not touch (`outs.push(y)` may launch something, `v.minus(w)` may write a `mut` binding, a clone shares memory, what is
//!   computed from a `mut` variable may borrow from it, a function called may run on the same stream, two computed streams
//!   may be one, the value that a variable held before is gone). Such a wait is a permission that no launch makes use of,
//!   and costs nothing on the device. How many there are is printed, and nothing is claimed.

use std::collections::BTreeMap;

use multicore::testing::{Executions, Wait, observe};

use super::{Bench, PROGRAMS, Program};

/// Inputs a program.
const INPUTS: u64 = 16;

/// The line and name of a function, and the number of a wait in its plan.
type Key = (u32, &'static str, u32);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    #[default]
    Other,
    Exact,
    Straight,
}

/// What became of a wait over all inputs.
#[derive(Clone, Debug, Default)]
struct Fate {
    class: Class,
    line: u32,
    variable: &'static str,
    /// The lines of the records that it may wait for.
    records: Vec<u32>,
    executions: Executions,
    noticed: bool,
    /// Left out, some launch went ahead of its events.
    unused: bool,
}

impl Fate {
    fn add(&mut self, more: &Executions) {
        self.executions.times += more.times;
        self.executions.with_events += more.with_events;
        self.executions.with_news += more.with_news;
        self.executions.always |= more.always;
    }

    fn verdict(&self) -> Verdict {
        match self.executions {
            _ if self.noticed => Verdict::Missed,
            Executions { times: 0, .. } => Verdict::NeverExecuted,
            Executions { with_events: 0, .. } => Verdict::NeverWithEvents,
            Executions { with_news: 0, .. } => Verdict::Implied,
            _ if self.unused => Verdict::Unused,
            _ => Verdict::Replaced,
        }
    }

    fn is_superfluous(&self) -> bool {
        match self.class {
            Class::Straight => self.verdict() != Verdict::Missed,
            Class::Exact => self.verdict() == Verdict::Unused,
            Class::Other => false,
        }
    }
}

/// What leaving a wait out showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Somebody noticed.
    Missed,
    /// No input came there.
    NeverExecuted,
    /// Nothing had been launched that it could have waited for.
    NeverWithEvents,
    /// What its stream came after, or expected, covered its events already.
    Implied,
    /// What the statement waits for beside it brought its events as well.
    Replaced,
    /// A launch went ahead of its events, and touched nothing of theirs.
    Unused,
}

type Fates = BTreeMap<Key, Fate>;

fn key(wait: &Wait) -> Key {
    (wait.plan.line, wait.plan.function, wait.number)
}

/// Runs some of the programs, and each again without each of its waits, until somebody has noticed.
fn explore(programs: &[&'static Program], classes: &BTreeMap<&str, Class>) -> Fates {
    let bench = Bench::new("host,workers=1");
    let mut fates = Fates::new();
    for program in programs {
        for input in 0..INPUTS {
            let ((left, hazards), observed) = observe(None, || bench.run(program, input));
            assert_eq!(hazards, 0, "{} leaves a hazard", program.name);
            for plan in &observed.plans {
                for (number, wait) in (0..).zip(plan.waits) {
                    let fate = fates.entry(key(&Wait { plan, number })).or_default();
                    (fate.line, fate.variable, fate.class) = (wait.line, wait.variable, classes[plan.function]);
                    fate.records = plan.records_of(wait).map(|record| record.line).collect();
                }
            }
            for (wait, executions) in &observed.waits {
                let fate = fates.entry(key(wait)).or_default();
                fate.add(executions);
                if fate.noticed || executions.with_events == 0 {
                    continue;
                }
                let ((without, hazards), observed) = observe(Some(*wait), || bench.run(program, input));
                assert_eq!(without, left, "{} without {wait:?}: the runtime orders what nobody ordered", program.name);
                fate.noticed = hazards > 0 || observed.unordered > 0;
                fate.unused |= observed.unused > 0;
            }
        }
    }
    fates
}

fn explore_all() -> Fates {
    let class = |p: &Program| match (p.straight, p.exact) {
        (true, _) => Class::Straight,
        (_, true) => Class::Exact,
        _ => Class::Other,
    };
    let classes: BTreeMap<&str, Class> = PROGRAMS.iter().map(|p| (p.name, class(p))).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut fates = Fates::new();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|n| {
                let mine: Vec<&'static Program> = PROGRAMS.iter().skip(n).step_by(threads).collect();
                let classes = &classes;
                scope.spawn(move || explore(&mine, classes))
            })
            .collect();
        for (key, more) in parts.into_iter().flat_map(|part| part.join().expect("a thread's programs run")) {
            let fate = fates.entry(key).or_insert(Fate { executions: Executions::default(), ..more.clone() });
            fate.add(&more.executions);
            fate.noticed |= more.noticed;
            fate.unused |= more.unused;
        }
    });
    fates
}

#[test]
fn every_wait_is_missed_by_somebody() {
    let fates = explore_all();
    for class in [Class::Straight, Class::Exact, Class::Other] {
        let functions = PROGRAMS.iter().filter(|p| match class {
            Class::Straight => p.straight,
            Class::Exact => p.exact && !p.straight,
            Class::Other => !p.exact,
        });
        let mine: Vec<&Fate> = fates.values().filter(|fate| fate.class == class).collect();
        let count = |verdict| mine.iter().filter(|fate| fate.verdict() == verdict).count();
        let replaced = count(Verdict::Replaced);
        println!(
            "{class:?}: {} functions, {} waits, {} missed; {} never executed, {} never with events, {} implied, {replaced} \
             replaced, {} unused",
            functions.count(),
            mine.len(),
            count(Verdict::Missed),
            count(Verdict::NeverExecuted),
            count(Verdict::NeverWithEvents),
            count(Verdict::Implied),
            count(Verdict::Unused),
        );
        // One wait twice would have both replaced.
        let most = if class == Class::Other { mine.len() } else { mine.len() / 50 };
        assert!(replaced <= most, "{class:?}: {replaced} of {} waits have another one beside them", mine.len());
    }
    let superfluous: Vec<String> = fates
        .iter()
        .filter(|(_, fate)| fate.is_superfluous())
        .map(|((_, function, number), fate)| format!("{function}, wait {number}: {:?}, {fate:?}", fate.verdict()))
        .collect();
    assert!(superfluous.is_empty(), "{} waits that nobody misses:\n{}", superfluous.len(), superfluous.join("\n"));
}
