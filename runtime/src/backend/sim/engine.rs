//! The events of a modelled device, one after another: what starts when, how fast it goes, when it ends.
//!
//! In: streams of jobs, each with the time at which the host issued it and the positions of other streams that it waits
//! for. Out: a call at the start and at the end of each, in the order of their times.
//!
//! The rules:
//! * A stream runs one job at a time, in order.
//! * A job starts when its stream comes to it, the host has issued it, what it waits for is done and there is a core for
//!   it. Who was issued first chooses first; who cannot start yet lets others pass.
//! * Cores are exclusive. A job takes as many as it wants and are free, and takes more when more become free. One that
//!   needs all its blocks at once takes all or none.
//! * Jobs of one meeting (the ranks of a collective) hold their cores from their start and go on together once the last
//!   one has started.
//! * What runs beside each other shares pipes ([`share`]), and is slowed a little by a neighbour that moves much data.
//!
//! Guaranteed: the same calls give the same times, to the picosecond; a circle of jobs that wait for each other is found
//! and told, never waited in.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};

use smallvec::SmallVec;

use super::share::{Demands, share};
use crate::ledger::Mark;
use crate::limit::Cores;
use crate::sim::Meeting;

/// Time in picoseconds since the device was opened.
pub(crate) type Ps = u64;

/// What a job needs to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) device: u32,
    /// Cores that it uses if it gets them.
    pub(crate) cores: Cores,
    /// All of them at once, or it does not start.
    pub(crate) resident: bool,
    pub(crate) meeting: Option<Meeting>,
}

/// How long a job takes on some cores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    /// Before any data moves.
    pub(crate) head: Ps,
    /// The rest, when it gets all it demands.
    pub(crate) work: Ps,
    pub(crate) demands: Demands,
    /// It moves so much data that its neighbours feel it.
    pub(crate) heavy: bool,
}

/// Something in a stream's queue.
pub(crate) trait Job {
    /// What it needs; `None` for what takes neither cores nor time.
    fn ask(&self) -> Option<Ask>;

    /// How long it takes on `cores`.
    fn body(&self, cores: Cores) -> Body;
}

/// Who hears what happens.
pub(crate) trait Watch<J> {
    fn start(&mut self, now: Ps, at: Mark, job: &mut J);
    fn end(&mut self, now: Ps, at: Mark, job: J);
}

struct Queued<J> {
    sequence: u64,
    issued: Ps,
    waits: SmallVec<[Mark; 2]>,
    job: J,
}

struct Stream<J> {
    queue: VecDeque<Queued<J>>,
    reached: u64,
    /// Its first job runs.
    running: bool,
    /// Streams whose first job waits for a position of this one.
    watchers: Vec<(u64, u32)>,
}

impl<J> Default for Stream<J> {
    fn default() -> Self {
        Stream { queue: VecDeque::new(), reached: 0, running: false, watchers: Vec::new() }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// The others of its meeting have not started yet.
    Meeting,
    Head {
        end: Ps,
    },
    /// `left` at speed 1 from `since` on.
    Body {
        since: Ps,
        left: f64,
        speed: f64,
        end: Ps,
    },
}

struct Run {
    sequence: u64,
    stream: u32,
    ask: Ask,
    cores: Cores,
    body: Body,
    phase: Phase,
}

impl Run {
    fn end(&self) -> Option<Ps> {
        match self.phase {
            Phase::Meeting => None,
            Phase::Head { end } | Phase::Body { end, .. } => Some(end),
        }
    }
}

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// Until a position is reached.
    Mark(Mark),
    /// Until a time, inclusive.
    Time(Ps),
    /// Until nothing is left.
    Idle,
}

/// Why it stopped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stop {
    /// The goal is reached.
    Reached,
    /// Nothing can happen before the host issues more.
    Starved,
    /// These wait for each other, each for the next, the last for the first.
    Circle(Vec<Stuck>),
}

/// A job in a circle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stuck {
    pub(crate) at: Mark,
    pub(crate) why: Why,
}

/// What a job in a circle waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Why {
    /// Cores that the next one holds.
    Cores { wants: Cores, free: Cores },
    /// The next one, which belongs to its meeting or comes before such a one on its stream.
    Meeting,
    /// The next one, by an event.
    Event,
}

/// A modelled device, or several that share a clock.
pub(crate) struct Engine<J> {
    now: Ps,
    sequence: u64,
    streams: Vec<Stream<J>>,
    free: Vec<Cores>,
    pipes: Vec<f64>,
    /// How much longer something takes beside a heavy neighbour.
    interference: f64,
    /// Streams whose first job wants cores, by the order of issue.
    ready: BTreeSet<(u64, u32)>,
    /// First jobs that the host has not issued yet.
    later: BinaryHeap<Reverse<(Ps, u64, u32)>>,
    running: Vec<Run>,
    /// Ranks that have started, for each meeting.
    meetings: HashMap<Meeting, u32>,
    speeds: Vec<f64>,
}

impl<J: Job> Engine<J> {
    /// Devices with `chips` cores and pipes of these capacities, in bytes a nanosecond.
    pub(crate) fn new(chips: Vec<Cores>, pipes: Vec<f64>, interference: f64) -> Engine<J> {
        Engine {
            now: 0,
            sequence: 0,
            streams: Vec::new(),
            free: chips,
            pipes,
            interference,
            ready: BTreeSet::new(),
            later: BinaryHeap::new(),
            running: Vec::new(),
            meetings: HashMap::new(),
            speeds: Vec::new(),
        }
    }

    pub(crate) fn now(&self) -> Ps {
        self.now
    }

    /// The highest position of a stream that is done.
    pub(crate) fn reached(&self, stream: u32) -> u64 {
        self.streams.get(stream as usize).map_or(0, |s| s.reached)
    }

    /// Puts a job at the end of a stream.
    pub(crate) fn push(&mut self, stream: u32, issued: Ps, waits: impl IntoIterator<Item = Mark>, job: J) {
        let index = stream as usize;
        if self.streams.len() <= index {
            self.streams.resize_with(index + 1, Stream::default);
        }
        self.sequence += 1;
        let waits = waits.into_iter().collect();
        let queue = &mut self.streams[index].queue;
        queue.push_back(Queued { sequence: self.sequence, issued, waits, job });
        if queue.len() == 1 {
            self.consider(stream);
        }
    }

    /// Goes on until `goal`.
    pub(crate) fn advance(&mut self, goal: Goal, watch: &mut impl Watch<J>) -> Stop {
        loop {
            self.start_all(goal, watch);
            if self.is_reached(goal) {
                return Stop::Reached;
            }
            let Some(next) = self.next_event() else {
                if let Goal::Time(time) = goal {
                    self.now = self.now.max(time);
                    return Stop::Reached;
                }
                return match (goal, self.circle()) {
                    (_, Some(circle)) => Stop::Circle(circle),
                    (Goal::Idle, None) if self.is_idle() => Stop::Reached,
                    _ => Stop::Starved,
                };
            };
            if let Goal::Time(time) = goal
                && next > time
            {
                self.now = self.now.max(time);
                return Stop::Reached;
            }
            self.now = self.now.max(next);
            self.end_all(watch);
            while let Some(&Reverse((issued, _, stream))) = self.later.peek()
                && issued <= self.now
            {
                self.later.pop();
                self.consider(stream);
            }
        }
    }

    fn is_reached(&self, goal: Goal) -> bool {
        matches!(goal, Goal::Mark(mark) if self.reached(mark.stream) >= mark.position)
    }

    fn next_event(&self) -> Option<Ps> {
        let ends = self.running.iter().filter_map(Run::end).min();
        let issued = self.later.peek().map(|Reverse((issued, ..))| *issued);
        ends.into_iter().chain(issued).min()
    }

    /// Finds out what the first job of a stream waits for.
    fn consider(&mut self, stream: u32) {
        let Some((sequence, issued)) = self.streams[stream as usize].queue.front().map(|q| (q.sequence, q.issued))
        else {
            return;
        };
        if issued > self.now {
            self.later.push(Reverse((issued, sequence, stream)));
            return;
        }
        while let Some(&wait) = self.streams[stream as usize].queue.front().and_then(|q| q.waits.last()) {
            if self.reached(wait.stream) < wait.position {
                let index = wait.stream as usize;
                if self.streams.len() <= index {
                    self.streams.resize_with(index + 1, Stream::default);
                }
                self.streams[index].watchers.push((wait.position, stream));
                return;
            }
            if let Some(first) = self.streams[stream as usize].queue.front_mut() {
                first.waits.pop();
            }
        }
        self.ready.insert((sequence, stream));
    }

    /// Starts whatever can start now; then whoever wants more cores gets what is left.
    fn start_all(&mut self, goal: Goal, watch: &mut impl Watch<J>) {
        let mut changed = false;
        while let Some((sequence, stream)) = self.ready.iter().copied().find(|&(_, stream)| self.can_start(stream)) {
            self.ready.remove(&(sequence, stream));
            changed |= self.start(sequence, stream, watch);
            if self.is_reached(goal) {
                break;
            }
        }
        if self.grow() || changed {
            self.settle();
        }
    }

    fn ask_of(&self, stream: u32) -> Option<Ask> {
        self.streams[stream as usize].queue.front().and_then(|q| q.job.ask())
    }

    fn can_start(&self, stream: u32) -> bool {
        self.ask_of(stream).is_none_or(|ask| self.granted(&ask).is_some())
    }

    /// The cores that a job would get now; `None` if it cannot start.
    fn granted(&self, ask: &Ask) -> Option<Cores> {
        let got = ask.cores.min(self.free[ask.device as usize]);
        let all = got == ask.cores;
        let some = (got.cube > 0 || ask.cores.cube == 0) && (got.vector > 0 || ask.cores.vector == 0);
        (all || (some && !ask.resident)).then_some(got)
    }

    /// True when something runs that did not before.
    fn start(&mut self, sequence: u64, stream: u32, watch: &mut impl Watch<J>) -> bool {
        let ask = self.ask_of(stream);
        let now = self.now;
        let entry = &mut self.streams[stream as usize];
        let at = Mark { stream, position: entry.reached + 1 };
        let Some(first) = entry.queue.front_mut() else { return false };
        watch.start(now, at, &mut first.job);
        let Some(ask) = ask else {
            self.finish(stream, watch);
            return false;
        };
        entry.running = true;
        let cores = ask.cores.min(self.free[ask.device as usize]);
        let body = first.job.body(cores);
        let free = &mut self.free[ask.device as usize];
        *free = free.minus(cores);
        let phase = if ask.meeting.is_some() { Phase::Meeting } else { Phase::Head { end: now + body.head } };
        self.running.push(Run { sequence, stream, ask, cores, body, phase });
        if let Some(meeting) = ask.meeting {
            self.meet(meeting);
        }
        true
    }

    /// One more of a meeting has started; the last one lets all go on.
    fn meet(&mut self, meeting: Meeting) {
        let started = self.meetings.entry(meeting).or_default();
        *started += 1;
        if *started < meeting.ranks {
            return;
        }
        self.meetings.remove(&meeting);
        for run in self.running.iter_mut().filter(|run| run.ask.meeting == Some(meeting)) {
            run.phase = Phase::Head { end: self.now + run.body.head };
        }
    }

    /// Whoever has fewer cores than it wants gets what is free, first issued first. True when somebody did.
    fn grow(&mut self) -> bool {
        let mut grown = false;
        let mut short: SmallVec<[(u64, usize); 8]> = (0..self.running.len())
            .filter(|&i| self.running[i].cores != self.running[i].ask.cores)
            .map(|i| (self.running[i].sequence, i))
            .collect();
        short.sort_unstable();
        for (_, i) in short {
            let run = &mut self.running[i];
            let free = &mut self.free[run.ask.device as usize];
            let more = run.ask.cores.minus(run.cores).min(*free);
            if more == Cores::ZERO {
                continue;
            }
            *free = free.minus(more);
            run.cores = run.cores.plus(more);
            let Some(first) = self.streams[run.stream as usize].queue.front() else { continue };
            let body = first.job.body(run.cores);
            if let Phase::Body { since, left, speed, end: _ } = run.phase {
                let left = left - (self.now - since) as f64 * speed;
                let share = if run.body.work == 0 { 0.0 } else { left / run.body.work as f64 };
                // Speed 0 makes `settle` work out the end anew.
                run.phase = Phase::Body { since: self.now, left: share * body.work as f64, speed: 0.0, end: Ps::MAX };
            }
            run.body = body;
            grown = true;
        }
        grown
    }

    /// Works out how fast everything goes now, and when it ends.
    fn settle(&mut self) {
        let now = self.now;
        let moving: SmallVec<[usize; 16]> =
            (0..self.running.len()).filter(|&i| matches!(self.running[i].phase, Phase::Body { .. })).collect();
        let demands: SmallVec<[&Demands; 16]> = moving.iter().map(|&i| &self.running[i].body.demands).collect();
        share(&self.pipes, &demands, &mut self.speeds);
        drop(demands);
        for (n, &i) in moving.iter().enumerate() {
            let device = self.running[i].ask.device;
            let crowded =
                moving.iter().any(|&j| j != i && self.running[j].ask.device == device && self.running[j].body.heavy);
            if crowded {
                self.speeds[n] /= self.interference;
            }
        }
        for (n, &i) in moving.iter().enumerate() {
            if let Phase::Body { since, left, speed, .. } = self.running[i].phase
                && speed != self.speeds[n]
            {
                let left = (left - (now - since) as f64 * speed).max(0.0);
                let speed = self.speeds[n];
                let end = now + (left / speed).ceil() as Ps;
                self.running[i].phase = Phase::Body { since: now, left, speed, end };
            }
        }
    }

    /// What ends now makes room.
    fn end_all(&mut self, watch: &mut impl Watch<J>) {
        let mut changed = false;
        let mut i = 0;
        while i < self.running.len() {
            if self.running[i].end().is_none_or(|end| end > self.now) {
                i += 1;
                continue;
            }
            changed = true;
            let run = &mut self.running[i];
            if let Phase::Head { .. } = run.phase
                && run.body.work > 0
            {
                run.phase = Phase::Body { since: self.now, left: run.body.work as f64, speed: 0.0, end: Ps::MAX };
                i += 1;
                continue;
            }
            let run = self.running.remove(i);
            let free = &mut self.free[run.ask.device as usize];
            *free = free.plus(run.cores);
            self.streams[run.stream as usize].running = false;
            self.finish(run.stream, watch);
        }
        if changed {
            self.settle();
        }
    }

    /// The first job of a stream is done.
    fn finish(&mut self, stream: u32, watch: &mut impl Watch<J>) {
        let entry = &mut self.streams[stream as usize];
        let Some(first) = entry.queue.pop_front() else { return };
        entry.reached += 1;
        let reached = entry.reached;
        watch.end(self.now, Mark { stream, position: reached }, first.job);
        let mut woken: SmallVec<[u32; 4]> = SmallVec::new();
        self.streams[stream as usize].watchers.retain(|&(position, who)| {
            let done = position <= reached;
            if done {
                woken.push(who);
            }
            !done
        });
        self.consider(stream);
        woken.into_iter().for_each(|who| self.consider(who));
    }

    /// Looks for jobs that wait for each other.
    fn circle(&self) -> Option<Vec<Stuck>> {
        for start in 0..self.streams.len() as u32 {
            let mut path: Vec<(u32, Why)> = Vec::new();
            if let Some(circle) = self.follow(start, &mut path, &mut vec![false; self.streams.len()]) {
                let stuck = |&(stream, why): &(u32, Why)| {
                    let position = self.reached(stream) + 1;
                    Stuck { at: Mark { stream, position }, why }
                };
                return Some(circle.iter().map(stuck).collect());
            }
        }
        None
    }

    /// Depth first from the first job of `stream`, along what keeps it from going on.
    fn follow(&self, stream: u32, path: &mut Vec<(u32, Why)>, seen: &mut [bool]) -> Option<Vec<(u32, Why)>> {
        if let Some(from) = path.iter().position(|(s, _)| *s == stream) {
            return Some(path[from..].to_vec());
        }
        if std::mem::replace(&mut seen[stream as usize], true) {
            return None;
        }
        for (next, why) in self.blockers(stream) {
            path.push((stream, why));
            let found = self.follow(next, path, seen);
            path.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The streams whose first jobs keep the first job of `stream` from going on.
    fn blockers(&self, stream: u32) -> Vec<(u32, Why)> {
        let entry = &self.streams[stream as usize];
        let Some(first) = entry.queue.front() else { return Vec::new() };
        if entry.running {
            let Some(meeting) = self.ask_of(stream).and_then(|ask| ask.meeting) else { return Vec::new() };
            return self.absent(meeting).map(|s| (s, Why::Meeting)).collect();
        }
        if let Some(wait) = first.waits.last() {
            return vec![(wait.stream, Why::Event)];
        }
        let Some(ask) = self.ask_of(stream) else { return Vec::new() };
        let free = self.free[ask.device as usize];
        let why = Why::Cores { wants: ask.cores, free };
        let holders = self.running.iter().filter(|run| {
            run.ask.device == ask.device
                && ((ask.cores.cube > free.cube && run.cores.cube > 0)
                    || (ask.cores.vector > free.vector && run.cores.vector > 0))
        });
        holders.map(|run| (run.stream, why)).collect()
    }

    /// The streams on which a job of the meeting is queued and has not started.
    fn absent(&self, meeting: Meeting) -> impl Iterator<Item = u32> + '_ {
        (0..self.streams.len() as u32).filter(move |&s| {
            let entry = &self.streams[s as usize];
            let skip = usize::from(entry.running);
            entry.queue.iter().skip(skip).any(|q| q.job.ask().and_then(|ask| ask.meeting) == Some(meeting))
        })
    }

    /// The jobs that wait for others of their meetings.
    pub(crate) fn meeting(&self) -> impl Iterator<Item = Stuck> + '_ {
        let waiting = self.running.iter().filter(|run| run.phase == Phase::Meeting);
        waiting.map(|run| {
            let position = self.reached(run.stream) + 1;
            Stuck { at: Mark { stream: run.stream, position }, why: Why::Meeting }
        })
    }

    /// The first job of a stream.
    pub(crate) fn first(&self, stream: u32) -> Option<&J> {
        self.streams.get(stream as usize).and_then(|s| s.queue.front()).map(|q| &q.job)
    }

    /// True when nothing is queued or running.
    pub(crate) fn is_idle(&self) -> bool {
        self.streams.iter().all(|s| s.queue.is_empty())
    }
}

#[cfg(test)]
mod tests;
