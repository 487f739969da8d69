//! The workers: one thread a processor, and what is ready for them.
//!
//! A worker without work looks for some a few hundred times, then sleeps. Whoever adds work wakes a sleeper only when
//! nobody is looking already.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;

use parking_lot::Mutex;

use super::Host;
use super::actor::Actor;
use crate::kernel::Launched;

/// Something for a worker.
pub(super) enum Item {
    /// A stream that is ready.
    Stream(Arc<Actor>),
    /// Tiles of a stream's launch.
    Tiles(Arc<Actor>, Arc<Launched>),
}

/// Turns of looking for work before a worker sleeps: about as long as a cache miss or two takes, which is how soon the
/// next operation of a busy program comes.
const SPINS: u32 = 200;

pub(super) struct Pool {
    workers: usize,
    ready: Mutex<VecDeque<Item>>,
    /// The length of `ready`, to be read without the lock.
    waiting: AtomicUsize,
    /// Workers that are looking for work.
    looking: AtomicUsize,
    sleeping: Mutex<Vec<Thread>>,
    sleepers: AtomicUsize,
    /// The device is gone: end when all is done.
    closing: AtomicBool,
}

impl Pool {
    pub(super) fn new(workers: usize) -> Pool {
        Pool {
            workers,
            ready: Mutex::default(),
            waiting: AtomicUsize::new(0),
            looking: AtomicUsize::new(0),
            sleeping: Mutex::default(),
            sleepers: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
        }
    }

    /// Workers beside the calling one.
    pub(super) fn others(&self) -> usize {
        self.workers - 1
    }

    pub(super) fn has_others(&self) -> bool {
        self.workers > 1
    }

    pub(super) fn add(&self, item: Item) {
        {
            let mut ready = self.ready.lock();
            ready.push_back(item);
            self.waiting.store(ready.len(), Ordering::SeqCst);
        }
        if self.looking.load(Ordering::SeqCst) == 0 {
            self.wake_one();
        }
    }

    fn wake_one(&self) {
        if self.sleepers.load(Ordering::SeqCst) != 0
            && let Some(thread) = self.pop_sleeper()
        {
            thread.unpark();
        }
    }

    fn pop_sleeper(&self) -> Option<Thread> {
        let mut sleeping = self.sleeping.lock();
        let thread = sleeping.pop();
        self.sleepers.store(sleeping.len(), Ordering::SeqCst);
        thread
    }

    fn take(&self) -> Option<Item> {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut ready = self.ready.lock();
        let item = ready.pop_front();
        self.waiting.store(ready.len(), Ordering::SeqCst);
        item
    }

    /// No more work will come from the host.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    fn wake_all(&self) {
        while let Some(thread) = self.pop_sleeper() {
            thread.unpark();
        }
    }

    /// A worker's life.
    pub(super) fn work(host: &Arc<Host>) {
        let pool = &host.pool;
        while let Some(item) = pool.next(host) {
            match item {
                Item::Stream(actor) if actor.claim() => actor.run(host, u64::MAX),
                Item::Tiles(actor, launched) if launched.join() => actor.run_tiles(host, launched),
                // Somebody else came first.
                _ => {}
            }
        }
    }

    /// The next thing to do; `None` when the device is gone and all its work is done.
    fn next(&self, host: &Host) -> Option<Item> {
        if let Some(item) = self.take() {
            return Some(item);
        }
        loop {
            self.looking.fetch_add(1, Ordering::SeqCst);
            let mut found = None;
            for _ in 0..SPINS {
                found = self.take();
                if found.is_some() {
                    break;
                }
                std::hint::spin_loop();
            }
            let looking = self.looking.fetch_sub(1, Ordering::SeqCst) - 1;
            if found.is_some() {
                // It was the one that looked: what else there is needs another.
                if looking == 0 && self.waiting.load(Ordering::SeqCst) != 0 {
                    self.wake_one();
                }
                return found;
            }
            host.retired.flush();
            host.retired.sweep();
            if self.closing.load(Ordering::SeqCst) && host.is_idle() {
                self.wake_all();
                return None;
            }
            self.sleep();
        }
    }

    fn sleep(&self) {
        {
            let mut sleeping = self.sleeping.lock();
            sleeping.push(std::thread::current());
            self.sleepers.store(sleeping.len(), Ordering::SeqCst);
        }
        // Work that came before the entry was seen.
        if self.waiting.load(Ordering::SeqCst) == 0 && !self.closing.load(Ordering::SeqCst) {
            std::thread::park();
        } else if self.closing.load(Ordering::SeqCst) {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        let me = std::thread::current().id();
        let mut sleeping = self.sleeping.lock();
        sleeping.retain(|t| t.id() != me);
        self.sleepers.store(sleeping.len(), Ordering::SeqCst);
    }
}
