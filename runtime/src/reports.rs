//! What comes back from a device: faults, and the trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use multicore_timeline::{Core, Operand, Record, Sync};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::error::Fault;
use crate::kernel::{Launched, OperandInfo};
use crate::ledger::{Clock, Ledger, Mark};
use crate::limit::CoreKind;
use crate::syncs::Launches;

struct Reported {
    fault: Arc<Fault>,
    at: Mark,
    /// Streams whose observers have heard of it.
    told: SmallVec<[u32; 4]>,
}

/// Faults kept until a device-wide synchronisation fetches them; of more than these, the earliest.
const KEPT: usize = 1024;

/// What a device did while it was traced. All times are in ns since the device was opened.
///
/// [`timeline::write_folder`](crate::timeline::write_folder) makes files of it that the field's own tools read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Trace {
    /// The operators that ran, by start.
    pub operators: Vec<Record>,
    /// What ordered the streams: the records and waits that were really made, by time. A wait has the number of its
    /// record's event; those of a plan say which function's, on which lines, and for which variable.
    pub syncs: Vec<Sync>,
}

/// What workers noted of a trace.
#[derive(Default)]
struct Noted {
    operators: Vec<(Mark, Record)>,
    /// When those ended that are still asked for.
    launches: Launches,
}

/// Where workers put what they have to say.
pub(crate) struct Reports {
    /// The number of the device among those that were opened together.
    rank: u32,
    opened: Instant,
    tracing: AtomicBool,
    trace: Mutex<Noted>,
    faults: Mutex<Vec<Reported>>,
    /// `faults` is not empty, to be read without the lock.
    faulty: AtomicBool,
}

impl Reports {
    pub(crate) fn new(rank: u32) -> Reports {
        Reports {
            rank,
            opened: Instant::now(),
            tracing: AtomicBool::new(false),
            trace: Mutex::default(),
            faults: Mutex::default(),
            faulty: AtomicBool::new(false),
        }
    }

    /// Nanoseconds since the device was opened.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn set_tracing(&self, on: bool) {
        self.tracing.store(on, Ordering::Relaxed);
    }

    pub(crate) fn is_tracing(&self) -> bool {
        self.tracing.load(Ordering::Relaxed)
    }

    /// A launch begins, at what `now` gives.
    pub(crate) fn started(&self, launched: &Launched, now: impl FnOnce() -> u64) {
        if let Some(tracing) = &launched.tracing {
            tracing.started.store(now().max(1), Ordering::Relaxed);
        }
    }

    /// All tiles of a launch are done, at what `now` gives.
    pub(crate) fn finished(&self, launched: &Launched, now: impl FnOnce() -> u64) {
        let Some(tracing) = &launched.tracing else {
            return;
        };
        let start = tracing.started.load(Ordering::Relaxed);
        let end = now().max(start);
        let core = match launched.kind {
            CoreKind::Cube => Core::AiCore,
            CoreKind::Vector => Core::AiVectorCore,
            CoreKind::Mix => Core::MixAic,
            CoreKind::Comm => Core::Communication,
            CoreKind::Host => Core::AiCpu,
        };
        let operands =
            |infos: &[OperandInfo]| infos.iter().map(|o| Operand::nd(&o.shape, o.dtype.profile_name())).collect();
        let name = match tracing.block_line {
            Some(line) => format!("{}/line_{line}", launched.operator),
            None => launched.operator.to_owned(),
        };
        let mut noted = self.trace.lock();
        let record = Record {
            device_id: self.rank,
            stream_id: Some(launched.stream),
            task_id: Some(noted.operators.len() as u64),
            start_ns: start,
            duration_ns: end - start,
            block_num: launched.blocks,
            inputs: operands(&launched.inputs),
            outputs: operands(&launched.outputs),
            ..Record::new(name, launched.operator, core)
        };
        let position = tracing.position.load(Ordering::Relaxed);
        noted.operators.push((Mark { stream: launched.stream, position }, record));
    }

    /// The trace so far; the next one begins empty. `reached` gives for each stream how far it is.
    pub(crate) fn take_trace(&self, ledger: &mut Ledger, reached: impl Fn(u32) -> u64) -> Trace {
        // A stream is noted to have reached something after that was noted: what is reached now is in what is taken then.
        let reached: Vec<u64> = (0..ledger.stream_count()).map(reached).collect();
        let mut noted = self.trace.lock();
        let mut operators = std::mem::take(&mut noted.operators);
        for (mark, operator) in &operators {
            noted.launches.add(*mark, operator.end_ns());
        }
        operators.sort_by_key(|(_, operator)| (operator.start_ns, operator.task_id));
        let operators = operators.into_iter().zip(0..);
        let operators = operators.map(|((_, operator), i)| Record { task_id: Some(i), ..operator }).collect();
        let issued: Vec<u64> = (0..ledger.stream_count()).map(|stream| ledger.last(stream).position).collect();
        let at = |of: &[u64], stream: u32| of.get(stream as usize).copied().unwrap_or(0);
        let syncs = ledger.syncs.take(&noted.launches, |stream| at(&reached, stream), |stream| at(&issued, stream));
        noted.launches.keep_last();
        let syncs = syncs.into_iter().map(|sync| Sync { device_id: self.rank, ..sync }).collect();
        Trace { operators, syncs }
    }

    /// Something failed at position `at`.
    pub(crate) fn failed(&self, fault: Arc<Fault>, at: Mark) {
        let mut faults = self.faults.lock();
        if faults.len() < KEPT {
            faults.push(Reported { fault, at, told: SmallVec::new() });
        }
        self.faulty.store(true, Ordering::Release);
    }

    pub(crate) fn is_faulty(&self) -> bool {
        self.faulty.load(Ordering::Acquire)
    }

    /// The first fault that `clock` includes and that observers of `stream` have not heard of.
    pub(crate) fn tell_stream(&self, stream: u32, clock: &Clock) -> Option<Arc<Fault>> {
        let mut faults = self.faults.lock();
        let untold = faults.iter_mut().find(|f| clock.covers(f.at) && !f.told.contains(&stream))?;
        untold.told.push(stream);
        Some(untold.fault.clone())
    }

    /// The first fault nobody has been told of as the whole device's observer; it is forgotten.
    pub(crate) fn tell_device(&self) -> Option<Arc<Fault>> {
        let mut faults = self.faults.lock();
        if faults.is_empty() {
            return None;
        }
        let first = faults.remove(0);
        self.faulty.store(!faults.is_empty(), Ordering::Release);
        Some(first.fault)
    }
}
