//! A launch: a kernel with its operands, from the builder that authors use to the object that workers run.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{Kernel, Tile};
use crate::current;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Fault, Result};
use crate::ledger::{BufferId, Touch};
use crate::limit::CoreKind;
use crate::memory::Block;
use crate::sim;
use crate::tensor::shape::{self, Dims};
use crate::tensor::{Operand, OperandMut, View, ViewMut};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Read,
    Write,
    Update,
}

/// An operand as the workers see it. It keeps the memory alive, not the tensor.
pub(crate) struct OperandInfo {
    block: Arc<Block>,
    pub(crate) id: BufferId,
    pub(crate) bytes: Range<usize>,
    pub(super) access: Access,
    pub(crate) dtype: DType,
    pub(crate) shape: Dims,
    pub(super) strides: Dims,
    /// Elements from the first to the last.
    pub(super) extent: usize,
    // For an output, the matrix it is seen as and the tile in it.
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) row_stride: usize,
    pub(super) tile: [usize; 2],
}

impl OperandInfo {
    fn new(view: &View<'_>, access: Access) -> OperandInfo {
        OperandInfo {
            block: view.buffer.block().clone(),
            id: view.buffer.id(),
            bytes: view.byte_range(),
            access,
            dtype: view.dtype,
            shape: view.shape.clone(),
            strides: view.strides.clone(),
            extent: shape::extent(&view.shape, &view.strides),
            rows: 0,
            cols: 0,
            row_stride: 0,
            tile: [1, 1],
        }
    }

    /// The first element.
    pub(super) fn pointer(&self) -> *mut u8 {
        // SAFETY: the range was computed from a view, which lies in its block.
        unsafe { self.block.pointer().add(self.bytes.start) }
    }
}

/// A launch being put together: the kernel, then its operands in the order in which the kernel numbers them.
///
/// See [`Kernel`] for an example.
#[must_use = "nothing runs before `submit`"]
pub struct Launch<'a, K> {
    kernel: K,
    inputs: Vec<OperandInfo>,
    outputs: Vec<OperandInfo>,
    device: Option<Device>,
    tiles: Option<usize>,
    undeclared: bool,
    error: Option<Error>,
    operands: PhantomData<&'a ()>,
}

impl<'a, K: Kernel> Launch<'a, K> {
    /// A launch of `kernel` without operands yet.
    pub fn new(kernel: K) -> Self {
        Launch {
            kernel,
            inputs: Vec::new(),
            outputs: Vec::new(),
            device: None,
            tiles: None,
            undeclared: false,
            error: None,
            operands: PhantomData,
        }
    }

    /// An operand that is read.
    pub fn input(mut self, x: &'a (impl Operand + ?Sized)) -> Self {
        let view = x.view();
        self.note_device(&view);
        self.inputs.push(OperandInfo::new(&view, Access::Read));
        self
    }

    /// An operand that is overwritten: every element by exactly one tile. It is seen as a matrix, all dimensions but the
    /// last as rows, and cut into pieces of `tile` rows and columns; the piece of tile `i` is the `i`-th in row-major
    /// order. All outputs of a launch must come out at the same number of tiles.
    pub fn output(self, x: &'a mut (impl OperandMut + ?Sized), tile: [usize; 2]) -> Self {
        self.written(x.view_mut(), tile, Access::Write)
    }

    /// An operand that is read and written in place; otherwise as [`output`](Self::output).
    pub fn update(self, x: &'a mut (impl OperandMut + ?Sized), tile: [usize; 2]) -> Self {
        self.written(x.view_mut(), tile, Access::Update)
    }

    fn written(mut self, x: Result<ViewMut<'_>>, tile: [usize; 2], access: Access) -> Self {
        match x {
            Err(error) => self.error = self.error.or(Some(error)),
            Ok(x) => {
                self.note_device(&x.part);
                let mut info = OperandInfo::new(&x.part, access);
                match shape::rows(&info.shape, &info.strides) {
                    Some((rows, cols, row_stride)) => {
                        (info.rows, info.cols, info.row_stride) = (rows, cols, row_stride)
                    }
                    None => self.fail(format!(
                        "an output of shape {:?} with strides {:?} is not a matrix of rows",
                        x.shape(),
                        x.part.strides()
                    )),
                }
                if tile.contains(&0) {
                    self.fail(format!("a tile of {tile:?} is empty: write at least 1 row and 1 column"));
                }
                info.tile = tile.map(|t| t.max(1));
                let tiles = info.rows.div_ceil(info.tile[0]) * info.cols.div_ceil(info.tile[1]);
                if self.tiles.is_some_and(|t| t != tiles) {
                    self.fail(format!(
                        "output {} has {tiles} tiles, those before it {}",
                        self.outputs.len(),
                        self.tiles.unwrap_or(0)
                    ));
                }
                if self.outputs.len() == 64 {
                    self.fail("more than 64 outputs".to_owned());
                }
                self.tiles = Some(tiles);
                self.outputs.push(info);
            }
        }
        self
    }

    /// The number of tiles of a launch that has no output (with outputs it follows from them).
    pub fn tiles(mut self, tiles: usize) -> Self {
        if !self.outputs.is_empty() {
            self.fail("the number of tiles follows from the outputs".to_owned());
        }
        self.tiles = Some(tiles);
        self
    }

    /// Says that the kernel touches device memory that is no operand. Such a launch comes after everything that the plan
    /// of the `#[multicore]` function around it expects on its stream.
    pub fn undeclared(mut self) -> Self {
        self.undeclared = true;
        self
    }

    fn note_device(&mut self, view: &View<'_>) {
        let device = view.buffer.device();
        match &self.device {
            None => self.device = Some(device.clone()),
            Some(first) if first == device => {}
            Some(first) => {
                let error = Error::DeviceMismatch {
                    what: "operands of one launch",
                    left: first.to_string(),
                    right: device.to_string(),
                };
                self.error = self.error.take().or(Some(error));
            }
        }
    }

    fn fail(&mut self, reason: String) {
        let error = Error::Shape { operator: self.kernel.name(), reason };
        self.error = self.error.take().or(Some(error));
    }

    /// Puts the launch on the current stream, under the core limit in force, and returns at once.
    ///
    /// # Errors
    /// What was wrong with the operands; [`Error::DeviceMismatch`] when they are on another device than the current
    /// stream; [`Error::NotEnoughCores`]; [`Error::CalledFromStream`] inside a kernel. What goes wrong *in* the kernel
    /// comes later, to whoever synchronises or uses an output.
    #[track_caller]
    pub fn submit(self) -> Result<()> {
        let Launch { kernel, inputs, outputs, device, tiles, undeclared, error, .. } = self;
        if let Some(error) = error {
            return Err(error);
        }
        let tiles = tiles.unwrap_or(1);
        if tiles == 0 {
            return Ok(());
        }
        let operator = kernel.name();
        let at = Location::caller();
        current::launch(device.as_ref(), |site| {
            let kind = kernel.kind();
            let granted = site.cores.of(kind);
            let needed = kernel.resident_blocks();
            if needed > granted {
                return Err(Error::NotEnoughCores { operator, kind, needed, granted });
            }
            // A modelled chip cuts the work by its own measure; the tiles here are cut for this machine.
            let modelled = site.stream.device().is_modelled().then(|| sim::most_blocks(&kernel.work())).flatten();
            let most = modelled.unwrap_or(u32::try_from(tiles).unwrap_or(u32::MAX));
            let blocks = granted.min(most).max(needed);
            let launched: Arc<Launched> = Arc::new(Launched {
                operator,
                kind,
                at,
                stream: site.stream.slot(),
                blocks,
                tiles,
                undeclared,
                inputs,
                outputs,
                tracing: site
                    .stream
                    .device()
                    .tracing()
                    .map(|_| Tracing { block_line: site.block_line, ..Tracing::default() }),
                next: AtomicUsize::new(0),
                done: AtomicUsize::new(0),
                seats: AtomicU32::new(blocks),
                failed: AtomicBool::new(false),
                failure: Mutex::new(None),
                kernel,
            });
            Ok(site.submit(launched))
        })
    }
}

/// What a traced launch notes beside its numbers.
#[derive(Default)]
pub(crate) struct Tracing {
    /// Nanoseconds since the device was opened, 0 before the start.
    pub(crate) started: std::sync::atomic::AtomicU64,
    /// Its position on the stream.
    pub(crate) position: std::sync::atomic::AtomicU64,
    /// The line of the `stream!` block around the launch.
    pub(crate) block_line: Option<u32>,
}

/// A launch in a stream's queue, shared by the workers that run its tiles.
pub(crate) struct Launched<K: ?Sized = dyn Kernel> {
    pub(crate) operator: &'static str,
    pub(crate) kind: CoreKind,
    pub(crate) at: &'static Location<'static>,
    pub(crate) stream: u32,
    /// How many cores share the tiles.
    pub(crate) blocks: u32,
    tiles: usize,
    /// It touches memory that is no operand.
    pub(crate) undeclared: bool,
    pub(crate) inputs: Vec<OperandInfo>,
    pub(crate) outputs: Vec<OperandInfo>,
    pub(crate) tracing: Option<Tracing>,
    /// The next tile to hand out.
    next: AtomicUsize,
    /// Tiles that are finished.
    done: AtomicUsize,
    /// Workers that may still join: no more than `blocks` ever do.
    seats: AtomicU32,
    failed: AtomicBool,
    failure: Mutex<Option<String>>,
    kernel: K,
}

impl Launched {
    /// What the ledger must know.
    pub(crate) fn touches(&self) -> impl Iterator<Item = Touch<'_>> + Clone {
        let reads = self.inputs.iter().map(|o| Touch { buffer: o.id, bytes: &o.bytes, write: false });
        reads.chain(self.outputs.iter().map(|o| Touch { buffer: o.id, bytes: &o.bytes, write: true }))
    }

    /// Why it must not run: something it reads was never written as it should have been.
    pub(crate) fn poisoned_by(&self) -> Option<Arc<Fault>> {
        let updated = self.outputs.iter().filter(|o| o.access == Access::Update);
        self.inputs.iter().chain(updated).find_map(|o| o.block.poison_of(&o.bytes))
    }

    /// What the author wrote.
    pub(crate) fn kernel(&self) -> &dyn Kernel {
        &self.kernel
    }

    /// All blocks must be there at once.
    pub(crate) fn is_resident(&self) -> bool {
        self.kernel.resident_blocks() > 0
    }

    /// The shapes of the inputs as profiles write them: `4096,7168;7168,256`.
    pub(crate) fn input_shapes(&self) -> String {
        let sizes = |o: &OperandInfo| o.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        self.inputs.iter().map(sizes).collect::<Vec<_>>().join(";")
    }

    /// Takes one of the places for workers; false when `blocks` have joined.
    pub(crate) fn join(&self) -> bool {
        self.seats.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |seats| seats.checked_sub(1)).is_ok()
    }

    /// True when more than one worker can share the tiles.
    pub(crate) fn is_shared(&self) -> bool {
        self.blocks > 1 && self.tiles > 1
    }

    /// How many workers may help the first one.
    pub(crate) fn helpers(&self) -> usize {
        self.tiles.min(self.blocks as usize) - 1
    }

    /// Runs all tiles, one after another.
    ///
    /// # Safety
    /// The ledger's order must hold: everything that this launch waits for is complete, and whatever conflicts with it
    /// comes after its completion. Nobody else runs tiles of the launch.
    pub(crate) unsafe fn run_alone(&self) {
        for index in 0..self.tiles {
            // SAFETY: each index comes once; the rest is this function's contract.
            if unsafe { !self.run_tile(index) } {
                return;
            }
        }
    }

    /// Runs tiles until none is left to hand out. True for the one worker that finished the last tile: it must go on
    /// with the stream.
    ///
    /// # Safety
    /// As for [`run_alone`](Self::run_alone), but that others may call it at the same time.
    pub(crate) unsafe fn run_tiles(&self) -> bool {
        let mut last = false;
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.tiles {
                return last;
            }
            // After a failure the result is not used: the remaining tiles are only counted.
            if !self.failed.load(Ordering::Relaxed) {
                // SAFETY: `index` was handed out once; the rest is this function's contract.
                unsafe { self.run_tile(index) };
            }
            last = self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.tiles;
        }
    }

    /// Runs one tile; false when it failed.
    ///
    /// # Safety
    /// As for [`run_alone`](Self::run_alone), and nobody runs the same tile.
    unsafe fn run_tile(&self, index: usize) -> bool {
        // SAFETY: pieces of different tiles do not overlap; the rest is this function's contract.
        let mut tile = unsafe { Tile::new(index, self.tiles, &self.inputs, &self.outputs) };
        let run = catch_unwind(AssertUnwindSafe(|| current::in_stream(|| self.kernel.tile(&mut tile))));
        let failure = match run {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("panic: {}", panic_message(&*panic)),
        };
        self.failure.lock().get_or_insert(failure);
        self.failed.store(true, Ordering::Relaxed);
        false
    }

    /// To be called once all tiles are done: settles what became of the outputs, and says what went wrong.
    pub(crate) fn settle(&self) -> Option<Arc<Fault>> {
        if !self.failed.load(Ordering::Relaxed) {
            for output in &self.outputs {
                output.block.cleanse(&output.bytes);
            }
            return None;
        }
        let message = self.failure.lock().take().unwrap_or_default();
        let fault = Arc::new(Fault { operator: self.operator, stream: self.stream, launched_at: self.at, message });
        self.poison_outputs(&fault);
        Some(fault)
    }

    /// Drops a worker's handle. The last one drops the author's kernel, which may panic: not on our worker.
    pub(crate) fn release(self: Arc<Self>) {
        // The panic was reported on stderr by the panic hook; there is nobody else to tell.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(self)));
    }

    /// The outputs are unusable because of `fault`.
    pub(crate) fn poison_outputs(&self, fault: &Arc<Fault>) {
        for output in &self.outputs {
            output.block.cleanse(&output.bytes);
            output.block.poison(&output.bytes, fault);
        }
    }
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("of a kind that is no text")
}
