//! What a device must be able to do, below streams, clocks and tensors. The ledger decides what waits for what; a
//! backend only runs things in that order.

pub(crate) mod host;
pub(crate) mod sim;

use std::sync::Arc;

use crate::error::{Fault, KernelResult, Result};
use crate::kernel::Launched;
use crate::ledger::{Mark, Waits};

/// A device: streams as first-in first-out queues with a timeline each.
pub(crate) trait Backend: Send + Sync {
    /// Puts `op` at the end of a stream's queue. Positions are taken in the order of the calls, from 1.
    fn submit(&self, stream: u32, op: Op);

    /// True when there is enough to tidy to be worth a call.
    fn is_untidy(&self) -> bool;

    /// Drops what finished launches held, on the calling thread, which must hold no lock: kernels may own tensors.
    fn tidy(&self);

    /// The highest position of a stream that is complete.
    fn completed(&self, stream: u32) -> u64;

    /// The host asks whether something is complete: a device whose time is computed goes on meanwhile.
    fn poll(&self);

    /// Where the host is, in nanoseconds since the device was opened: the clock of traces.
    fn now(&self) -> u64;

    /// Blocks the calling thread until `mark` is complete; may run device work on it meanwhile.
    ///
    /// # Errors
    /// [`Error::Deadlock`](crate::Error::Deadlock): `mark` will never be complete.
    fn synchronize(self: Arc<Self>, mark: Mark) -> Result<()>;

    /// The number of this device in a cluster that shares a clock, if it is in that one.
    fn rank_in(&self, cluster: &dyn std::any::Any) -> Option<u32> {
        let _ = cluster;
        None
    }

    /// No more work will come; what is queued is still done. Returns at once.
    fn close(self: Arc<Self>);

    /// Calls `wake` when `mark` is complete, at once when it is.
    fn when_complete(self: Arc<Self>, mark: Mark, wake: Box<dyn FnOnce() + Send>);
}

/// One thing in a stream's queue.
pub(crate) struct Op {
    /// Positions of other streams that must be complete before it starts.
    pub(crate) waits: Waits,
    pub(crate) work: Work,
}

/// What there is to do.
pub(crate) enum Work {
    /// Nothing: a position that carries waits.
    Nothing,
    /// Note the time.
    Stamp(Arc<Stamp>),
    /// Run the tiles of an operator.
    Launch(Arc<Launched>),
    /// Run a function of the host; no other work of the stream starts before it returns.
    Callback(Callback),
}

/// A host function in a stream.
pub(crate) struct Callback {
    pub(crate) run: Box<dyn FnOnce() -> KernelResult + Send>,
    pub(crate) fault: Box<dyn FnOnce(String) -> Fault + Send>,
}

/// The time at which a stream reached a position, in nanoseconds since the device was opened.
#[derive(Debug, Default)]
pub(crate) struct Stamp(std::sync::atomic::AtomicU64);

impl Stamp {
    pub(crate) fn set(&self, nanoseconds: u64) {
        self.0.store(nanoseconds.max(1), std::sync::atomic::Ordering::Release);
    }

    /// `None` before the stream reached the position.
    pub(crate) fn get(&self) -> Option<u64> {
        Some(self.0.load(std::sync::atomic::Ordering::Acquire)).filter(|&ns| ns != 0)
    }
}
