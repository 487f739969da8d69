//! The calling thread's current stream, its limits, and the `#[multicore]` functions it is in.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use multicore_timeline::Origin;

use crate::backend::{Backend, Op, Work};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::kernel::Launched;
use crate::ledger::{Ledger, Mark, Needs};
use crate::limit::{CoreLimit, Cores};
use crate::plan::Asked;
use crate::region::Frame;
use crate::stream::Stream;
use crate::syncs::Reason;
use crate::testing::Probe;

/// One stream made current: by [`Stream::enter`] or by a `stream!` block.
pub(crate) struct Entry {
    pub(crate) stream: Stream,
    /// The limit of the block and of those around it on the same stream; the stream's own lies outside of it.
    pub(crate) limit: CoreLimit,
    /// The line of the `stream!` block.
    pub(crate) block_line: Option<u32>,
}

#[derive(Default)]
pub(crate) struct Context {
    pub(crate) entries: Vec<Entry>,
    /// The `#[multicore]` functions being executed, innermost last.
    pub(crate) frames: Vec<Frame>,
    /// A test observes the thread's calls.
    pub(crate) probe: Option<Box<Probe>>,
    /// The plan of the next function is asked for.
    pub(crate) asked: Option<Asked>,
}

thread_local! {
    static CONTEXT: RefCell<Context> = RefCell::default();
    /// The thread is running a kernel or a host callback.
    static IN_STREAM: Cell<bool> = const { Cell::new(false) };
}

/// Lends the thread's context to `f`. During the thread's end, when it is gone already, `f` gets an empty one.
pub(crate) fn with_context<R>(f: impl FnOnce(&mut Context) -> R) -> R {
    let mut f = Some(f);
    let done = CONTEXT.try_with(|context| f.take().map(|f| f(&mut context.borrow_mut())));
    match (done, f) {
        (Ok(Some(result)), _) => result,
        (_, Some(f)) => f(&mut Context::default()),
        // `f` was taken and its result came back: there is no third case.
        (_, None) => unreachable!("the context was lent without a result"),
    }
}

impl Context {
    /// The limit that blocks of this thread have set on `stream`.
    pub(crate) fn block_limit(&self, stream: &Stream) -> CoreLimit {
        self.entries.iter().rev().find(|e| e.stream == *stream).map_or(CoreLimit::NONE, |e| e.limit)
    }

    /// Makes `stream` current with `limit` inside what the thread's blocks have set on it; returns the depth to go back to.
    pub(crate) fn push(&mut self, stream: Stream, limit: CoreLimit, block_line: Option<u32>) -> usize {
        let limit = limit.or(self.block_limit(&stream));
        self.entries.push(Entry { stream, limit, block_line });
        self.entries.len() - 1
    }
}

/// Lends the current stream: the innermost entered one, or the default stream of the default device.
pub(crate) fn with_stream<R>(f: impl FnOnce(&Stream) -> Result<R>) -> Result<R> {
    match with_context(|c| c.entries.last().map(|e| e.stream.clone())) {
        Some(stream) => f(&stream),
        None => f(&Device::try_default()?.default_stream()),
    }
}

/// What comes of a launch: the backend, when it has something to tidy.
pub(crate) type Launching = Result<Option<Arc<dyn Backend>>>;

/// Where a launch goes, and under what.
pub(crate) struct Site<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) cores: Cores,
    pub(crate) block_line: Option<u32>,
    frame: Option<&'a mut Frame>,
}

impl Site<'_> {
    /// Puts a launch on the stream, after what it conflicts with. Returns the backend when it has something to tidy.
    pub(crate) fn submit(self, launched: Arc<Launched>) -> Option<Arc<dyn Backend>> {
        let stream = self.stream.slot();
        let device = self.stream.device();
        let books = &mut *device.books();
        if let Some(tracing) = &launched.tracing {
            books.ledger.syncs.now = Some(device.backend().now());
            tracing.position.store(books.ledger.next(stream).position, Ordering::Relaxed);
        }
        let mut frame = self.frame;
        let needs = match &mut frame {
            Some(frame) => frame.before_launch(self.stream, launched.undeclared, &books.ledger),
            None => Needs::default(),
        };
        let site = crate::diagnostic::Launch::new(launched.operator, launched.at);
        let (mark, waits) = books.ledger.issue_launch(stream, site, launched.touches(), needs);
        if !books.ledger.syncs.planned.is_empty() {
            note_planned(frame, mark, &mut books.ledger);
        }
        // Under the lock, so that positions are queued in their order.
        device.backend().submit(stream, Op { waits, work: Work::Launch(launched) });
        device.backend().is_untidy().then(|| device.backend().clone())
    }
}

/// Notes the waits that the plan of the function was the reason for, which the launch at `carrier` carries.
#[cold]
fn note_planned(frame: Option<&mut Frame>, carrier: Mark, ledger: &mut Ledger) {
    let mut frame = frame;
    for (mark, always) in std::mem::take(&mut ledger.syncs.planned) {
        let reason = frame.as_mut().and_then(|frame| frame.reason(carrier, mark, always, ledger));
        let reason = reason.unwrap_or(Reason { origin: Origin::Plan, event: None, site: None });
        ledger.syncs.wait(carrier, Some(mark), reason);
    }
}

/// Calls `f` with the site of a launch whose operands are on `device`.
pub(crate) fn launch(device: Option<&Device>, f: impl FnOnce(Site<'_>) -> Launching) -> Result<()> {
    refuse_in_stream("launch")?;
    let untidy = with_context(|context| {
        let Context { entries, frames, .. } = context;
        let fallback;
        let (stream, limit, block_line) = match entries.last() {
            Some(entry) => {
                if let Some(device) = device
                    && device != entry.stream.device()
                {
                    return Err(Error::DeviceMismatch {
                        what: "a launch",
                        left: format!("{} (its operands)", device),
                        right: format!("{} (the current stream)", entry.stream.device()),
                    });
                }
                (&entry.stream, entry.limit, entry.block_line)
            }
            None => {
                fallback = match device {
                    Some(device) => device.default_stream(),
                    None => Device::try_default()?.default_stream(),
                };
                (&fallback, CoreLimit::NONE, None)
            }
        };
        let cores = stream.cores_under(limit);
        f(Site { stream, cores, block_line, frame: frames.last_mut() })
    })?;
    if let Some(backend) = untidy {
        // Outside of the context and of every lock: what is dropped may be an author's.
        backend.tidy();
    }
    Ok(())
}

/// Runs a kernel's body or a host callback: calls that would wait for the stream they are in are errors meanwhile.
pub(crate) fn in_stream<R>(f: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            IN_STREAM.set(self.0);
        }
    }
    let _reset = Reset(IN_STREAM.replace(true));
    f()
}

/// [`Error::CalledFromStream`] inside a kernel or a host callback.
pub(crate) fn refuse_in_stream(call: &'static str) -> Result<()> {
    if IN_STREAM.get() { Err(Error::CalledFromStream { call }) } else { Ok(()) }
}

/// Keeps a stream current for the thread; see [`Stream::enter`].
#[must_use = "the stream is current only while the guard lives"]
pub struct Entered {
    depth: usize,
    /// The guard belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl Entered {
    pub(crate) fn new(depth: usize) -> Entered {
        Entered { depth, thread: PhantomData }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // Truncating also forgets guards inside this one that were leaked.
        let left = with_context(|c| c.entries.split_off(self.depth.min(c.entries.len())));
        // Streams are dropped outside of the context: the last handle of one talks to its device.
        drop(left);
    }
}
