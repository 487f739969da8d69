//! Every wait is needed: when a test leaves it out, somebody notices on at least one input that executes it.
//!
//! Who notices: the clocks of the runtime, which find a conflict that nobody ordered; or, for the waits of `after`, `reads`
//! and `writes`, which hold whether or not data is touched, the order of the stream's next launch. The result stays right
//! either way, which is checked as well.
//!
//! What becomes of a wait of which that is not true depends on what the macro can know, so there are three classes of
//! programs:
//!
//! - *straight*: no branches, no loops, and every use is what its syntax says. Each wait is missed; this is the claim of
//!   the fewest waits, on the device.
//! - *exact*: with branches, loops and exits. A wait may be *implied* on all paths that the inputs take: it always finds
//!   that what its stream comes after, or expects, covers its events. (The macro takes the meet of all paths, these inputs
//!   some.) Each one that is not implied is missed.
//! - the others: by its syntax a statement may use what it does not touch (`outs.push(y)` may launch something,
//!   `v.minus(w)` may write a `mut` binding, a clone shares memory, what is computed from a `mut` variable may borrow from
//!   it, a function called may run on the same stream). Such a wait is a permission that no launch makes use of, and costs
//!   nothing on the device. How many there are is printed.

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
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    class: Class,
    line: u32,
    variable: &'static str,
    executions: Executions,
    dropped: bool,
    noticed: bool,
}

impl Fate {
    fn add(&mut self, more: &Executions) {
        self.executions.times += more.times;
        self.executions.with_events += more.with_events;
        self.executions.with_news += more.with_news;
        self.executions.always |= more.always;
    }

    /// What should not be: nobody misses it, and nothing says why.
    fn is_superfluous(&self) -> bool {
        let implied = self.executions.with_news == 0 || self.executions.always;
        match self.class {
            Class::Straight => !self.noticed,
            Class::Exact => self.dropped && !self.noticed && !implied,
            Class::Other => false,
        }
    }
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
                }
            }
            for (wait, executions) in &observed.waits {
                let fate = fates.entry(key(wait)).or_default();
                fate.add(executions);
                if fate.noticed || executions.with_events == 0 {
                    continue;
                }
                fate.dropped = true;
                let ((without, hazards), observed) = observe(Some(*wait), || bench.run(program, input));
                assert_eq!(without, left, "{} without {wait:?}: the runtime orders what nobody ordered", program.name);
                fate.noticed = hazards > 0 || observed.unordered > 0;
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
            let fate = fates.entry(key).or_insert(Fate { executions: Executions::default(), ..more });
            fate.add(&more.executions);
            fate.dropped |= more.dropped;
            fate.noticed |= more.noticed;
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
        let count = |what: &dyn Fn(&Fate) -> bool| mine.iter().filter(|fate| what(fate)).count();
        let unnoticed = |f: &Fate| f.dropped && !f.noticed;
        println!(
            "{class:?}: {} functions, {} waits, {} dropped, {} missed; {} never executed, {} never with an event, {} implied, \
             {} of a header implied by the data, {} permissions unused",
            functions.count(),
            mine.len(),
            count(&|f| f.dropped),
            count(&|f| f.noticed),
            count(&|f| f.executions.times == 0),
            count(&|f| f.executions.times > 0 && !f.dropped),
            count(&|f| unnoticed(f) && f.executions.with_news == 0),
            count(&|f| unnoticed(f) && f.executions.with_news > 0 && f.executions.always),
            count(&|f| unnoticed(f) && f.executions.with_news > 0 && !f.executions.always),
        );
    }
    let superfluous: Vec<String> = fates
        .iter()
        .filter(|(_, fate)| fate.is_superfluous())
        .map(|((_, function, number), fate)| format!("{function}, wait {number}: {fate:?}"))
        .collect();
    assert!(superfluous.is_empty(), "{} waits that nobody misses:\n{}", superfluous.len(), superfluous.join("\n"));
}
