//! For tests of plans: which waits the calling thread executes, and what becomes of a call when one of them is left out.
//!
//! A wait of a plan is *needed* if, without it, somebody notices: the ledger finds a conflict that nobody ordered
//! ([`Stats::hazards`](crate::Stats::hazards)), or, for the waits of `after`, `reads` and `writes`, which hold whether or
//! not data is touched, the next launch of the stream no longer comes after what was to be waited for
//! ([`Observed::unordered`]).
//!
//! Everything is the calling thread's own: other threads' calls are neither seen nor changed. A thread that observes
//! nothing pays for one look at its own context a wait, and for nothing a launch.

use crate::current::with_context;
use crate::ledger::{Mark, Marks};
use crate::plan::Plan;
use crate::stream::Stream;

/// A wait of a plan: `plan.waits[number]`.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The plan of the function.
    pub plan: &'static Plan,
    /// The number of the wait in it.
    pub number: u32,
}

impl PartialEq for Wait {
    fn eq(&self, other: &Wait) -> bool {
        std::ptr::eq(self.plan, other.plan) && self.number == other.number
    }
}

/// What the executions of one wait had to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    /// How often it was executed.
    pub times: u64,
    /// How often it knew of an event.
    pub with_events: u64,
    /// How often it knew of one that nothing ordered yet: neither what its stream comes after, nor what it expects.
    pub with_news: u64,
    /// It holds whether or not the next launch touches the data.
    pub always: bool,
}

/// What a thread's calls did.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The plans of the functions that were entered, in the order of their first calls.
    pub plans: Vec<&'static Plan>,
    /// The waits that were executed, in the order of their first executions.
    pub waits: Vec<(Wait, Executions)>,
    /// Launches that do not come after what the wait that was left out would have ordered before them. Counted for the
    /// waits of `after`, `reads` and `writes` alone.
    pub unordered: u64,
    /// The same for the other waits: launches that go ahead of what they might have come after. Without a hazard they
    /// touch none of it, so that the wait was a permission that they make no use of.
    pub unused: u64,
}

/// The observation of a thread.
#[derive(Default)]
pub(crate) struct Probe {
    skipped: Option<Wait>,
    observed: Observed,
    missing: Vec<Missing>,
}

/// A wait that was left out.
struct Missing {
    stream: Stream,
    /// The last thing issued on the stream then.
    position: u64,
    always: bool,
    marks: Marks,
}

impl Probe {
    pub(crate) fn entered(&mut self, plan: &'static Plan) {
        if !self.observed.plans.iter().any(|known| std::ptr::eq(*known, plan)) {
            self.observed.plans.push(plan);
        }
    }

    /// A wait is executed: `stream` is to come after `marks`, and after `known` already. False if it is the one to be
    /// left out. `always` if it holds whether or not the next launch touches anything.
    pub(crate) fn executes<'m>(
        &mut self,
        wait: Wait,
        stream: &Stream,
        always: bool,
        marks: impl Iterator<Item = &'m Mark>,
        known: [&[Mark]; 2],
    ) -> bool {
        let mut books = stream.device().books();
        let ledger = &mut books.ledger;
        let mut events = false;
        let news: Marks = marks
            .copied()
            .inspect(|_| events = true)
            .filter(|mark| {
                !ledger.covered(stream.slot(), *mark)
                    && !known.iter().copied().flatten().any(|known| ledger.implies(*known, *mark))
            })
            .collect();
        let waits = &mut self.observed.waits;
        let at = waits.iter().position(|(known, _)| *known == wait).unwrap_or_else(|| {
            waits.push((wait, Executions::default()));
            waits.len() - 1
        });
        let executions = &mut waits[at].1;
        executions.times += 1;
        executions.always = always;
        executions.with_events += u64::from(events);
        executions.with_news += u64::from(!news.is_empty());
        if self.skipped != Some(wait) {
            return true;
        }
        if !news.is_empty() {
            let position = ledger.last(stream.slot()).position;
            drop(books);
            self.missing.push(Missing { stream: stream.clone(), position, always, marks: news });
        }
        false
    }

    fn finish(self) -> Observed {
        let is_unordered = |missing: &&Missing| {
            let (slot, books) = (missing.stream.slot(), missing.stream.device().books());
            let next = Mark { stream: slot, position: missing.position + 1 };
            books.ledger.last(slot).position >= next.position && {
                let clock = books.ledger.clock_at(next);
                missing.marks.iter().any(|mark| !clock.covers(*mark))
            }
        };
        let (unordered, unused): (Vec<_>, Vec<_>) =
            self.missing.iter().filter(is_unordered).partition(|missing| missing.always);
        Observed { unordered: unordered.len() as u64, unused: unused.len() as u64, ..self.observed }
    }
}

/// Calls `f`, observes the `#[multicore]` functions that it enters on this thread, and leaves out every execution of the
/// wait `skipped`. An observation inside another one replaces it meanwhile.
pub fn observe<R>(skipped: Option<Wait>, f: impl FnOnce() -> R) -> (R, Observed) {
    /// The observation outside of this one, which comes back even if `f` panics.
    struct Outer(Option<Box<Probe>>);
    impl Drop for Outer {
        fn drop(&mut self) {
            let outer = self.0.take();
            // Dropped outside of the context: it may hold the last handle of a stream.
            drop(with_context(|context| std::mem::replace(&mut context.probe, outer)));
        }
    }
    let probe = Box::new(Probe { skipped, ..Probe::default() });
    let outer = Outer(with_context(|context| context.probe.replace(probe)));
    let result = f();
    let probe = with_context(|context| context.probe.take());
    drop(outer);
    (result, probe.map(|probe| probe.finish()).unwrap_or_default())
}
