//! Launches that are done, on their way back to the threads that made them.
//!
//! Memory that one thread allocates and another frees makes the two meet in the allocator, at every launch. So workers
//! collect what is done, and the threads that launch drop it; a worker that has nothing else to do drops it as well, so that
//! nothing is kept for long.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::kernel::Launched;

/// How many a worker collects before it hands them over.
const HANDFUL: usize = 32;

#[derive(Default)]
pub(super) struct Retired {
    done: Mutex<Vec<Arc<Launched>>>,
    /// The length of `done`, to be read without the lock.
    count: AtomicUsize,
}

thread_local! {
    /// What this worker has not handed over yet.
    static HANDS: RefCell<Vec<Arc<Launched>>> = const { RefCell::new(Vec::new()) };
}

impl Retired {
    /// Takes a worker's handle of a launch.
    pub(super) fn add(&self, launched: Arc<Launched>) {
        HANDS.with_borrow_mut(|hands| {
            hands.push(launched);
            if hands.len() >= HANDFUL {
                self.take_over(hands);
            }
        });
    }

    /// Hands over what this worker has: it is about to sleep.
    pub(super) fn flush(&self) {
        HANDS.with_borrow_mut(|hands| {
            if !hands.is_empty() {
                self.take_over(hands);
            }
        });
    }

    fn take_over(&self, hands: &mut Vec<Arc<Launched>>) {
        let mut done = self.done.lock();
        done.append(hands);
        self.count.store(done.len(), Ordering::Relaxed);
    }

    /// True when there is enough to be worth the lock.
    pub(super) fn is_many(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= 2 * HANDFUL
    }

    /// Drops what is done.
    pub(super) fn sweep(&self) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let done = {
            let mut done = self.done.lock();
            self.count.store(0, Ordering::Relaxed);
            std::mem::take(&mut *done)
        };
        done.into_iter().for_each(Launched::release);
    }
}
