//! Devices: what they are made of, how they are opened, and what they count.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use multicore_timeline::Origin;
use parking_lot::{Mutex, MutexGuard};

use crate::backend::{Backend, Op, Work, host::Host, sim::Sim};
use crate::current;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::ledger::{Ledger, Mark, Marks, Stats};
use crate::limit::{CoreLimit, Cores};
use crate::memory::Pool;
use crate::reports::{Reports, Trace};
use crate::spec::{Kind, Spec};
use crate::stream::Stream;
use crate::syncs::site_of_call;

/// What is decided under one lock: the order of launches, and who gets which memory.
pub(crate) struct Books {
    pub(crate) ledger: Ledger,
    pub(crate) pool: Pool,
}

/// The streams of a device by number: 0 is the default stream.
struct Streams {
    /// Numbers in use or once used.
    opened: usize,
    free: Vec<u32>,
    named: Vec<(String, u32)>,
}

struct Inner {
    number: u64,
    spec: Spec,
    books: Mutex<Books>,
    streams: Mutex<Streams>,
    device_limit: LimitCell,
    stream_limits: Box<[LimitCell]>,
    backend: Arc<dyn Backend>,
    reports: Arc<Reports>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.backend.clone().close();
    }
}

/// A core limit that can be read without a lock: two numbers, 0 for none.
#[derive(Default)]
struct LimitCell(AtomicU64);

impl LimitCell {
    fn get(&self) -> CoreLimit {
        let bits = self.0.load(Ordering::Acquire);
        let part = |n: u32| Some(n).filter(|&n| n != 0);
        CoreLimit { cube: part((bits >> 32) as u32), vector: part(bits as u32) }
    }

    /// Changes the kinds that `limit` names and keeps the others.
    fn set(&self, limit: CoreLimit) {
        let update = |bits| {
            let cube = limit.cube.map_or(bits >> 32, u64::from);
            let vector = limit.vector.map_or(bits & u64::from(u32::MAX), u64::from);
            Some(cube << 32 | vector)
        };
        // The closure never refuses.
        let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, update);
    }

    fn reset(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// A device with cube and vector cores. A cheap handle: clones are the same device, which lives until the last handle
/// and the last tensor, stream and event on it are gone; what was queued is still done.
///
/// ```
/// use multicore::Device;
/// let device = Device::open("host:20x40")?;
/// assert_eq!(device.chip().vector, 40);
/// # Ok::<(), multicore::Error>(())
/// ```
#[derive(Clone)]
pub struct Device(Arc<Inner>);

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (`{}`)", self.0.number, self.0.spec.text)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

impl Device {
    /// Opens a device.
    ///
    /// `host` is the embedded one: it computes on this machine's processors, and models a chip of 24 cube and 48 vector
    /// cores (`host:20x40` for 20 and 40). `sim` computes the same, and the time that it takes on a chip: `sim:910b1` (also
    /// `910b`), `910b2`, `910b3`, `910b4`, `910_9391` (a die of Atlas A3), or `sim:FILE.toml` for your own
    /// ([`sim::Chip`](crate::sim::Chip)).
    ///
    /// Options follow after commas, for both: `streams=N` at most (1984, as on Atlas A2), `memory=BYTES` at most (no limit
    /// on `host`, the chip's on `sim`), `serial` (the blocks of `#[multicore]` functions all run on the stream that is
    /// current at entry; also with `MULTICORE_SERIAL=1`). For `host`: `workers=N` threads (one a processor). For `sim`:
    /// * `dry`: kernels do not run and tensors hold no memory, so that sizes of real models fit;
    /// * `issue=eager` (the host needs 55 us for a launch), `issue=graph` (2 us), or `issue=US`;
    /// * `ranks=N`: devices in the group that dispatched rows go to (8); 1 for a copy on the device;
    /// * `comm=vector` (communication takes vector cores) or `comm=copy` (the copy engines do it);
    /// * `costs=FILE.csv`: measured times ([`sim::CostTable`](crate::sim::CostTable)).
    ///
    /// # Errors
    /// [`Error::DeviceSpec`].
    pub fn open(spec: &str) -> Result<Device> {
        let spec = Spec::parse(spec)?;
        let reports = Arc::new(Reports::new(0));
        let backend: Arc<dyn Backend> = match &spec.kind {
            Kind::Host { workers } => Host::open(*workers, spec.streams, reports.clone())?,
            Kind::Sim(model) => Sim::open((**model).clone(), spec.streams, vec![reports.clone()]).remove(0),
        };
        Ok(Device::new(spec, backend, reports))
    }

    /// Opens several devices alike. Modelled ones share a clock and are joined by links (see [`sim`](crate::sim)); others
    /// have nothing to do with each other.
    ///
    /// # Errors
    /// Those of [`Device::open`].
    pub fn open_ranks(spec: &str, ranks: usize) -> Result<Vec<Device>> {
        let parsed = Spec::parse(spec)?;
        let Kind::Sim(model) = &parsed.kind else {
            return (0..ranks).map(|_| Device::open(spec)).collect();
        };
        let reports: Vec<_> = (0..ranks as u32).map(|rank| Arc::new(Reports::new(rank))).collect();
        let backends = Sim::open((**model).clone(), parsed.streams, reports.clone());
        backends
            .into_iter()
            .zip(reports)
            .map(|(sim, reports)| Ok(Device::new(Spec::parse(spec)?, sim, reports)))
            .collect()
    }

    fn new(spec: Spec, backend: Arc<dyn Backend>, reports: Arc<Reports>) -> Device {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let mut ledger = Ledger::default();
        ledger.open_stream(0);
        let dry = matches!(&spec.kind, Kind::Sim(model) if model.dry);
        Device(Arc::new(Inner {
            number: OPENED.fetch_add(1, Ordering::Relaxed),
            books: Mutex::new(Books { ledger, pool: Pool::new(spec.memory, dry) }),
            streams: Mutex::new(Streams { opened: 1, free: Vec::new(), named: Vec::new() }),
            device_limit: LimitCell::default(),
            stream_limits: (0..spec.streams).map(|_| LimitCell::default()).collect(),
            backend,
            reports,
            spec,
        }))
    }

    /// The default device: what `MULTICORE_DEVICE` says at its first use, `host` if that is not set.
    ///
    /// # Errors
    /// Those of [`Device::open`]. The next call tries again.
    pub fn try_default() -> Result<Device> {
        static DEFAULT: OnceLock<Device> = OnceLock::new();
        static OPENING: Mutex<()> = Mutex::new(());
        if let Some(device) = DEFAULT.get() {
            return Ok(device.clone());
        }
        let _one_at_a_time = OPENING.lock();
        if let Some(device) = DEFAULT.get() {
            return Ok(device.clone());
        }
        let device = Device::open(std::env::var("MULTICORE_DEVICE").as_deref().unwrap_or("host"))?;
        Ok(DEFAULT.get_or_init(|| device).clone())
    }

    /// The specification that it was opened with.
    pub fn spec(&self) -> &str {
        &self.0.spec.text
    }

    /// The cores that the chip has.
    pub fn chip(&self) -> Cores {
        self.0.spec.chip
    }

    /// True when the blocks of `#[multicore]` functions all run on one stream.
    pub fn is_serial(&self) -> bool {
        self.0.spec.serial
    }

    /// True for a device that computes nothing and holds no memory (`sim:..,dry`).
    pub fn is_dry(&self) -> bool {
        matches!(&self.0.spec.kind, Kind::Sim(model) if model.dry)
    }

    /// True for a device whose time is computed.
    pub(crate) fn is_modelled(&self) -> bool {
        matches!(self.0.spec.kind, Kind::Sim(_))
    }

    /// A new stream.
    ///
    /// # Errors
    /// [`Error::StreamsExhausted`]; streams made before go on working.
    pub fn new_stream(&self) -> Result<Stream> {
        let slot = self.open_slot(&mut self.0.streams.lock())?;
        Ok(Stream::new(self.clone(), slot, true))
    }

    /// The stream called `name`: the same one in every call with this name.
    ///
    /// # Errors
    /// [`Error::StreamsExhausted`].
    pub fn named_stream(&self, name: &str) -> Result<Stream> {
        let mut streams = self.0.streams.lock();
        let known = streams.named.iter().find(|(n, _)| n == name).map(|&(_, slot)| slot);
        let slot = match known {
            Some(slot) => slot,
            None => {
                let slot = self.open_slot(&mut streams)?;
                streams.named.push((name.to_owned(), slot));
                slot
            }
        };
        Ok(Stream::new(self.clone(), slot, false))
    }

    /// The stream that launches go to when no other is current. It is a stream like any other: nothing waits for it
    /// unless told to.
    pub fn default_stream(&self) -> Stream {
        Stream::new(self.clone(), 0, false)
    }

    fn open_slot(&self, streams: &mut Streams) -> Result<u32> {
        // One whose earlier owner's work is done, so that two streams never wait for each other by accident.
        let last = |slot| self.books().ledger.last(slot);
        let idle = streams.free.iter().position(|&slot| self.is_done(last(slot)));
        let capacity = self.0.stream_limits.len();
        let slot = match idle {
            Some(i) => streams.free.swap_remove(i),
            None if streams.opened < capacity => {
                streams.opened += 1;
                (streams.opened - 1) as u32
            }
            None => match streams.free.pop() {
                Some(slot) => slot,
                None => {
                    return Err(Error::StreamsExhausted { in_use: streams.opened, capacity });
                }
            },
        };
        self.books().ledger.open_stream(slot);
        Ok(slot)
    }

    pub(crate) fn close_slot(&self, slot: u32) {
        self.0.stream_limits[slot as usize].reset();
        self.0.streams.lock().free.push(slot);
    }

    /// Waits until everything launched on the device is done.
    ///
    /// # Errors
    /// [`Error::Kernel`] with the first operator that failed and that no such call has told of yet; each failure is told
    /// once. [`Error::CalledFromStream`] inside a kernel or a host callback.
    pub fn synchronize(&self) -> Result<()> {
        let opened = self.0.streams.lock().opened;
        for slot in 0..opened as u32 {
            for mark in self.tail(slot) {
                self.wait_on_host("Device::synchronize", mark)?;
            }
        }
        self.0.reports.tell_device().map_or(Ok(()), |fault| Err(Error::Kernel(fault)))
    }

    /// Limits the cores of all operators of the device whose stream has no limit of its own. Kinds left out keep theirs.
    ///
    /// # Errors
    /// [`Error::CoreLimit`]; nothing is changed then.
    pub fn set_core_limit(&self, limit: CoreLimit) -> Result<()> {
        limit.check(self.chip())?;
        self.0.device_limit.set(limit);
        Ok(())
    }

    /// Takes the device's limits away.
    pub fn reset_core_limit(&self) {
        self.0.device_limit.reset();
    }

    /// The cores that an operator may use on a stream without a limit: the device's limit, else the chip's cores.
    pub fn core_limit(&self) -> Cores {
        self.0.device_limit.get().on(self.chip())
    }

    /// The limit that was set on the device; a kind that is not set has no number.
    pub fn requested_core_limit(&self) -> CoreLimit {
        self.0.device_limit.get()
    }

    pub(crate) fn stream_limit(&self, slot: u32) -> CoreLimit {
        self.0.stream_limits[slot as usize].get()
    }

    pub(crate) fn set_stream_limit(&self, slot: u32, limit: CoreLimit) -> Result<()> {
        limit.check(self.chip())?;
        self.0.stream_limits[slot as usize].set(limit);
        Ok(())
    }

    pub(crate) fn reset_stream_limit(&self, slot: u32) {
        self.0.stream_limits[slot as usize].reset();
    }

    /// What `block` limits, else the stream's limit, else the device's, else the chip.
    pub(crate) fn cores_under(&self, slot: u32, block: CoreLimit) -> Cores {
        block.or(self.stream_limit(slot)).or(self.0.device_limit.get()).on(self.chip())
    }

    /// Counts since the device was opened.
    pub fn stats(&self) -> Stats {
        self.books().ledger.stats
    }

    /// What the runtime noticed and put right, each thing once.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.books().ledger.diagnostics.clone()
    }

    /// Bytes held by living tensors.
    pub fn memory_in_use(&self) -> usize {
        self.books().pool.in_use()
    }

    /// Starts or stops noting every launch, record and wait. Off at first; it costs three clock readings and an
    /// allocation a launch.
    pub fn set_tracing(&self, on: bool) {
        self.books().ledger.syncs.on = on;
        self.0.reports.set_tracing(on);
    }

    /// Everything noted since the last call. What is not done comes with a later call.
    ///
    /// ```
    /// use multicore::prelude::*;
    /// use multicore::timeline::{Origin, SyncKind};
    ///
    /// #[multicore(streams(left, right))]
    /// fn sum_of_products(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    ///     let aa = stream!(left, { a.matmul(a)? });
    ///     let bb = stream!(right, { b.matmul(b)? });
    ///     stream!(left, { aa.add(&bb) })
    /// }
    ///
    /// let device = Device::try_default()?;
    /// let x = Tensor::from_slice(&[1.0f32; 64], &[8, 8])?;
    /// device.set_tracing(true);
    /// sum_of_products(&x, &x)?;
    /// device.synchronize()?;
    /// let trace = device.take_trace();
    /// assert_eq!(trace.operators.len(), 3);
    ///
    /// // The plan's one wait, and the record that it was made for.
    /// let mut planned = trace.syncs.iter().filter(|sync| sync.origin == Origin::Plan);
    /// let wait = planned.clone().find(|sync| sync.kind == SyncKind::Wait).expect("`left` waits for `bb`");
    /// let record = planned.find(|sync| sync.kind == SyncKind::Record && sync.event == wait.event);
    /// assert!(record.and_then(|sync| sync.site.as_ref()).is_some_and(|site| site.variables == "bb"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn take_trace(&self) -> Trace {
        let reached = |slot| self.0.backend.completed(slot);
        // First what is reached, then what is noted of it: whatever is done by then is noted.
        let books = &mut *self.books();
        self.0.reports.take_trace(&mut books.ledger, reached)
    }

    /// Where the host is, in ns since the device was opened: measured on `host`; on `sim` computed, from what it issued and
    /// waited for.
    pub fn now_ns(&self) -> u64 {
        self.0.backend.now()
    }

    /// `Some` when launches are noted.
    pub(crate) fn tracing(&self) -> Option<()> {
        self.0.reports.is_tracing().then_some(())
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.0.backend
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.0.books.lock()
    }

    /// True when `mark` is complete.
    pub(crate) fn is_done(&self, mark: Mark) -> bool {
        self.0.backend.completed(mark.stream) >= mark.position
    }

    /// Blocks until `mark` is complete; the host then knows all that came before it.
    pub(crate) fn wait_on_host(&self, call: &'static str, mark: Mark) -> Result<()> {
        current::refuse_in_stream(call)?;
        if !self.is_done(mark) {
            self.0.backend.clone().synchronize(mark)?;
        }
        self.books().ledger.completed(mark);
        Ok(())
    }

    /// Puts something that touches no buffer on a stream.
    pub(crate) fn submit(&self, slot: u32, work: Work) {
        self.issue(&mut self.books().ledger, slot, work);
    }

    fn issue(&self, ledger: &mut Ledger, slot: u32, work: Work) {
        let (_, waits) = ledger.issue(slot);
        self.0.backend.submit(slot, Op { waits, work });
    }

    /// Everything that an observer of the stream must wait for. Waits for other devices get a position for that.
    pub(crate) fn tail(&self, slot: u32) -> Marks {
        self.tail_of(&mut self.books().ledger, slot)
    }

    fn tail_of(&self, ledger: &mut Ledger, slot: u32) -> Marks {
        if ledger.has_pending_foreign(slot) {
            self.issue(ledger, slot, Work::Nothing);
        }
        ledger.tail(slot)
    }

    /// Records an event on a stream; `work` is what it does when it is reached.
    ///
    /// Gives the number of the event as well, if the device is traced.
    pub(crate) fn record(&self, slot: u32, work: Option<Work>, at: &'static Location<'static>) -> (Marks, Option<u64>) {
        let ledger = &mut self.books().ledger;
        ledger.stats.records += 1;
        if let Some(work) = work {
            self.issue(ledger, slot, work);
        }
        let event = ledger.syncs.on.then(|| {
            ledger.syncs.now = Some(self.0.backend.now());
            ledger.syncs.record(ledger.last(slot), Origin::Hand, Some(site_of_call(at)))
        });
        (self.tail_of(ledger, slot), event)
    }

    /// Tells a failure that comes before `tail` and that observers of the stream have not heard of.
    pub(crate) fn tell(&self, slot: u32, tail: &[Mark]) -> Result<()> {
        if !self.0.reports.is_faulty() {
            return Ok(());
        }
        for &mark in tail {
            let clock = self.books().ledger.clock_at(mark);
            if let Some(fault) = self.0.reports.tell_stream(slot, &clock) {
                return Err(Error::Kernel(fault));
            }
        }
        Ok(())
    }
}
