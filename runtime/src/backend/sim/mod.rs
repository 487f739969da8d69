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
use std::time::{Duration, Instant};

use parking_lot::Mutex;

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

/// The pipes of a device: memory, cache, links.
const PIPES: u32 = 3;

impl Model {
    fn pipes(&self) -> [f64; PIPES as usize] {
        [self.chip.hbm_gb_s, self.chip.l2_gb_s, self.chip.link_gb_s]
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
    fn body(&self, rank: u32, launched: &Launched, cores: Cores) -> Body {
        let cost = self.cost(launched, cores);
        let ps = |ns: f64| (ns.max(0.0) * PS as f64).round() as Ps;
        let work = ps(cost.body_ns);
        let rate = |bytes: f64| if cost.body_ns > 0.0 { bytes / cost.body_ns } else { 0.0 };
        let (hbm, l2, link) = (rate(cost.hbm_bytes), rate(cost.l2_bytes), rate(cost.link_bytes));
        let chip = &self.chip;
        Body {
            head: ps(cost.head_ns),
            work,
            demands: (rank * PIPES..).zip([hbm, l2, link]).collect(),
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
        if let sim::Pattern::AllToAll { sent, ranks: 0.0 } = work.pattern {
            let alone = self.ranks == 1;
            let group = sim::Pattern::AllToAll { sent, ranks: f64::from(self.ranks) };
            work = work.with_pattern(if alone { sim::Pattern::Rows } else { group });
        }
        sim::cost(&self.chip, kind, &work, cores)
    }
}

/// An operation in the engine.
struct Queued {
    rank: u32,
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
        let meeting = launched.kernel().meeting();
        Some(Ask { device: self.rank, cores: self.model.cores(launched), resident, meeting })
    }

    fn body(&self, cores: Cores) -> Body {
        match &self.work {
            Work::Launch(launched) => self.model.body(self.rank, launched, cores),
            _ => Body::default(),
        }
    }
}

/// What was issued and has not come to the engine yet.
struct Inbox {
    ops: Vec<Issued>,
    /// Where the host of each rank is.
    clocks: Vec<Ps>,
}

struct Issued {
    rank: u32,
    /// The stream's number in the engine.
    stream: u32,
    time: Ps,
    op: Op,
}

/// The devices that share a clock, and the engine that keeps it.
struct Cluster {
    model: Arc<Model>,
    /// Streams of a device.
    streams: u32,
    inbox: Mutex<Inbox>,
    /// Locked by whoever runs it, and never while holding a lock that issuing needs: kernels run under it.
    engine: Mutex<Driven>,
    reached: Box<[AtomicU64]>,
    finished: Mutex<Vec<Arc<Launched>>>,
    untidy: AtomicUsize,
    reports: Vec<Arc<Reports>>,
}

struct Driven {
    engine: Engine<Queued>,
    /// Operations whose waits for other devices are not over: their streams' later operations queue behind them.
    held: Vec<Issued>,
}

/// One of the devices.
pub(crate) struct Sim {
    cluster: Arc<Cluster>,
    rank: u32,
}

/// How long another thread may take to issue the missing rank of a collective before it is taken to be forgotten.
const PATIENCE: Duration = Duration::from_secs(5);

/// As many operations issued or finished make it worth to run the engine, or to drop what launches held.
const MANY: usize = 256;

impl Sim {
    /// As many devices as there are `reports`, each of up to `streams` streams, in one clock.
    pub(crate) fn open(model: Model, streams: usize, reports: Vec<Arc<Reports>>) -> Vec<Arc<Sim>> {
        let ranks = reports.len();
        let pipes = (0..ranks).flat_map(|_| model.pipes()).collect();
        let engine = Engine::new(vec![model.chip.cores(); ranks], pipes, sim::INTERFERENCE);
        let cluster = Arc::new(Cluster {
            model: Arc::new(model),
            streams: streams as u32,
            inbox: Mutex::new(Inbox { ops: Vec::new(), clocks: vec![0; ranks] }),
            engine: Mutex::new(Driven { engine, held: Vec::new() }),
            reached: (0..streams * ranks).map(|_| AtomicU64::new(0)).collect(),
            finished: Mutex::default(),
            untidy: AtomicUsize::new(0),
            reports,
        });
        (0..ranks as u32).map(|rank| Arc::new(Sim { cluster: cluster.clone(), rank })).collect()
    }

    /// A stream's number in the engine.
    fn global(&self, stream: u32) -> u32 {
        self.rank * self.cluster.streams + stream
    }

    fn clock(&self) -> Ps {
        self.cluster.inbox.lock().clocks[self.rank as usize]
    }

    /// The host takes `time` for something; where it is then.
    fn spend(&self, time: Ps) -> Ps {
        let clock = &mut self.cluster.inbox.lock().clocks[self.rank as usize];
        *clock += time;
        *clock
    }
}

impl Cluster {
    /// Runs the engine until `goal`.
    fn drive(&self, goal: Goal) -> Result<()> {
        // Since when nobody has issued what is missing.
        let mut starved: Option<Instant> = None;
        loop {
            let mut driven = self.engine.lock();
            if !self.inbox.lock().ops.is_empty() {
                starved = None;
            }
            let waiting = self.take_in(&mut driven);
            let stop = driven.engine.advance(goal, &mut Runner { cluster: self });
            match stop {
                Stop::Reached => return Ok(()),
                Stop::Circle(circle) => {
                    let circle = circle.iter().map(|stuck| self.describe(&driven.engine, stuck)).collect();
                    return Err(Error::Deadlock { circle });
                }
                // Another device holds something up: its own thread, or this one, brings it forward.
                Stop::Starved if waiting.is_some() => {
                    drop(driven);
                    if let Some(Wait { mark, foreign: Some(foreign) }) = waiting {
                        foreign.synchronize(mark)?;
                    }
                }
                // Another thread may be about to issue what is missing: a rank of a collective.
                Stop::Starved if starved.get_or_insert_with(Instant::now).elapsed() < PATIENCE => {
                    drop(driven);
                    std::thread::sleep(Duration::from_micros(50));
                }
                Stop::Starved => {
                    let alone = driven.engine.meeting().map(|stuck| self.describe(&driven.engine, &stuck)).collect();
                    return Err(Error::Deadlock { circle: alone });
                }
            }
        }
    }

    /// Runs what is queued. What only another rank, which issues no more, could let go on is left.
    fn finish_all(&self) {
        let mut driven = self.engine.lock();
        while let Some(wait) = self.take_in(&mut driven) {
            drop(driven);
            if let Some(foreign) = wait.foreign {
                let _ = foreign.synchronize(wait.mark);
            }
            driven = self.engine.lock();
        }
        let _ = driven.engine.advance(Goal::Idle, &mut Runner { cluster: self });
    }

    /// Gives the engine what was issued. Returns a wait for another device that is not over.
    fn take_in(&self, driven: &mut Driven) -> Option<Wait> {
        let Driven { engine, held } = driven;
        let mut issued = std::mem::take(held);
        issued.append(&mut self.inbox.lock().ops);
        let mut waiting: Option<Wait> = None;
        for Issued { rank, stream, time, mut op } in issued {
            // A position on another device of the same clock is one like any other.
            for wait in &mut op.waits {
                let own = wait.foreign.as_ref().map_or(Some(rank), |foreign| foreign.rank_in(self));
                if let Some(rank) = own {
                    *wait = Wait {
                        mark: Mark { stream: rank * self.streams + wait.mark.stream, ..wait.mark },
                        foreign: None,
                    };
                }
            }
            let behind = held.iter().any(|issued| issued.stream == stream);
            let open = op
                .waits
                .iter()
                .find(|w| w.foreign.as_ref().is_some_and(|foreign| foreign.completed(w.mark.stream) < w.mark.position));
            if behind || open.is_some() {
                waiting = waiting.or(open.cloned());
                held.push(Issued { rank, stream, time, op });
                continue;
            }
            let Op { waits, work } = op;
            let waits = waits.into_iter().filter(|w| w.foreign.is_none()).map(|w| w.mark);
            // What waited for another device, or was issued by a host that is behind, starts no earlier than now.
            engine.push(stream, time.max(engine.now()), waits, Queued { rank, work, model: self.model.clone() });
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
            let (rank, at) = self.local(at);
            self.reports[rank].finished(&launched, || now / PS);
            if let Some(fault) = fault {
                self.reports[rank].failed(fault, at);
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
        let (rank, at) = self.local(at);
        self.reports[rank].failed(Arc::new((callback.fault)(message)), at);
    }

    /// The rank and the number on it of a stream of the engine.
    fn local(&self, mark: Mark) -> (usize, Mark) {
        ((mark.stream / self.streams) as usize, Mark { stream: mark.stream % self.streams, ..mark })
    }

    /// Drops what finished launches held.
    fn tidy(&self) {
        let finished = std::mem::take(&mut *self.finished.lock());
        finished.into_iter().for_each(Launched::release);
    }

    /// A job that waits in a circle, and what for.
    fn describe(&self, engine: &Engine<Queued>, stuck: &Stuck) -> String {
        let (rank, at) = self.local(stuck.at);
        let name = match engine.first(stuck.at.stream).map(|job| &job.work) {
            Some(Work::Launch(launched)) => format!("`{}` launched at {}", launched.operator, launched.at),
            _ => "a host function".to_owned(),
        };
        let why = match stuck.why {
            Why::Cores { wants, free } => {
                let kinds = [("cube", wants.cube, free.cube), ("vector", wants.vector, free.vector)];
                let short = kinds.into_iter().filter(|(_, wants, free)| wants > free);
                let needs =
                    short.map(|(kind, wants, free)| format!("needs {wants} {kind} cores at once, {free} are free"));
                needs.collect::<Vec<_>>().join(" and ")
            }
            Why::Meeting => "waits for the other ranks of its collective".to_owned(),
            Why::Event => "waits for an event".to_owned(),
        };
        let of = if self.reports.len() > 1 { format!(" of rank {rank}") } else { String::new() };
        format!("{name} on stream {}{of} {why}", at.stream)
    }
}

/// What the engine tells.
struct Runner<'a> {
    cluster: &'a Cluster,
}

impl Watch<Queued> for Runner<'_> {
    fn start(&mut self, now: Ps, _: Mark, job: &mut Queued) {
        if let Work::Launch(launched) = &job.work
            && job.ask().is_some()
        {
            self.cluster.reports[job.rank as usize].started(launched, || now / PS);
        }
    }

    fn end(&mut self, now: Ps, at: Mark, job: Queued) {
        self.cluster.finish(now, at, job.work);
        self.cluster.reached[at.stream as usize].store(at.position, Ordering::Release);
    }
}

impl Backend for Sim {
    fn submit(&self, stream: u32, op: Op) {
        let takes = if matches!(op.work, Work::Launch(_)) { self.cluster.model.issue_ns * PS } else { 0 };
        let (rank, stream) = (self.rank, self.global(stream));
        let mut inbox = self.cluster.inbox.lock();
        inbox.clocks[rank as usize] += takes;
        let time = inbox.clocks[rank as usize];
        inbox.ops.push(Issued { rank, stream, time, op });
        if inbox.ops.len() >= MANY {
            self.cluster.untidy.store(MANY, Ordering::Relaxed);
        }
    }

    fn is_untidy(&self) -> bool {
        self.cluster.untidy.load(Ordering::Relaxed) >= MANY
    }

    fn tidy(&self) {
        let cluster = &self.cluster;
        // Whoever runs the engine already will see to it.
        if let Some(mut driven) = cluster.engine.try_lock() {
            // What comes later is issued later than this by every host: all up to now is decided.
            let earliest = cluster.inbox.lock().clocks.iter().copied().min().unwrap_or(0);
            cluster.take_in(&mut driven);
            // A circle is told to whoever waits for it.
            let _ = driven.engine.advance(Goal::Time(earliest.saturating_sub(1)), &mut Runner { cluster });
        }
        cluster.untidy.store(0, Ordering::Relaxed);
        cluster.tidy();
    }

    fn completed(&self, stream: u32) -> u64 {
        self.cluster.reached[self.global(stream) as usize].load(Ordering::Acquire)
    }

    fn poll(&self) {
        let cluster = &self.cluster;
        // Asking takes the host a moment, or a loop that asks would never end.
        let now = self.spend(cluster.model.issue_ns.max(100) * PS);
        if let Some(mut driven) = cluster.engine.try_lock() {
            cluster.take_in(&mut driven);
            let _ = driven.engine.advance(Goal::Time(now), &mut Runner { cluster });
        }
    }

    fn now(&self) -> u64 {
        self.clock() / PS
    }

    fn synchronize(self: Arc<Self>, mark: Mark) -> Result<()> {
        self.cluster.drive(Goal::Mark(Mark { stream: self.global(mark.stream), ..mark }))?;
        let now = self.cluster.engine.lock().engine.now();
        let clock = &mut self.cluster.inbox.lock().clocks[self.rank as usize];
        *clock = now.max(*clock);
        Ok(())
    }

    fn close(self: Arc<Self>) {
        let cluster = self.cluster.clone();
        // Somebody who runs the engine may be this very thread: a kernel or a host function that drops the last handle.
        let is_idle = cluster.engine.try_lock().is_some_and(|mut driven| {
            cluster.take_in(&mut driven);
            driven.engine.is_idle() && driven.held.is_empty()
        });
        if !is_idle {
            // What is queued is still done, and the caller does not wait for it. If there is no thread, it waits after all.
            let mine = cluster.clone();
            let thread = std::thread::Builder::new().name("multicore-sim".to_owned());
            if thread.spawn(move || mine.finish_all()).is_err() && !cluster.engine.is_locked() {
                cluster.finish_all();
            }
        }
    }

    fn when_complete(self: Arc<Self>, mark: Mark, wake: Box<dyn FnOnce() + Send>) {
        // Nobody else may be there to run the engine.
        let _ = self.synchronize(mark);
        wake();
    }

    fn rank_in(&self, cluster: &dyn std::any::Any) -> Option<u32> {
        let mine: &dyn std::any::Any = &*self.cluster;
        std::ptr::addr_eq(mine, cluster).then_some(self.rank)
    }
}
