//! A stream's timeline: the position it has reached, and who waits for which.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::actor::Actor;

/// Who is told when a position is reached.
pub(super) enum Waker {
    /// A stream of the same device.
    Actor(Arc<Actor>),
    /// Anybody else.
    Call(Box<dyn FnOnce() + Send>),
}

/// Recording an event on it costs nothing: an event is a position.
#[derive(Default)]
pub(super) struct Timeline {
    reached: AtomicU64,
    /// How many wait, so that reaching a position that nobody waits for takes no lock.
    watchers: AtomicUsize,
    waiting: Mutex<Vec<(u64, Waker)>>,
}

impl Timeline {
    pub(super) fn reached(&self) -> u64 {
        self.reached.load(Ordering::SeqCst)
    }

    /// Moves on to `position` and returns those who waited for it.
    pub(super) fn advance(&self, position: u64) -> SmallVec<[Waker; 4]> {
        // Pairs with `watch`: either the watcher sees the new position, or its entry is seen here.
        self.reached.store(position, Ordering::SeqCst);
        let mut woken = SmallVec::new();
        if self.watchers.load(Ordering::SeqCst) != 0 {
            let mut waiting = self.waiting.lock();
            let mut i = 0;
            while i < waiting.len() {
                if waiting[i].0 <= position {
                    woken.push(waiting.swap_remove(i).1);
                } else {
                    i += 1;
                }
            }
            self.watchers.store(waiting.len(), Ordering::SeqCst);
        }
        woken
    }

    /// Has `waker` told at `position`. The caller must look at [`reached`](Self::reached) once more afterwards: the
    /// position may have been reached meanwhile without `waker` being seen.
    pub(super) fn watch(&self, position: u64, waker: Waker) {
        let mut waiting = self.waiting.lock();
        waiting.push((position, waker));
        self.watchers.store(waiting.len(), Ordering::SeqCst);
    }
}
