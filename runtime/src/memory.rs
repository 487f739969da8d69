//! Device memory: blocks, the caching allocator, and buffers.
//!
//! The allocator is stream-ordered: a freed block is given to a stream that is ordered after every user of it, at once and
//! without the host waiting, or to anybody once its users are done. Launches keep their blocks alive, so memory never goes
//! away under a running kernel; the ledger decides who may use it when.

use std::alloc::{self, Layout};
use std::collections::HashMap;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::device::Device;
use crate::dtype::Element;
use crate::error::{Error, Fault, Result};
use crate::ledger::{BufferId, Ledger, Mark};
use crate::stream::Stream;

/// Blocks start on a cache line, which also fits every element type.
const ALIGN: usize = 64;

/// A piece of memory, zeroed when it was made.
pub(crate) struct Block {
    start: NonNull<u8>,
    layout: Layout,
    /// There is no memory: nobody may look.
    dry: bool,
    /// Set when `poison` is not empty, so that the usual case costs one load.
    poisoned: AtomicBool,
    poison: Mutex<Vec<(Range<usize>, Arc<Fault>)>>,
}

// SAFETY: a block is only memory; who may touch which bytes when is decided by the ledger (see `Launched`).
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    fn new(bytes: usize, dry: bool) -> Option<Block> {
        let layout = Layout::from_size_align(bytes.max(ALIGN), ALIGN).ok()?;
        let start = if dry {
            NonNull::dangling()
        } else {
            // SAFETY: the layout is not empty.
            NonNull::new(unsafe { alloc::alloc_zeroed(layout) })?
        };
        Some(Block { start, layout, dry, poisoned: AtomicBool::new(false), poison: Mutex::default() })
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.layout.size()
    }

    /// What made any of `bytes` unusable.
    pub(crate) fn poison_of(&self, bytes: &Range<usize>) -> Option<Arc<Fault>> {
        if !self.poisoned.load(Ordering::Acquire) {
            return None;
        }
        let poison = self.poison.lock();
        poison.iter().find(|(p, _)| p.start < bytes.end && bytes.start < p.end).map(|(_, fault)| fault.clone())
    }

    /// `bytes` were not written as they should have been.
    pub(crate) fn poison(&self, bytes: &Range<usize>, fault: &Arc<Fault>) {
        let mut poison = self.poison.lock();
        poison.push((bytes.clone(), fault.clone()));
        self.poisoned.store(true, Ordering::Release);
    }

    /// `bytes` were written anew: what was wrong with them is gone.
    pub(crate) fn cleanse(&self, bytes: &Range<usize>) {
        if !self.poisoned.load(Ordering::Acquire) {
            return;
        }
        let mut poison = self.poison.lock();
        let parts = std::mem::take(&mut *poison).into_iter().flat_map(|(p, fault)| {
            let before = (p.start..p.end.min(bytes.start), fault.clone());
            let after = (p.start.max(bytes.end)..p.end, fault);
            [before, after]
        });
        *poison = parts.filter(|(part, _)| !part.is_empty()).collect();
        self.poisoned.store(!poison.is_empty(), Ordering::Release);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if !self.dry {
            // SAFETY: `start` was allocated with `layout`.
            unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) }
        }
    }
}

struct Free {
    block: Arc<Block>,
    users: SmallVec<[Mark; 4]>,
}

/// The freed blocks of a device, by size.
pub(crate) struct Pool {
    free: HashMap<usize, Vec<Free>>,
    /// Blocks hold no memory.
    dry: bool,
    capacity: usize,
    in_use: usize,
    cached: usize,
}

/// How many freed blocks of a size are looked at before a new one is made.
const LOOKS: usize = 16;

/// A request that the pool cannot fill now.
pub(crate) enum Refused {
    /// It could when these positions are complete.
    Until(SmallVec<[Mark; 4]>),
    /// There is no memory.
    Exhausted(Error),
}

impl Pool {
    pub(crate) fn new(capacity: usize, dry: bool) -> Pool {
        Pool { free: HashMap::new(), dry, capacity, in_use: 0, cached: 0 }
    }

    /// Block sizes: powers of two up to 1 MiB, whole MiB above.
    fn class(bytes: usize) -> usize {
        const MIB: usize = 1 << 20;
        if bytes <= MIB { bytes.max(ALIGN).next_power_of_two() } else { bytes.next_multiple_of(MIB) }
    }

    /// A block of at least `bytes` whose users `fits` accepts, or a new one; and its users.
    fn take(
        &mut self,
        bytes: usize,
        mut fits: impl FnMut(Mark) -> bool,
        done: impl Fn(Mark) -> bool,
    ) -> Result<Free, Refused> {
        let class = Self::class(bytes);
        if let Some(list) = self.free.get_mut(&class)
            && let Some(i) = list.iter().rev().take(LOOKS).position(|f| f.users.iter().all(|&u| fits(u)))
        {
            let found = list.swap_remove(list.len() - 1 - i);
            self.cached -= class;
            self.in_use += class;
            return Ok(found);
        }
        if self.in_use + self.cached + class > self.capacity {
            self.reclaim(class, &done)?;
        }
        let block = Block::new(class, self.dry).ok_or_else(|| Refused::Exhausted(self.exhausted(bytes)))?;
        self.in_use += class;
        Ok(Free { block: Arc::new(block), users: SmallVec::new() })
    }

    /// Gives freed blocks back until `class` bytes fit, those first whose users are done.
    fn reclaim(&mut self, class: usize, done: &impl Fn(Mark) -> bool) -> Result<(), Refused> {
        let mut waiting: Option<SmallVec<[Mark; 4]>> = None;
        for (size, list) in &mut self.free {
            list.retain(|f| {
                let idle = f.users.iter().all(|&u| done(u));
                if idle {
                    self.cached -= size;
                } else {
                    waiting.get_or_insert_with(|| f.users.clone());
                }
                !idle
            });
        }
        if self.in_use + self.cached + class <= self.capacity {
            return Ok(());
        }
        Err(waiting.map_or_else(|| Refused::Exhausted(self.exhausted(class)), Refused::Until))
    }

    fn exhausted(&self, requested: usize) -> Error {
        Error::OutOfMemory { requested, in_use: self.in_use, capacity: self.capacity }
    }

    fn give_back(&mut self, block: Arc<Block>, users: SmallVec<[Mark; 4]>) {
        let class = block.len();
        self.in_use -= class;
        self.cached += class;
        self.free.entry(class).or_default().push(Free { block, users });
    }

    /// Bytes of living buffers.
    pub(crate) fn in_use(&self) -> usize {
        self.in_use
    }
}

/// Memory of a tensor.
pub(crate) struct Buffer {
    device: Device,
    block: Arc<Block>,
    id: BufferId,
}

impl Buffer {
    /// Memory for `bytes`, to be used first on `stream`.
    pub(crate) fn on_stream(stream: &Stream, bytes: usize) -> Result<Buffer> {
        let device = stream.device();
        Buffer::allocate(device, bytes, |ledger, mark| ledger.covered(stream.slot(), mark) || device.is_done(mark))
    }

    /// Memory that holds `data`.
    pub(crate) fn from_host<T: Element>(device: &Device, data: &[T], bytes: usize) -> Result<Buffer> {
        let buffer = Buffer::allocate(device, bytes, |ledger, mark| ledger.host_covers(mark) || device.is_done(mark))?;
        if buffer.block.dry {
            return Ok(buffer);
        }
        // SAFETY: the block has at least `bytes`, nobody else knows the buffer yet, and all former users are done.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr().cast::<u8>(), buffer.block.pointer(), bytes) };
        buffer.block.cleanse(&(0..buffer.block.len()));
        Ok(buffer)
    }

    fn allocate(device: &Device, bytes: usize, fits: impl Fn(&Ledger, Mark) -> bool) -> Result<Buffer> {
        loop {
            let taken = {
                let books = &mut *device.books();
                let taken = books.pool.take(bytes, |mark| fits(&books.ledger, mark), |mark| device.is_done(mark));
                taken.map(|Free { block, mut users }| {
                    users.retain(|mark| !device.is_done(*mark));
                    let id = books.ledger.open_buffer(&users, block.len());
                    Buffer { device: device.clone(), block, id }
                })
            };
            match taken {
                Ok(buffer) => return Ok(buffer),
                Err(Refused::Exhausted(error)) => return Err(error),
                // The lock is not held here: the waiting is for work that may need it.
                Err(Refused::Until(marks)) => {
                    for mark in marks {
                        device.wait_on_host("allocate", mark)?;
                    }
                }
            }
        }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn block(&self) -> &Arc<Block> {
        &self.block
    }

    pub(crate) fn id(&self) -> BufferId {
        self.id
    }

    /// Lends the elements in `bytes` to `f`, after everything that writes them.
    pub(crate) fn read<T: Element, R>(&self, bytes: Range<usize>, f: impl FnOnce(&[T]) -> R) -> Result<R> {
        if bytes.is_empty() {
            return Ok(f(&[]));
        }
        if self.block.dry {
            return Err(Error::Dry { call: "to_vec", device: self.device.spec().to_owned() });
        }
        let writers = self.device.books().ledger.writers(self.id, &bytes);
        for mark in writers {
            self.device.wait_on_host("to_vec", mark)?;
        }
        if let Some(fault) = self.block.poison_of(&bytes) {
            return Err(Error::Kernel(fault));
        }
        // SAFETY: the range lies in the block, is aligned to `T` (whole elements from an aligned start) and initialised;
        // all its writers are complete, and nobody can launch another one while `self` is borrowed: writing needs the
        // only handle of the buffer, or a `ViewMut` of these bytes.
        let data = unsafe {
            std::slice::from_raw_parts(self.block.pointer().add(bytes.start).cast::<T>(), bytes.len() / size_of::<T>())
        };
        Ok(f(data))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut books = self.device.books();
        let users = books.ledger.close_buffer(self.id);
        books.pool.give_back(self.block.clone(), users);
    }
}
