//! The ledger: who was ordered before whom. One a device, plain data behind one lock, no threads.
//!
//! Every stream counts what it issued and keeps a vector clock: for each stream, the highest position known to be ordered
//! before its next launch. Every buffer knows its last writes and the reads since. From that, each launch learns which
//! positions it must wait for: exactly those that touch its data and that nothing else ordered before it. Latest first,
//! skipping what the clock already covers: that is the transitive reduction, so no wait is made that another implies.
//!
//! What was *expected* (by the plan of `#[multicore]`) becomes a wait silently; what nobody expected becomes a wait too,
//! and a [`Hazard`]. So a launch never races, whatever was forgotten.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use multicore_timeline::Origin;
use smallvec::SmallVec;

use crate::backend::Backend;
use crate::diagnostic::{Conflict, Diagnostic, Hazard, Launch};
use crate::syncs::{Reason, Syncs, site_of_call};

/// A position on a stream's timeline: everything up to the `position`-th thing issued on the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mark {
    pub(crate) stream: u32,
    pub(crate) position: u64,
}

/// A few positions.
pub(crate) type Marks = SmallVec<[Mark; 2]>;

/// For each stream, the highest position known to be ordered before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(SmallVec<[u64; 8]>);

impl Clock {
    fn get(&self, stream: u32) -> u64 {
        self.0.get(stream as usize).copied().unwrap_or(0)
    }

    fn raise(&mut self, mark: Mark) {
        let i = mark.stream as usize;
        if i >= self.0.len() {
            self.0.resize(i + 1, 0);
        }
        self.0[i] = self.0[i].max(mark.position);
    }

    fn merge(&mut self, other: &Clock) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    pub(crate) fn covers(&self, mark: Mark) -> bool {
        self.get(mark.stream) >= mark.position
    }
}

/// A position to wait for, perhaps on another device.
#[derive(Clone)]
pub(crate) struct Wait {
    pub(crate) mark: Mark,
    /// The device of the position, when it is another one.
    pub(crate) foreign: Option<Arc<dyn Backend>>,
}

/// What a stream's next launch waits for.
pub(crate) type Waits = SmallVec<[Wait; 2]>;

/// How many changes of its clock a stream remembers. Older positions are still ordered right; only what they imply is
/// forgotten, which can cost a wait that was not needed.
const HISTORY: usize = 64;

/// Accesses of one buffer from which on those that the host has seen complete are dropped.
const CROWDED: usize = 32;

#[derive(Default)]
struct StreamClock {
    issued: u64,
    /// Where the plan of a function last recorded an event.
    recorded: u64,
    clock: Clock,
    /// Waits that the next thing issued carries.
    pending: Waits,
    /// The clock changed since the last thing was issued.
    changed: bool,
    /// The clock from a position on, oldest first.
    history: VecDeque<(u64, Clock)>,
}

/// A buffer's number in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferId(u32);

struct Access {
    mark: Mark,
    /// The order of issue over all streams.
    sequence: u64,
    write: bool,
    bytes: Range<usize>,
    /// `None` for a user of the memory before it became this buffer: ordered without a word.
    launch: Option<Launch>,
}

type Accesses = SmallVec<[Access; 2]>;

/// One operand of a launch, as the ledger sees it.
pub(crate) struct Touch<'a> {
    pub(crate) buffer: BufferId,
    pub(crate) bytes: &'a Range<usize>,
    pub(crate) write: bool,
}

/// What the plan of a function asks of a launch.
#[derive(Default)]
pub(crate) struct Needs<'a> {
    /// What it may have to wait for, if it touches the data.
    pub(crate) expected: &'a [Mark],
    /// What it waits for anyway.
    pub(crate) awaited: Marks,
}

/// Counts since the device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Operators launched.
    pub launches: u64,
    /// Events recorded: by hand, by the plan of a `#[multicore]` function, and at its exits. What such a function notes at
    /// its entry is a position and no record.
    pub records: u64,
    /// Waits of one stream for another that were made.
    pub waits: u64,
    /// Waits asked for that the clocks had already covered.
    pub implied_waits: u64,
    /// Conflicts that nobody had ordered, ordered by the runtime; see [`Device::diagnostics`](crate::Device::diagnostics).
    pub hazards: u64,
}

/// The clocks of a device's streams and the accesses of its buffers.
#[derive(Default)]
pub(crate) struct Ledger {
    streams: Vec<StreamClock>,
    host: Clock,
    buffers: Vec<Accesses>,
    free_buffers: Vec<u32>,
    sequence: u64,
    pub(crate) stats: Stats,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) syncs: Syncs,
}

impl Ledger {
    /// Makes room for stream `stream`, which starts after all that the host has seen complete.
    pub(crate) fn open_stream(&mut self, stream: u32) {
        if self.streams.len() <= stream as usize {
            self.streams.resize_with(stream as usize + 1, StreamClock::default);
        }
    }

    /// How many streams there are room for.
    pub(crate) fn stream_count(&self) -> u32 {
        self.streams.len() as u32
    }

    /// The last thing issued on a stream.
    pub(crate) fn last(&self, stream: u32) -> Mark {
        Mark { stream, position: self.streams[stream as usize].issued }
    }

    /// What will be issued next on a stream.
    pub(crate) fn next(&self, stream: u32) -> Mark {
        Mark { stream, position: self.streams[stream as usize].issued + 1 }
    }

    /// True when everything that the next launch of `stream` comes after includes `mark`.
    pub(crate) fn covered(&self, stream: u32, mark: Mark) -> bool {
        mark.stream == stream || self.streams[stream as usize].clock.covers(mark) || self.host.covers(mark)
    }

    /// True when the host has seen `mark` complete.
    pub(crate) fn host_covers(&self, mark: Mark) -> bool {
        self.host.covers(mark)
    }

    /// Everything ordered before `mark`, as far as it is remembered, and `mark` itself.
    fn merge_into(&self, mark: Mark, clock: &mut Clock) {
        let history = &self.streams[mark.stream as usize].history;
        if let Some((_, known)) = history.iter().rev().find(|(from, _)| *from <= mark.position) {
            clock.merge(known);
        }
        clock.raise(mark);
    }

    /// True when what comes after `mark` comes after `other`.
    pub(crate) fn implies(&self, mark: Mark, other: Mark) -> bool {
        if mark.stream == other.stream {
            return mark.position >= other.position;
        }
        let history = &self.streams[mark.stream as usize].history;
        history.iter().rev().find(|(from, _)| *from <= mark.position).is_some_and(|(_, known)| known.covers(other))
    }

    /// The next launch of `stream` comes after `mark`. False when that was known already.
    pub(crate) fn wait(&mut self, stream: u32, mark: Mark) -> bool {
        if mark.position == 0 || self.covered(stream, mark) {
            self.stats.implied_waits += 1;
            return false;
        }
        let mut clock = std::mem::take(&mut self.streams[stream as usize].clock);
        self.merge_into(mark, &mut clock);
        let entry = &mut self.streams[stream as usize];
        entry.clock = clock;
        entry.changed = true;
        // A later position on the same stream makes an earlier one superfluous.
        match entry.pending.iter_mut().find(|w| w.foreign.is_none() && w.mark.stream == mark.stream) {
            Some(pending) => pending.mark = mark,
            None => {
                entry.pending.push(Wait { mark, foreign: None });
                self.stats.waits += 1;
            }
        }
        true
    }

    /// The next launch of `stream` comes after a position on another device.
    pub(crate) fn wait_foreign(&mut self, stream: u32, wait: Wait) {
        self.streams[stream as usize].pending.push(wait);
        self.stats.waits += 1;
    }

    /// A record of a function's plan: all that the next launch of `stream` comes after. Where nothing was issued since the
    /// last one it is the same event, and does not count again.
    pub(crate) fn record(&mut self, stream: u32) -> Marks {
        let entry = &mut self.streams[stream as usize];
        if entry.recorded != entry.issued || !entry.pending.is_empty() {
            entry.recorded = entry.issued;
            self.stats.records += 1;
        }
        self.tail(stream)
    }

    /// True when `stream` has waits for other devices that nothing issued carries yet.
    pub(crate) fn has_pending_foreign(&self, stream: u32) -> bool {
        self.streams[stream as usize].pending.iter().any(|w| w.foreign.is_some())
    }

    /// The number that the next thing issued gets, over all streams.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence + 1
    }

    /// All that the next launch of `stream` comes after: the last thing issued, and the waits that nothing carries yet.
    pub(crate) fn tail(&self, stream: u32) -> Marks {
        let pending = self.streams[stream as usize].pending.iter().filter(|w| w.foreign.is_none()).map(|w| w.mark);
        std::iter::once(self.last(stream)).chain(pending).collect()
    }

    /// Takes the next position of `stream` for something that touches no buffer.
    pub(crate) fn issue(&mut self, stream: u32) -> (Mark, Waits) {
        self.sequence += 1;
        let entry = &mut self.streams[stream as usize];
        entry.issued += 1;
        if std::mem::take(&mut entry.changed) {
            if entry.history.len() == HISTORY {
                entry.history.pop_front();
            }
            entry.history.push_back((entry.issued, entry.clock.clone()));
        }
        (Mark { stream, position: entry.issued }, std::mem::take(&mut entry.pending))
    }

    /// Takes the next position of `stream` for a launch that touches `touches`. What conflicts and is not ordered yet is
    /// waited for; what the plan did not ask for is a hazard as well.
    pub(crate) fn issue_launch<'a>(
        &mut self,
        stream: u32,
        launch: Launch,
        touches: impl Iterator<Item = Touch<'a>> + Clone,
        needs: Needs<'_>,
    ) -> (Mark, Waits) {
        let mut conflicts: SmallVec<[(u64, Mark, Option<Hazard>); 4]> = SmallVec::new();
        for touch in touches.clone() {
            for access in &self.buffers[touch.buffer.0 as usize] {
                if !(touch.write || access.write)
                    || !overlap(touch.bytes, &access.bytes)
                    || self.covered(stream, access.mark)
                {
                    continue;
                }
                let hazard = access.launch.filter(|_| !needs.expected.iter().any(|e| self.implies(*e, access.mark)));
                let hazard = hazard.map(|earlier| Hazard {
                    conflict: Conflict::of(access.write, touch.write),
                    earlier: earlier.on(access.mark.stream),
                    later: launch.on(stream),
                });
                conflicts.push((access.sequence, access.mark, hazard));
            }
        }
        if conflicts.len() > 1 {
            conflicts.sort_unstable_by_key(|(sequence, ..)| std::cmp::Reverse(*sequence));
        }
        for &mark in &needs.awaited {
            let mut others = needs.awaited.iter().chain(conflicts.iter().map(|(_, conflict, _)| conflict));
            // What a wait that is made implies needs none.
            if others.any(|other| *other != mark && self.implies(*other, mark)) {
                self.stats.implied_waits += 1;
            } else if self.wait(stream, mark) && self.syncs.on {
                self.syncs.planned.push((mark, true));
            }
        }
        for (_, mark, hazard) in conflicts {
            if !self.covered(stream, mark) {
                self.wait(stream, mark);
                if self.syncs.on {
                    self.note_conflict(stream, mark, hazard, needs.expected);
                }
                if let Some(hazard) = hazard {
                    self.stats.hazards += 1;
                    self.diagnose(Diagnostic::Hazard(hazard));
                }
            }
        }
        let (mark, waits) = self.issue(stream);
        self.stats.launches += 1;
        let sequence = self.sequence;
        for touch in touches {
            let accesses = &mut self.buffers[touch.buffer.0 as usize];
            // All that a write covers came before it; a read replaces an earlier one of its own stream.
            accesses.retain(|a| {
                !(touch.bytes.start <= a.bytes.start
                    && a.bytes.end <= touch.bytes.end
                    && a.sequence != sequence
                    && (touch.write || (!a.write && a.mark.stream == stream)))
            });
            if accesses.len() >= CROWDED {
                accesses.retain(|a| !self.host.covers(a.mark));
            }
            accesses.push(Access {
                mark,
                sequence,
                write: touch.write,
                bytes: touch.bytes.clone(),
                launch: Some(launch),
            });
        }
        (mark, waits)
    }

    /// Notes why the next launch of `stream` waits for `mark`: a hazard, what the plan expects, or the earlier use of
    /// memory.
    fn note_conflict(&mut self, stream: u32, mark: Mark, hazard: Option<Hazard>, expected: &[Mark]) {
        let carrier = self.next(stream);
        let reason = match hazard {
            Some(Hazard { earlier, later, .. }) => {
                let event = self.syncs.record(mark, Origin::Hazard, Some(site_of_call(earlier.at)));
                Reason { origin: Origin::Hazard, event: Some(event), site: Some(site_of_call(later.at)) }
            }
            None if expected.iter().any(|e| self.implies(*e, mark)) => {
                self.syncs.planned.push((mark, false));
                return;
            }
            None => Reason {
                origin: Origin::Memory,
                event: Some(self.syncs.record(mark, Origin::Memory, None)),
                site: None,
            },
        };
        self.syncs.wait(carrier, Some(mark), reason);
    }

    /// Keeps a diagnostic, and says it once on stderr.
    pub(crate) fn diagnose(&mut self, diagnostic: Diagnostic) {
        diagnostic.report_once(&mut self.diagnostics);
    }

    /// The host has seen `mark` complete, and so everything before it.
    pub(crate) fn completed(&mut self, mark: Mark) {
        if mark.position == 0 || self.host.covers(mark) {
            return;
        }
        let mut host = std::mem::take(&mut self.host);
        self.merge_into(mark, &mut host);
        self.host = host;
    }

    /// What `mark` comes after, by the order of streams and waits alone.
    pub(crate) fn clock_at(&self, mark: Mark) -> Clock {
        let mut clock = Clock::default();
        self.merge_into(mark, &mut clock);
        clock
    }

    /// A new buffer over memory that `users` used before.
    pub(crate) fn open_buffer(&mut self, users: &[Mark], len: usize) -> BufferId {
        let accesses = users
            .iter()
            .map(|&mark| Access { mark, sequence: 0, write: true, bytes: 0..len, launch: None })
            .collect::<Accesses>();
        match self.free_buffers.pop() {
            Some(id) => {
                self.buffers[id as usize] = accesses;
                BufferId(id)
            }
            None => {
                self.buffers.push(accesses);
                BufferId((self.buffers.len() - 1) as u32)
            }
        }
    }

    /// Forgets a buffer and returns the last position of each stream that used it.
    pub(crate) fn close_buffer(&mut self, id: BufferId) -> SmallVec<[Mark; 4]> {
        let mut users: SmallVec<[Mark; 4]> = SmallVec::new();
        for access in std::mem::take(&mut self.buffers[id.0 as usize]) {
            match users.iter_mut().find(|u| u.stream == access.mark.stream) {
                Some(user) => user.position = user.position.max(access.mark.position),
                None => users.push(access.mark),
            }
        }
        self.free_buffers.push(id.0);
        users
    }

    /// The positions that write any of `bytes`, as far as the host has not seen them complete.
    pub(crate) fn writers(&self, id: BufferId, bytes: &Range<usize>) -> SmallVec<[Mark; 4]> {
        let accesses = self.buffers[id.0 as usize].iter();
        accesses.filter(|a| a.write && overlap(&a.bytes, bytes) && !self.host.covers(a.mark)).map(|a| a.mark).collect()
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl Launch {
    pub(crate) fn new(operator: &'static str, at: &'static Location<'static>) -> Launch {
        Launch { operator, stream: 0, at }
    }

    fn on(self, stream: u32) -> Launch {
        Launch { stream, ..self }
    }
}
