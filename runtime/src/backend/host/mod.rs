//! The embedded device in real time: streams as actors on a fixed pool of workers.

mod actor;
mod inbox;
mod pool;
mod retired;
mod timeline;

use std::sync::{Arc, OnceLock};

use actor::{Actor, Help};
use inbox::Inbox;
use pool::{Item, Pool};
use retired::Retired;
use timeline::Waker;

use super::{Backend, Op};
use crate::error::{Error, Result};
use crate::ledger::Mark;
use crate::reports::Reports;

/// The device. Its workers end when it is closed and all work is done.
pub(crate) struct Host {
    streams: Box<[OnceLock<Arc<Actor>>]>,
    inbox: Inbox,
    pool: Pool,
    retired: Retired,
    reports: Arc<Reports>,
}

/// Turns of looking whether a position is reached before the host sleeps.
const SPINS: u32 = 200;

impl Host {
    /// A device of `workers` threads and up to `streams` streams.
    pub(crate) fn open(workers: usize, streams: usize, reports: Arc<Reports>) -> Result<Arc<Host>> {
        let host = Arc::new(Host {
            streams: (0..streams).map(|_| OnceLock::new()).collect(),
            inbox: Inbox::default(),
            pool: Pool::new(workers),
            retired: Retired::default(),
            reports,
        });
        for i in 0..workers {
            let mine = host.clone();
            let thread = std::thread::Builder::new().name(format!("multicore-{i}")).spawn(move || Pool::work(&mine));
            if let Err(error) = thread {
                host.pool.close();
                return Err(Error::DeviceSpec {
                    spec: "host".to_owned(),
                    reason: format!("worker thread {i} of {workers} could not be started: {error}"),
                });
            }
        }
        Ok(host)
    }

    fn actor(&self, stream: u32) -> &Arc<Actor> {
        self.streams[stream as usize].get_or_init(|| Arc::new(Actor::new(stream)))
    }

    fn is_idle(&self) -> bool {
        self.inbox.is_empty() && self.streams.iter().filter_map(OnceLock::get).all(|actor| actor.is_idle())
    }

    fn wake(&self, waker: Waker) {
        match waker {
            Waker::Actor(actor) => {
                if actor.unblock() {
                    self.pool.add(Item::Stream(actor));
                }
            }
            Waker::Call(call) => call(),
        }
    }

    /// Brings `mark` forward on the calling thread. Only what `mark` comes after is run: anything else could keep the
    /// thread longer than it wants to wait. False when there was nothing to do.
    fn help(self: &Arc<Self>, mark: Mark) -> bool {
        self.inbox.deliver(self);
        let mut mark = mark;
        // Waits point to what was issued before, so the chain ends; it is short in any case that matters.
        for _ in 0..16 {
            let actor = self.actor(mark.stream);
            if actor.timeline.reached() >= mark.position {
                return false;
            }
            match actor.help() {
                Help::Run => {
                    actor.clone().run(self, mark.position);
                    self.retired.flush();
                    return true;
                }
                Help::Tiles(launched) => {
                    actor.clone().run_tiles(self, launched, mark.position);
                    self.retired.flush();
                    return true;
                }
                Help::Other(wait) if wait.foreign.is_none() => mark = wait.mark,
                Help::Other(_) | Help::None => return false,
            }
        }
        false
    }
}

impl Backend for Host {
    fn submit(&self, stream: u32, op: Op) {
        self.inbox.post(stream, op);
        self.pool.call_a_looker();
    }

    fn is_untidy(&self) -> bool {
        self.retired.is_many()
    }

    fn tidy(&self) {
        self.retired.sweep();
    }

    fn completed(&self, stream: u32) -> u64 {
        self.streams[stream as usize].get().map_or(0, |actor| actor.timeline.reached())
    }

    fn poll(&self) {}

    fn now(&self) -> u64 {
        self.reports.now()
    }

    fn synchronize(self: Arc<Self>, mark: Mark) -> Result<()> {
        self.retired.sweep();
        let timeline = &self.actor(mark.stream).timeline;
        loop {
            for _ in 0..SPINS {
                if timeline.reached() >= mark.position {
                    return Ok(());
                }
                if self.help(mark) {
                    break;
                }
                std::hint::spin_loop();
            }
            if timeline.reached() >= mark.position {
                return Ok(());
            }
            let thread = std::thread::current();
            timeline.watch(mark.position, Waker::Call(Box::new(move || thread.unpark())));
            while timeline.reached() < mark.position && !self.help(mark) {
                std::thread::park();
            }
        }
    }

    fn close(self: Arc<Self>) {
        self.pool.close();
    }

    fn when_complete(self: Arc<Self>, mark: Mark, wake: Box<dyn FnOnce() + Send>) {
        let timeline = &self.actor(mark.stream).timeline;
        // Called once, by whoever comes first: the timeline, or this thread when the position was reached meanwhile.
        let wake = Arc::new(parking_lot::Mutex::new(Some(wake)));
        let mine = wake.clone();
        let call = move |wake: &parking_lot::Mutex<Option<Box<dyn FnOnce() + Send>>>| {
            let wake = wake.lock().take();
            if let Some(wake) = wake {
                wake();
            }
        };
        timeline.watch(mark.position, Waker::Call(Box::new(move || call(&mine))));
        if timeline.reached() >= mark.position {
            call(&wake);
        }
    }
}
