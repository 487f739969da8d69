//! The embedded device in virtual time: the same queues, and times that are computed.
//!
//! What the host issues is put down with the time at which the host came to it. Nothing happens until somebody wants to
//! know: whoever synchronises runs the [`engine`] on its own thread up to the position it waits for, and the host's clock
//! goes on from there. So times depend on the order of calls alone, never on this machine.
//!
//! Kernels compute the same numbers as on `host`, one after another, at the end of their launches; on a *dry* device
//! they do not run.

mod engine;
mod share;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{Backend, Callback, Op, Work};
use crate::current;
use crate::error::{Error, Result};
use crate::kernel::{Launched, panic_message};
use crate::ledger::{Mark, Wait};
use crate::limit::{CoreKind, Cores};
use crate::reports::Reports;
use crate::sim::{self, Chip, CostTable};
use engine::{Ask, Body, Engine, Goal, Job, Ps, Stop, Stuck, Watch, Why};

const PS: Ps = 1000;

/// What a modelled device is made of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) chip: Chip,
    /// Measured times that come before the computed ones.
    pub(crate) table: CostTable,
    /// How long the host needs for a launch, in ns.
    pub(crate) issue_ns: u64,
    /// Kernels do not run and tensors hold no memory.
    pub(crate) dry: bool,
    /// Devices of the group that rows are dispatched to.
    pub(crate) ranks: u32,
    /// Communication is done by the copy engines, not by vector cores.
    pub(crate) copy_engines: bool,
}

/// The pipes of a device.
const HBM: u32 = 0;
const L2: u32 = 1;
const LINK: u32 = 2;

impl Model {
    fn pipes(&self) -> Vec<f64> {
        vec![self.chip.hbm_gb_s, self.chip.l2_gb_s, self.chip.link_gb_s]
    }

    /// The cores that a launch wants.
    fn cores(&self, launched: &Launched) -> Cores {
        let blocks = launched.blocks;
        match launched.kind {
            CoreKind::Cube => Cores { cube: blocks, vector: 0 },
            CoreKind::Vector => Cores { cube: 0, vector: blocks },
            CoreKind::Mix => Cores { cube: blocks, vector: (2 * blocks).min(self.chip.vector) },
            CoreKind::Comm if self.copy_engines => Cores::ZERO,
            CoreKind::Comm => Cores { cube: 0, vector: blocks },
            CoreKind::Host => Cores::ZERO,
        }
    }

    /// How long a launch takes on `cores`.
    fn body(&self, launched: &Launched, cores: Cores) -> Body {
        let cost = self.cost(launched, cores);
        let ps = |ns: f64| (ns.max(0.0) * PS as f64).round() as Ps;
        let work = ps(cost.body_ns);
        let rate = |bytes: f64| if cost.body_ns > 0.0 { bytes / cost.body_ns } else { 0.0 };
        let (hbm, l2, link) = (rate(cost.hbm_bytes), rate(cost.l2_bytes), rate(cost.link_bytes));
        let chip = &self.chip;
        Body {
            head: ps(cost.head_ns),
            work,
            demands: SmallVec::from_buf([(HBM, hbm), (L2, l2), (LINK, link)]),
            heavy: hbm >= chip.hbm_gb_s / 2.0 || l2 >= chip.l2_gb_s / 2.0 || link >= chip.link_gb_s / 2.0,
        }
    }

    fn cost(&self, launched: &Launched, cores: Cores) -> sim::Cost {
        let (kernel, kind) = (launched.kernel(), launched.kind);
        if !self.table.is_empty() {
            let count = if cores.cube > 0 { cores.cube } else { cores.vector };
            if let Some(ns) = self.table.ns(launched.operator, &launched.input_shapes(), count) {
                return sim::Cost::fixed(ns);
            }
        }
        if let Some(cost) = kernel.cost(&self.chip, cores) {
            return cost;
        }
        let mut work = kernel.work();
        if kind == CoreKind::Comm && !matches!(work.pattern, sim::Pattern::AllToAll { .. } | sim::Pattern::AllReduce { .. }) {
            // Half of the bytes are read, half are sent.
            let (sent, ranks) = (work.bytes / 2.0, f64::from(self.ranks));
            work = work.with_pattern(sim::Pattern::AllToAll { sent, ranks });
        }
        sim::cost(&self.chip, kind, &work, cores)
    }
}

/// An operation in the engine.
struct Queued {
    work: Work,
    model: Arc<Model>,
}

impl Job for Queued {
    fn ask(&self) -> Option<Ask> {
        let Work::Launch(launched) = &self.work else { return None };
        if launched.poisoned_by().is_some() {
            return None;
        }
        let resident = launched.is_resident();
        Some(Ask { device: 0, cores: self.model.cores(launched), resident, meeting: None })
    }

    fn body(&self, cores: Cores) -> Body {
        match &self.work {
            Work::Launch(launched) => self.model.body(launched, cores),
            _ => Body::default(),
        }
    }
}

/// What was issued and has not come to the engine yet.
struct Inbox {
    ops: Vec<(u32, Ps, Op)>,
    /// Where the host is.
    clock: Ps,
}

/// The device.
pub(crate) struct Sim {
    model: Arc<Model>,
    inbox: Mutex<Inbox>,
    /// Locked by whoever runs it, and never while holding a lock that issuing needs: kernels run under it.
    engine: Mutex<Driven>,
    reached: Box<[AtomicU64]>,
    finished: Mutex<Vec<Arc<Launched>>>,
    untidy: AtomicUsize,
    reports: Arc<Reports>,
}

struct Driven {
    engine: Engine<Queued>,
    /// Operations whose waits for other devices are not over: their streams' later operations queue behind them.
    held: Vec<(u32, Ps, Op)>,
}

/// As many operations issued or finished make it worth to run the engine, or to drop what launches held.
const MANY: usize = 256;

impl Sim {
    /// A device of up to `streams` streams.
    pub(crate) fn open(model: Model, streams: usize, reports: Arc<Reports>) -> Arc<Sim> {
        let engine = Engine::new(vec![model.chip.cores()], model.pipes(), sim::INTERFERENCE);
        Arc::new(Sim {
            model: Arc::new(model),
            inbox: Mutex::new(Inbox { ops: Vec::new(), clock: 0 }),
            engine: Mutex::new(Driven { engine, held: Vec::new() }),
            reached: (0..streams).map(|_| AtomicU64::new(0)).collect(),
            finished: Mutex::default(),
            untidy: AtomicUsize::new(0),
            reports,
        })
    }

    /// Runs the engine until `goal`.
    fn drive(&self, goal: Goal) -> Result<()> {
        loop {
            let mut driven = self.engine.lock();
            let waiting = self.take_in(&mut driven);
            let stop = driven.engine.advance(goal, &mut Runner { sim: self });
            match stop {
                Stop::Reached => return Ok(()),
                Stop::Circle(circle) => {
                    let circle = circle.iter().map(|stuck| describe(&driven.engine, stuck)).collect();
                    return Err(Error::Deadlock { circle });
                }
                Stop::Starved => {
                    drop(driven);
                    match waiting {
                        // Another device holds something up: its own thread, or this one, brings it forward.
                        Some(Wait { mark, foreign: Some(foreign) }) => foreign.synchronize(mark)?,
                        // Another thread is about to issue what is missing.
                        _ => std::thread::yield_now(),
                    }
                }
            }
        }
    }

    /// Gives the engine what was issued. Returns a wait for another device that is not over.
    fn take_in(&self, driven: &mut Driven) -> Option<Wait> {
        let Driven { engine, held } = driven;
        let mut issued = std::mem::take(held);
        issued.append(&mut self.inbox.lock().ops);
        let mut waiting: Option<Wait> = None;
        for (stream, time, op) in issued {
            let behind = held.iter().any(|(s, ..)| *s == stream);
            let open = op.waits.iter().find(|w| {
                w.foreign.as_ref().is_some_and(|foreign| foreign.completed(w.mark.stream) < w.mark.position)
            });
            if behind || open.is_some() {
                waiting = waiting.or(open.cloned());
                held.push((stream, time, op));
                continue;
            }
            let Op { waits, work } = op;
            let waits = waits.into_iter().filter(|w| w.foreign.is_none()).map(|w| w.mark);
            // What waited for another device starts no earlier than this one has come.
            engine.push(stream, time.max(engine.now()), waits, Queued { work, model: self.model.clone() });
        }
        waiting
    }

    fn finish(&self, now: Ps, at: Mark, work: Work) {
        match work {
            Work::Nothing => {}
            Work::Stamp(stamp) => stamp.set(now / PS),
            Work::Callback(callback) => self.call(at, callback),
            Work::Launch(launched) => self.compute(now, at, launched),
        }
    }

    fn compute(&self, now: Ps, at: Mark, launched: Arc<Launched>) {
        if let Some(fault) = launched.poisoned_by() {
            launched.poison_outputs(&fault);
        } else {
            if !self.model.dry {
                // SAFETY: the engine ends a launch after all that it waits for, and nothing else runs meanwhile.
                unsafe { launched.run_alone() };
            }
            let fault = launched.settle();
            self.reports.finished(&launched, || now / PS);
            if let Some(fault) = fault {
                self.reports.failed(fault, at);
            }
        }
        self.finished.lock().push(launched);
        self.untidy.fetch_add(1, Ordering::Relaxed);
    }

    fn call(&self, at: Mark, callback: Callback) {
        let run = AssertUnwindSafe(|| current::in_stream(callback.run));
        let message = match std::panic::catch_unwind(run) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("panic: {}", panic_message(&*panic)),
        };
        self.reports.failed(Arc::new((callback.fault)(message)), at);
    }

    fn host_clock(&self) -> Ps {
        self.inbox.lock().clock
    }

    /// The host has come to `time`.
    fn host_at(&self, time: Ps) {
        let mut inbox = self.inbox.lock();
        inbox.clock = inbox.clock.max(time);
    }
}

/// What the engine tells.
struct Runner<'a> {
    sim: &'a Sim,
}

impl Watch<Queued> for Runner<'_> {
    fn start(&mut self, now: Ps, _: Mark, job: &mut Queued) {
        if let Work::Launch(launched) = &job.work
            && job.ask().is_some()
        {
            self.sim.reports.started(launched, || now / PS);
        }
    }

    fn end(&mut self, now: Ps, at: Mark, job: Queued) {
        self.sim.finish(now, at, job.work);
        self.sim.reached[at.stream as usize].store(at.position, Ordering::Release);
    }
}

/// A job that waits in a circle, and what for.
fn describe(engine: &Engine<Queued>, stuck: &Stuck) -> String {
    let stream = stuck.at.stream;
    let name = match engine.first(stream).map(|job| &job.work) {
        Some(Work::Launch(launched)) => format!("`{}` launched at {}", launched.operator, launched.at),
        _ => "a host function".to_owned(),
    };
    let why = match stuck.why {
        Why::Cores { wants, free } => format!(
            "needs {} cube and {} vector cores at once, {} and {} are free",
            wants.cube, wants.vector, free.cube, free.vector
        ),
        Why::Meeting => "waits for the other ranks of its collective".to_owned(),
        Why::Event => "waits for an event".to_owned(),
    };
    format!("{name} on stream {stream} {why}")
}

impl Backend for Sim {
    fn submit(&self, stream: u32, op: Op) {
        let mut inbox = self.inbox.lock();
        if matches!(op.work, Work::Launch(_)) {
            inbox.clock += self.model.issue_ns * PS;
        }
        let now = inbox.clock;
        inbox.ops.push((stream, now, op));
        if inbox.ops.len() >= MANY {
            self.untidy.store(MANY, Ordering::Relaxed);
        }
    }

    fn is_untidy(&self) -> bool {
        self.untidy.load(Ordering::Relaxed) >= MANY
    }

    fn tidy(&self) {
        // Whatever comes later is issued later than this: all up to now is decided. Somebody who runs the engine already
        // will see to it.
        if let Some(mut driven) = self.engine.try_lock() {
            let now = self.host_clock().saturating_sub(1);
            self.take_in(&mut driven);
            // A circle is told to whoever waits for it.
            let _ = driven.engine.advance(Goal::Time(now), &mut Runner { sim: self });
        }
        self.untidy.store(0, Ordering::Relaxed);
        let finished = std::mem::take(&mut *self.finished.lock());
        finished.into_iter().for_each(Launched::release);
    }

    fn completed(&self, stream: u32) -> u64 {
        self.reached[stream as usize].load(Ordering::Acquire)
    }

    fn poll(&self) {
        // Asking takes the host a moment, or a loop that asks would never end.
        let now = {
            let mut inbox = self.inbox.lock();
            inbox.clock += self.model.issue_ns.max(100) * PS;
            inbox.clock
        };
        if let Some(mut driven) = self.engine.try_lock() {
            self.take_in(&mut driven);
            let _ = driven.engine.advance(Goal::Time(now), &mut Runner { sim: self });
        }
    }

    fn now(&self) -> u64 {
        self.host_clock() / PS
    }

    fn synchronize(self: Arc<Self>, mark: Mark) -> Result<()> {
        self.drive(Goal::Mark(mark))?;
        let now = self.engine.lock().engine.now();
        self.host_at(now);
        self.tidy();
        Ok(())
    }

    fn close(self: Arc<Self>) {
        let is_idle = {
            let mut driven = self.engine.lock();
            self.take_in(&mut driven);
            driven.engine.is_idle() && driven.held.is_empty()
        };
        if !is_idle {
            // What is queued is still done, and the caller does not wait for it. If there is no thread, it waits after all.
            let mine = self.clone();
            let spawned = std::thread::Builder::new().name("multicore-sim".to_owned()).spawn(move || mine.drive(Goal::Idle));
            if spawned.is_err() {
                let _ = self.drive(Goal::Idle);
            }
        }
    }

    fn when_complete(self: Arc<Self>, mark: Mark, wake: Box<dyn FnOnce() + Send>) {
        // Nobody else may be there to run the engine.
        let _ = self.drive(Goal::Mark(mark));
        wake();
    }
}
