//! Events: points on a stream's timeline that other streams and the host can wait for.

use std::panic::Location;
use std::sync::Arc;

use multicore_timeline::Origin;
use parking_lot::Mutex;

use crate::backend::{Stamp, Work};
use crate::current;
use crate::device::Device;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::ledger::{Marks, Wait};
use crate::stream::Stream;
use crate::syncs::{Reason, site_of_call};

/// A point on a stream's timeline. A cheap handle; clones are the same event.
///
/// Recording it again gives it a new point; whoever waits for the old one goes on waiting for that. Any number of streams
/// may wait for it.
#[derive(Clone)]
pub struct Event(Arc<Inner>);

struct Inner {
    device: Device,
    timing: bool,
    recorded: Mutex<Option<Recorded>>,
}

#[derive(Clone)]
struct Recorded {
    /// The number of the stream.
    stream: u32,
    marks: Marks,
    stamp: Option<Arc<Stamp>>,
    /// Its number, if the device was traced.
    event: Option<u64>,
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let recorded = self.recorded();
        write!(f, "Event({:?} on device {})", recorded.map(|r| r.marks), self.0.device)
    }
}

impl Event {
    /// An event that takes no times. Costs nothing on the device before it is recorded.
    pub fn new(device: &Device) -> Event {
        Event(Arc::new(Inner { device: device.clone(), timing: false, recorded: Mutex::new(None) }))
    }

    /// An event that notes the time when its stream reaches it; see [`elapsed_ms`](Self::elapsed_ms).
    pub fn with_timing(device: &Device) -> Event {
        Event(Arc::new(Inner { device: device.clone(), timing: true, recorded: Mutex::new(None) }))
    }

    fn recorded(&self) -> Option<Recorded> {
        self.0.recorded.lock().clone()
    }

    /// Puts the event after everything launched on `stream` so far.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch) when the stream belongs to another device; [`Error::CalledFromStream`](crate::Error::CalledFromStream) inside a kernel.
    #[track_caller]
    pub fn record(&self, stream: &Stream) -> Result<()> {
        current::refuse_in_stream("Event::record")?;
        let device = &self.0.device;
        if stream.device() != device {
            return Err(Error::DeviceMismatch {
                what: "recording an event on a stream",
                left: format!("{device} (the event)"),
                right: format!("{} (the stream)", stream.device()),
            });
        }
        let stamp = self.0.timing.then(Arc::<Stamp>::default);
        let work = stamp.clone().map(Work::Stamp);
        let (marks, event) = device.record(stream.slot(), work, Location::caller());
        *self.0.recorded.lock() = Some(Recorded { stream: stream.slot(), marks, stamp, event });
        Ok(())
    }

    /// Makes `stream` wait for the point that the event has now.
    pub(crate) fn make_wait(&self, stream: &Stream, at: &'static Location<'static>) {
        let (source, waiting) = (&self.0.device, stream.device());
        let Some(Recorded { marks, event, .. }) = self.recorded() else {
            waiting.books().ledger.diagnose(Diagnostic::WaitForUnrecorded { stream: stream.slot(), at });
            return;
        };
        let ledger = &mut waiting.books().ledger;
        for mark in marks {
            let is_foreign = source != waiting;
            let made = if !is_foreign {
                ledger.wait(stream.slot(), mark)
            } else {
                let open = !source.is_done(mark);
                if open {
                    ledger.wait_foreign(stream.slot(), Wait { mark, foreign: Some(source.backend().clone()) });
                }
                open
            };
            if made && ledger.syncs.on {
                ledger.syncs.now = Some(waiting.backend().now());
                let (carrier, of) = (ledger.next(stream.slot()), Some(mark).filter(|_| !is_foreign));
                let event = event.filter(|_| !is_foreign);
                ledger.syncs.wait(carrier, of, Reason { origin: Origin::Hand, event, site: Some(site_of_call(at)) });
            }
        }
    }

    /// True when the stream has reached the event, and for an event that was never recorded.
    ///
    /// # Errors
    /// [`Error::Kernel`](crate::Error::Kernel) when something before the event failed; each failure is told once to the observers of a stream.
    pub fn is_complete(&self) -> Result<bool> {
        let Some(Recorded { stream, marks, .. }) = self.recorded() else {
            return Ok(true);
        };
        self.0.device.backend().poll();
        if !marks.iter().all(|&mark| self.0.device.is_done(mark)) {
            return Ok(false);
        }
        self.0.device.tell(stream, &marks)?;
        Ok(true)
    }

    /// Waits until the stream has reached the point that the event has now. Returns at once for an event that was never
    /// recorded.
    ///
    /// # Errors
    /// As [`is_complete`](Self::is_complete), and [`Error::CalledFromStream`](crate::Error::CalledFromStream) inside a kernel or a host callback.
    pub fn synchronize(&self) -> Result<()> {
        let Some(Recorded { stream, marks, .. }) = self.recorded() else {
            return Ok(());
        };
        for &mark in &marks {
            self.0.device.wait_on_host("Event::synchronize", mark)?;
        }
        self.0.device.tell(stream, &marks)
    }

    /// Milliseconds from this event to `end`; negative when `end` came first, 0 for the same event.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), [`Error::EventNotRecorded`](crate::Error::EventNotRecorded), [`Error::EventTimingOff`](crate::Error::EventTimingOff), and [`Error::EventNotComplete`](crate::Error::EventNotComplete),
    /// after which it can be tried again.
    pub fn elapsed_ms(&self, end: &Event) -> Result<f64> {
        if self.0.device != end.0.device {
            return Err(Error::DeviceMismatch {
                what: "the time between two events",
                left: self.0.device.to_string(),
                right: end.0.device.to_string(),
            });
        }
        let (from, to) = (self.time("start")?, end.time("end")?);
        Ok((to as f64 - from as f64) / 1e6)
    }

    /// Nanoseconds since the device was opened.
    fn time(&self, which: &'static str) -> Result<u64> {
        let recorded = self.recorded().ok_or(Error::EventNotRecorded { which })?;
        let stamp = recorded.stamp.ok_or(Error::EventTimingOff { which })?;
        stamp.get().ok_or(Error::EventNotComplete { which })
    }
}
