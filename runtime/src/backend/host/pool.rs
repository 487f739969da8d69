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
const SPINS: u32 = 2000;

/// Something on cache lines of its own: what workers write all the time is not next to what the host reads.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Apart<T>(pub(super) T);

pub(super) struct Pool {
    workers: usize,
    ready: Apart<Mutex<VecDeque<Item>>>,
    /// The length of `ready`, to be read without the lock.
    waiting: Apart<AtomicUsize>,
    /// Workers that are looking for work.
    looking: Apart<AtomicUsize>,
    sleeping: Mutex<Vec<Thread>>,
    sleepers: AtomicUsize,
    /// The device is gone: end when all is done.
    closing: AtomicBool,
}

impl Pool {
    pub(super) fn new(workers: usize) -> Pool {
        Pool {
            workers,
            ready: Apart::default(),
            waiting: Apart::default(),
            looking: Apart::default(),
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

    /// Adds work, and sees to it that somebody takes it.
    pub(super) fn add(&self, item: Item) {
        self.add_quietly(item);
        self.call_a_looker();
    }

    /// Adds work for the calling worker.
    pub(super) fn add_quietly(&self, item: Item) {
        let mut ready = self.ready.0.lock();
        ready.push_back(item);
        self.waiting.0.store(ready.len(), Ordering::SeqCst);
    }

    /// Sees to it that somebody takes what the calling worker does not.
    pub(super) fn call_for_the_rest(&self) {
        if self.waiting.0.load(Ordering::SeqCst) > 1 {
            self.call_a_looker();
        }
    }

    /// Wakes a sleeper unless somebody is looking for work already.
    pub(super) fn call_a_looker(&self) {
        if self.looking.0.load(Ordering::SeqCst) != 0 || self.sleepers.load(Ordering::SeqCst) == 0 {
            return;
        }
        // The sleeper counts as looking from now on, so that nobody wakes a second one while it gets up.
        if self.looking.0.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            match self.pop_sleeper() {
                Some(thread) => thread.unpark(),
                None => self.looking.0.store(0, Ordering::SeqCst),
            }
        }
    }

    fn pop_sleeper(&self) -> Option<Thread> {
        let mut sleeping = self.sleeping.lock();
        let thread = sleeping.pop();
        self.sleepers.store(sleeping.len(), Ordering::SeqCst);
        thread
    }

    fn take(&self, host: &Arc<Host>) -> Option<Item> {
        if self.waiting.0.load(Ordering::SeqCst) == 0 {
            host.inbox.deliver(host);
            if self.waiting.0.load(Ordering::SeqCst) == 0 {
                return None;
            }
        }
        let mut ready = self.ready.0.lock();
        let item = ready.pop_front();
        self.waiting.0.store(ready.len(), Ordering::SeqCst);
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
                Item::Tiles(actor, launched) if launched.join() => actor.run_tiles(host, launched, u64::MAX),
                // Somebody else came first.
                _ => {}
            }
        }
    }

    /// The next thing to do; `None` when the device is gone and all its work is done.
    fn next(&self, host: &Arc<Host>) -> Option<Item> {
        // This worker was called, and counts as looking already.
        let mut called = false;
        loop {
            let mut found = self.take(host);
            // One looks and the others sleep: more would only take the processor from those who have work.
            let looks = || self.looking.0.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok();
            if called || (found.is_none() && looks()) {
                for _ in 0..SPINS {
                    if found.is_some() {
                        break;
                    }
                    std::hint::spin_loop();
                    found = self.take(host);
                }
                self.looking.0.store(0, Ordering::SeqCst);
                if found.is_some() && (self.waiting.0.load(Ordering::SeqCst) != 0 || host.inbox.is_filled()) {
                    self.call_a_looker();
                }
            }
            if found.is_some() {
                return found;
            }
            host.retired.flush();
            host.retired.sweep();
            if self.closing.load(Ordering::SeqCst) && host.is_idle() {
                self.wake_all();
                return None;
            }
            called = self.sleep(host);
        }
    }

    /// Sleeps until called. True when the caller counted this worker as looking.
    fn sleep(&self, host: &Host) -> bool {
        let me = std::thread::current();
        let id = me.id();
        {
            let mut sleeping = self.sleeping.lock();
            sleeping.push(me);
            self.sleepers.store(sleeping.len(), Ordering::SeqCst);
        }
        if self.closing.load(Ordering::SeqCst) {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        } else if !(self.waiting.0.load(Ordering::SeqCst) != 0 || host.inbox.is_filled())
            || self.looking.0.load(Ordering::SeqCst) != 0
        {
            // Work that came before the entry was seen is not slept over, unless somebody looks for it already.
            std::thread::park();
        }
        let mut sleeping = self.sleeping.lock();
        let called = !sleeping.iter().any(|t| t.id() == id);
        sleeping.retain(|t| t.id() != id);
        self.sleepers.store(sleeping.len(), Ordering::SeqCst);
        called && !self.closing.load(Ordering::SeqCst)
    }
}
