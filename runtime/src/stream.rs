//! Streams: first in, first out; beside each other otherwise.

use std::panic::Location;
use std::sync::Arc;

use crate::backend::{Callback, Work};
use crate::current::{self, Entered, with_context};
use crate::device::Device;
use crate::diagnostic::Diagnostic;
use crate::error::{Fault, KernelResult, Result};
use crate::event::Event;
use crate::limit::{CoreLimit, Cores};

/// A queue of operators on a device: they run in their order, and beside those of other streams unless an event orders
/// them. A cheap handle; clones are the same stream.
#[derive(Clone)]
pub struct Stream(Arc<Inner>);

struct Inner {
    device: Device,
    slot: u32,
    /// Made by a user: the number is free again when the last handle is gone. Work that is queued is still done. The
    /// default stream and named ones live as long as the device.
    owned: bool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.owned {
            self.device.close_slot(self.slot);
        }
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        self.0.slot == other.0.slot && self.0.device == other.0.device
    }
}

impl Eq for Stream {}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream({} of device {})", self.0.slot, self.0.device)
    }
}

impl Stream {
    pub(crate) fn new(device: Device, slot: u32, owned: bool) -> Stream {
        Stream(Arc::new(Inner { device, slot, owned }))
    }

    pub(crate) fn slot(&self) -> u32 {
        self.0.slot
    }

    pub(crate) fn try_current() -> Result<Stream> {
        current::with_stream(|stream| Ok(stream.clone()))
    }

    /// The calling thread's current stream: the one entered last, else the default stream of the default device.
    ///
    /// # Errors
    /// When the default device cannot be opened.
    pub fn current() -> Result<Stream> {
        Stream::try_current()
    }

    /// Makes this the calling thread's current stream while the guard lives.
    ///
    /// ```
    /// use multicore::{Device, Stream};
    /// let device = Device::open("host")?;
    /// let side = device.new_stream()?;
    /// {
    ///     let _on_side = side.enter();
    ///     assert_eq!(Stream::current()?, side);
    /// }
    /// assert_ne!(Stream::current()?, side);
    /// # Ok::<(), multicore::Error>(())
    /// ```
    pub fn enter(&self) -> Entered {
        Entered::new(with_context(|c| c.push(self.clone(), CoreLimit::NONE, None)))
    }

    /// The device it belongs to.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Its number on the device, as profiles show it. 0 is the default stream.
    pub fn id(&self) -> u32 {
        self.0.slot
    }

    /// Records an event after everything launched so far.
    ///
    /// # Errors
    /// Those of [`Event::record`].
    #[track_caller]
    pub fn record_event(&self) -> Result<Event> {
        let event = Event::new(&self.0.device);
        event.record(self)?;
        Ok(event)
    }

    /// What is launched on this stream from now on comes after the event as it is recorded now. Recording it again later
    /// changes nothing here. The host does not wait.
    ///
    /// A wait for an event that was never recorded orders nothing, and is noted in [`Device::diagnostics`]. The event may
    /// belong to another device.
    ///
    /// # Errors
    /// [`Error::CalledFromStream`](crate::Error::CalledFromStream) inside a kernel or a host callback.
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<()> {
        current::refuse_in_stream("Stream::wait")?;
        event.make_wait(self, Location::caller());
        Ok(())
    }

    /// What is launched on this stream from now on comes after everything launched on `other` so far.
    ///
    /// # Errors
    /// Those of [`Stream::wait`] and [`Event::record`].
    #[track_caller]
    pub fn wait_stream(&self, other: &Stream) -> Result<()> {
        if self == other {
            current::refuse_in_stream("Stream::wait_stream")?;
            let at = Location::caller();
            self.0.device.books().ledger.diagnose(Diagnostic::WaitForItself { stream: self.0.slot, at });
            return Ok(());
        }
        self.wait(&other.record_event()?)
    }

    /// Runs `f` on the host after everything launched so far; what is launched later waits until it returns. `f` must not
    /// call the runtime: launches and waits from inside are errors. What it returns as an error, or a panic, is told to
    /// whoever synchronises.
    ///
    /// # Errors
    /// [`Error::CalledFromStream`](crate::Error::CalledFromStream) inside a kernel or another callback.
    #[track_caller]
    pub fn launch_host(&self, f: impl FnOnce() -> KernelResult + Send + 'static) -> Result<()> {
        current::refuse_in_stream("Stream::launch_host")?;
        let (stream, launched_at) = (self.0.slot, Location::caller());
        let fault = move |message| Fault { operator: "host function", stream, launched_at, message };
        self.0.device.submit(stream, Work::Callback(Callback { run: Box::new(f), fault: Box::new(fault) }));
        Ok(())
    }

    /// True when everything launched so far is done.
    ///
    /// # Errors
    /// [`Error::Kernel`](crate::Error::Kernel) when something that is done failed; each failure is told once to the observers of a stream.
    pub fn is_complete(&self) -> Result<bool> {
        let tail = self.0.device.tail(self.0.slot);
        self.0.device.backend().poll();
        if !tail.iter().all(|&mark| self.0.device.is_done(mark)) {
            return Ok(false);
        }
        self.0.device.tell(self.0.slot, &tail)?;
        Ok(true)
    }

    /// Waits until everything launched so far is done.
    ///
    /// # Errors
    /// [`Error::Kernel`](crate::Error::Kernel) when an operator that this stream comes after failed; each failure is told once to the observers
    /// of a stream. [`Error::CalledFromStream`](crate::Error::CalledFromStream) inside a kernel or a host callback.
    pub fn synchronize(&self) -> Result<()> {
        let tail = self.0.device.tail(self.0.slot);
        for &mark in &tail {
            self.0.device.wait_on_host("Stream::synchronize", mark)?;
        }
        self.0.device.tell(self.0.slot, &tail)
    }

    /// Limits the cores of the operators launched on this stream from now on; those launched before keep theirs. Kinds
    /// left out keep theirs. The limit may be above the device's.
    ///
    /// # Errors
    /// [`Error::CoreLimit`](crate::Error::CoreLimit); nothing is changed then.
    pub fn set_core_limit(&self, limit: CoreLimit) -> Result<()> {
        self.0.device.set_stream_limit(self.0.slot, limit)
    }

    /// Takes the stream's limits away: it follows the device again.
    pub fn reset_core_limit(&self) {
        self.0.device.reset_stream_limit(self.0.slot);
    }

    /// The limit that was set on this stream itself, without those of blocks, device and chip: a kind that is not set has
    /// no number. What an operator is granted is [`core_limit`](Self::core_limit).
    pub fn requested_core_limit(&self) -> CoreLimit {
        self.0.device.stream_limit(self.0.slot)
    }

    /// The cores that an operator launched now by this thread may use: the limit of the `stream!` block around, else the
    /// stream's, else the device's, else the chip's cores.
    pub fn core_limit(&self) -> Cores {
        let block = with_context(|c| c.block_limit(self));
        self.cores_under(block)
    }

    pub(crate) fn cores_under(&self, block: CoreLimit) -> Cores {
        self.0.device.cores_under(self.0.slot, block)
    }
}

/// What names a stream in `stream!`.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a stream", label = "expected a `Stream` or a `&Stream`")]
pub trait AsStream {
    /// The stream.
    fn as_stream(&self) -> &Stream;
}

impl AsStream for Stream {
    fn as_stream(&self) -> &Stream {
        self
    }
}

impl<T: AsStream + ?Sized> AsStream for &T {
    fn as_stream(&self) -> &Stream {
        (**self).as_stream()
    }
}

impl<T: AsStream + ?Sized> AsStream for &mut T {
    fn as_stream(&self) -> &Stream {
        (**self).as_stream()
    }
}

impl<T: AsStream + ?Sized> AsStream for Arc<T> {
    fn as_stream(&self) -> &Stream {
        (**self).as_stream()
    }
}
