//! What comes back from a device: faults, and the trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use multicore_timeline::{Core, Operand, Record};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::error::Fault;
use crate::kernel::{Launched, OperandInfo};
use crate::ledger::{Clock, Mark};
use crate::limit::CoreKind;

struct Reported {
    fault: Arc<Fault>,
    at: Mark,
    /// Streams whose observers have heard of it.
    told: SmallVec<[u32; 4]>,
}

/// Faults kept until a device-wide synchronisation fetches them; of more than these, the earliest.
const KEPT: usize = 1024;

/// Where workers put what they have to say.
pub(crate) struct Reports {
    opened: Instant,
    tracing: AtomicBool,
    trace: Mutex<Vec<Record>>,
    faults: Mutex<Vec<Reported>>,
    /// `faults` is not empty, to be read without the lock.
    faulty: AtomicBool,
}

impl Reports {
    pub(crate) fn new() -> Reports {
        Reports {
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
        let mut trace = self.trace.lock();
        let record = Record {
            stream_id: Some(launched.stream),
            task_id: Some(trace.len() as u64),
            start_ns: start,
            duration_ns: end - start,
            block_num: launched.blocks,
            inputs: operands(&launched.inputs),
            outputs: operands(&launched.outputs),
            ..Record::new(name, launched.operator, core)
        };
        trace.push(record);
    }

    /// The trace so far, by start; the next one begins empty.
    pub(crate) fn take_trace(&self) -> Vec<Record> {
        let mut trace = std::mem::take(&mut *self.trace.lock());
        trace.sort_by_key(|r| (r.start_ns, r.task_id));
        for (i, record) in trace.iter_mut().enumerate() {
            record.task_id = Some(i as u64);
        }
        trace
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
