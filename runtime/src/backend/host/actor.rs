//! A stream as an actor: a queue that whoever is free runs to completion, never a thread that blocks.
//!
//! A stream is *idle* (its queue is empty), *ready* (it waits for a worker), *running*, or *blocked* (its next operation
//! waits for a position of another stream, which will make it ready). What follows an operation on the same stream runs at
//! once on the same worker; a stream that must wait leaves its worker.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Host;
use super::pool::Item;
use super::timeline::{Timeline, Waker};
use crate::backend::{Callback, Op, Work};
use crate::current;
use crate::error::Fault;
use crate::kernel::{Launched, panic_message};
use crate::ledger::{Mark, Wait};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Ready,
    Running,
    Blocked,
}

/// What the host and other streams touch.
struct Queue {
    ops: VecDeque<Op>,
    state: State,
}

/// A stream of the embedded device.
pub(crate) struct Actor {
    stream: u32,
    queue: Mutex<Queue>,
    /// Operations taken out of the queue; only whoever runs the stream touches them.
    batch: Mutex<VecDeque<Op>>,
    /// The launch whose tiles several workers share at the moment.
    shared: Mutex<Option<Arc<Launched>>>,
    pub(super) timeline: Timeline,
}

/// How a thread that waits for a stream can help it.
pub(super) enum Help {
    /// Run it: it was ready, and is marked running now.
    Run,
    /// Run tiles of its launch.
    Tiles(Arc<Launched>),
    /// Help the stream that it waits for.
    Other(Wait),
    /// Somebody else is at it.
    None,
}

impl Actor {
    pub(super) fn new(stream: u32) -> Actor {
        Actor {
            stream,
            queue: Mutex::new(Queue { ops: VecDeque::new(), state: State::Idle }),
            batch: Mutex::default(),
            shared: Mutex::default(),
            timeline: Timeline::default(),
        }
    }

    /// Queues an operation; true when the stream was idle and must be given to a worker.
    pub(super) fn push(&self, op: Op) -> bool {
        let mut queue = self.queue.lock();
        queue.ops.push_back(op);
        let idle = queue.state == State::Idle;
        if idle {
            queue.state = State::Ready;
        }
        idle
    }

    fn change(&self, from: State, to: State) -> bool {
        let mut queue = self.queue.lock();
        let changed = queue.state == from;
        if changed {
            queue.state = to;
        }
        changed
    }

    /// Marks a ready stream as running; false when somebody else did.
    pub(super) fn claim(&self) -> bool {
        self.change(State::Ready, State::Running)
    }

    /// A position it waited for was reached; true when it must be given to a worker.
    pub(super) fn unblock(&self) -> bool {
        self.change(State::Blocked, State::Ready)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.lock().state == State::Idle
    }

    /// How the calling thread can bring the stream forward.
    pub(super) fn help(&self) -> Help {
        let state = self.queue.lock().state;
        match state {
            State::Ready if self.claim() => Help::Run,
            State::Running => match self.shared.lock().clone() {
                Some(launched) if launched.join() => Help::Tiles(launched),
                _ => Help::None,
            },
            State::Blocked => {
                let next = self.batch.try_lock().and_then(|b| b.front().and_then(|op| op.waits.last().cloned()));
                next.map_or(Help::None, Help::Other)
            }
            _ => Help::None,
        }
    }

    /// Runs the stream, which the caller has marked running, until it is idle, blocked, left to other workers or past
    /// `until`.
    pub(super) fn run(self: &Arc<Self>, host: &Arc<Host>, until: u64) {
        let mut batch = self.batch.lock();
        loop {
            let Some(op) = batch.front_mut() else {
                let mut queue = self.queue.lock();
                if queue.ops.is_empty() {
                    queue.state = State::Idle;
                    return;
                }
                std::mem::swap(&mut queue.ops, &mut *batch);
                continue;
            };
            if self.timeline.reached() >= until {
                self.queue.lock().state = State::Ready;
                drop(batch);
                host.pool.add(Item::Stream(self.clone()));
                return;
            }
            while let Some(wait) = op.waits.last() {
                if !self.pass(host, wait) {
                    return;
                }
                op.waits.pop();
            }
            let Some(Op { work, .. }) = batch.pop_front() else {
                continue;
            };
            match work {
                Work::Nothing => {}
                Work::Stamp(stamp) => stamp.set(host.reports.now()),
                Work::Callback(callback) => self.call(host, callback),
                Work::Launch(launched) if launched.is_shared() && host.pool.has_others() => {
                    // Whoever finishes the last tile goes on with the stream, and needs the batch.
                    drop(batch);
                    if !self.launch_shared(host, launched) {
                        return;
                    }
                    batch = self.batch.lock();
                    continue;
                }
                Work::Launch(launched) => self.launch(host, launched),
            }
            self.advance(host);
        }
    }

    /// True when `wait` is over. Otherwise the stream is blocked, and will be made ready.
    fn pass(self: &Arc<Self>, host: &Arc<Host>, wait: &Wait) -> bool {
        let Mark { stream, position } = wait.mark;
        if let Some(foreign) = &wait.foreign {
            if foreign.completed(stream) >= position {
                return true;
            }
            self.queue.lock().state = State::Blocked;
            let (me, host) = (self.clone(), host.clone());
            let wake = Box::new(move || host.wake(Waker::Actor(me)));
            foreign.clone().when_complete(wait.mark, wake);
            return false;
        }
        let timeline = &host.actor(stream).timeline;
        if timeline.reached() >= position {
            return true;
        }
        self.queue.lock().state = State::Blocked;
        timeline.watch(position, Waker::Actor(self.clone()));
        // Reached meanwhile: go on, unless the waker was seen and somebody else does.
        timeline.reached() >= position && self.change(State::Blocked, State::Running)
    }

    /// Starts a launch. False when what it should have read does not exist: then it does not run, its outputs are
    /// unusable, and so what depends on it does not run either.
    fn begin(&self, host: &Host, launched: &Launched) -> bool {
        if let Some(fault) = launched.poisoned_by() {
            launched.poison_outputs(&fault);
            return false;
        }
        host.reports.started(launched, || host.reports.now());
        true
    }

    /// Runs a launch on this worker alone.
    fn launch(&self, host: &Host, launched: Arc<Launched>) {
        if self.begin(host, &launched) {
            // SAFETY: the waits of the operation are over and the stream is in order, which is what the ledger made sure
            // is enough.
            unsafe { launched.run_alone() };
            self.settle(host, &launched);
        }
        host.retired.add(launched);
    }

    /// Runs a launch whose tiles other workers may share. False when they are still at it; one of them will go on with
    /// the stream.
    fn launch_shared(self: &Arc<Self>, host: &Arc<Host>, launched: Arc<Launched>) -> bool {
        if !self.begin(host, &launched) {
            self.advance(host);
            host.retired.add(launched);
            return true;
        }
        launched.join();
        *self.shared.lock() = Some(launched.clone());
        for _ in 0..launched.helpers().min(host.pool.others()) {
            host.pool.add(Item::Tiles(self.clone(), launched.clone()));
        }
        // SAFETY: as in `launch`.
        let last = unsafe { launched.run_tiles() };
        if last {
            self.finish_shared(host, &launched);
        }
        host.retired.add(launched);
        last
    }

    /// Helps with the tiles of a launch that was joined, and goes on with the stream when it finished the last one.
    pub(super) fn run_tiles(self: &Arc<Self>, host: &Arc<Host>, launched: Arc<Launched>, until: u64) {
        // SAFETY: the launch was started by whoever runs the stream, after its waits.
        let last = unsafe { launched.run_tiles() };
        if last {
            self.finish_shared(host, &launched);
        }
        host.retired.add(launched);
        if last {
            self.run(host, until);
        }
    }

    fn finish_shared(self: &Arc<Self>, host: &Arc<Host>, launched: &Launched) {
        *self.shared.lock() = None;
        self.settle(host, launched);
        self.advance(host);
    }

    fn settle(&self, host: &Host, launched: &Launched) {
        let fault = launched.settle();
        host.reports.finished(launched, || host.reports.now());
        if let Some(fault) = fault {
            host.reports.failed(fault, self.next());
        }
    }

    fn call(&self, host: &Host, callback: Callback) {
        let run = std::panic::AssertUnwindSafe(|| current::in_stream(callback.run));
        let message = match std::panic::catch_unwind(run) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("panic: {}", panic_message(&*panic)),
        };
        let fault: Fault = (callback.fault)(message);
        host.reports.failed(Arc::new(fault), self.next());
    }

    /// The position of what is running.
    fn next(&self) -> Mark {
        Mark { stream: self.stream, position: self.timeline.reached() + 1 }
    }

    fn advance(&self, host: &Arc<Host>) {
        for waker in self.timeline.advance(self.timeline.reached() + 1) {
            host.wake(waker);
        }
    }
}
