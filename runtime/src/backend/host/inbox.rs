//! What the host has launched and no worker has seen yet.
//!
//! The host writes in one place, whatever the stream, and workers fetch all of it at once. So the host touches memory that
//! workers touch once a launch at most, and less often the busier they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::Host;
use super::pool::{Apart, Item};
use crate::backend::Op;

type Letters = Vec<(u32, Op)>;

#[derive(Default)]
pub(super) struct Inbox {
    letters: Apart<Mutex<Letters>>,
    /// `letters` has something, to be read without the lock.
    filled: Apart<AtomicBool>,
    /// Whoever holds it delivers; what it holds is the empty buffer to exchange.
    delivering: Mutex<Letters>,
}

impl Inbox {
    /// Adds an operation behind those posted before.
    pub(super) fn post(&self, stream: u32, op: Op) {
        self.letters.0.lock().push((stream, op));
        if !self.filled.0.load(Ordering::Relaxed) {
            self.filled.0.store(true, Ordering::SeqCst);
        }
    }

    pub(super) fn is_filled(&self) -> bool {
        self.filled.0.load(Ordering::SeqCst)
    }

    /// True when nothing is on its way to a stream.
    pub(super) fn is_empty(&self) -> bool {
        // In this order: what is being delivered has left `letters`.
        self.letters.0.lock().is_empty() && self.delivering.try_lock().is_some()
    }

    /// Puts everything into the queues of its streams, in the order of posting.
    pub(super) fn deliver(&self, host: &Arc<Host>) {
        if !self.is_filled() {
            return;
        }
        // One at a time, or a later operation of a stream could overtake an earlier one.
        let mut letters = self.delivering.lock();
        {
            let mut posted = self.letters.0.lock();
            self.filled.0.store(false, Ordering::SeqCst);
            std::mem::swap(&mut *posted, &mut *letters);
        }
        for (stream, op) in letters.drain(..) {
            let actor = host.actor(stream);
            if actor.push(op) {
                host.pool.add_quietly(Item::Stream(actor.clone()));
            }
        }
        drop(letters);
        host.pool.call_for_the_rest();
    }
}
