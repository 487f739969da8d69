//! Which launches may run at the same time.
//!
//! In: a [`Model`] and its [`Plan`]. Out: [`Overlaps`]. Two launches overlap if an execution of the function may come to
//! the later one while nothing orders it after the earlier one; everything else is ordered in every execution, on every path
//! and across the rounds of loops. A wait of the plan counts as made: a call that is given a value is taken to launch
//! something that touches it.
//!
//! The events of the variables are followed as the generated code keeps them, each as a [`Cover`]: how far into every
//! stream's launches what waits for it comes after them. Where paths meet, covers fall to what all of them say; loops are
//! taken to the fixpoint. For straight code this is exact.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::model::{Exit, MAIN, Model, Move, Node, NodeId, Op, Point, Position, Seq, StreamId, TargetId, VarId};
use crate::plan::{Plan, Update};

/// What may run at the same time.
#[derive(Debug)]
pub(crate) struct Overlaps {
    /// For each stream, the others, and the stream itself where it is not the same all the time.
    streams: Vec<BTreeSet<StreamId>>,
    launched: Vec<bool>,
    /// For each two groups of nodes; the row is that of the later launch.
    groups: Vec<Vec<bool>>,
}

impl Overlaps {
    /// Is something launched on the stream?
    pub(crate) fn launches(&self, stream: StreamId) -> bool {
        self.launched[stream.index()]
    }

    /// May a launch on the stream run beside one on another, or on what goes by the same name in another round of a loop?
    pub(crate) fn any(&self, stream: StreamId) -> bool {
        !self.streams[stream.index()].is_empty()
    }

    /// May a launch of the one group run beside one of the other?
    pub(crate) fn groups(&self, a: usize, b: usize) -> bool {
        self.groups[a][b] || self.groups[b][a]
    }
}

/// Finds what may overlap. `group_of` puts the nodes that are to be told apart into `groups` groups.
pub(crate) fn overlaps(
    model: &Model,
    plan: &Plan,
    groups: usize,
    group_of: &dyn Fn(NodeId) -> Option<usize>,
) -> Overlaps {
    let streams = model.streams.len();
    let found = Overlaps {
        streams: vec![BTreeSet::new(); streams],
        launched: vec![false; streams],
        groups: vec![vec![false; groups]; groups],
    };
    let leaving = vec![Leaving::default(); model.targets as usize];
    let mut walk = Walk { model, plan, group_of, found, leaving };
    let state = State {
        now: 0,
        last: vec![0; streams],
        after: vec![Cover::none(streams); streams],
        ready: vec![Ready { writes: Cover::none(streams), reads: Cover::none(streams) }; model.variables as usize],
        groups: vec![(StreamId(0), 0); groups],
    };
    walk.seq(&model.body, Some(state));
    walk.found
}

/// For each stream, the position of the last launch up to which all of them come before.
#[derive(Clone, Debug)]
struct Cover(Rc<Vec<Position>>);

impl Cover {
    fn none(streams: usize) -> Cover {
        Cover(Rc::new(vec![0; streams]))
    }

    fn get(&self, stream: StreamId) -> Position {
        self.0[stream.index()]
    }

    fn set(&mut self, stream: StreamId, position: Position) {
        Rc::make_mut(&mut self.0)[stream.index()] = position;
    }

    /// After what the other comes after, too.
    fn merge(&mut self, other: &Cover) {
        if !Rc::ptr_eq(&self.0, &other.0) && self.0.iter().zip(&*other.0).any(|(mine, theirs)| mine < theirs) {
            let mine = Rc::make_mut(&mut self.0).iter_mut();
            mine.zip(&*other.0).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        }
    }

    /// Down to what both come after. True if that is less than before.
    fn meet(&mut self, other: &Cover) -> bool {
        if Rc::ptr_eq(&self.0, &other.0) || self.0.iter().zip(&*other.0).all(|(mine, theirs)| mine <= theirs) {
            return false;
        }
        let mine = Rc::make_mut(&mut self.0).iter_mut();
        mine.zip(&*other.0).for_each(|(mine, theirs)| *mine = (*mine).min(*theirs));
        true
    }

    fn map(&mut self, f: impl Fn(usize, Position) -> Position) {
        if self.0.iter().enumerate().any(|(stream, &position)| f(stream, position) != position) {
            Rc::make_mut(&mut self.0).iter_mut().enumerate().for_each(|(stream, p)| *p = f(stream, *p));
        }
    }
}

/// The events of a variable.
#[derive(Clone, Debug)]
struct Ready {
    writes: Cover,
    reads: Cover,
}

/// What holds at one place of the function.
#[derive(Clone, Debug)]
struct State {
    /// The last position that was passed; a launch stands right behind it.
    now: Position,
    /// The last launch of each stream on any path to here.
    last: Vec<Position>,
    /// What the next launch of each stream comes after; for the stream itself, how far it has been one stream.
    after: Vec<Cover>,
    ready: Vec<Ready>,
    /// The last launch of each group.
    groups: Vec<(StreamId, Position)>,
}

impl State {
    fn covers(&mut self) -> impl Iterator<Item = &mut Cover> {
        self.after.iter_mut().chain(self.ready.iter_mut().flat_map(|ready| [&mut ready.writes, &mut ready.reads]))
    }

    /// What comes after all of a stream's launches so far comes after all up to `here`.
    fn settle(&mut self, here: Position) {
        let last = self.last.clone();
        self.covers().for_each(|cover| cover.map(|stream, p| if p >= last[stream] { here.max(p) } else { p }));
        self.now = here;
    }

    /// Goes round a loop: what lies behind `start` was done by one of the rounds so far, and is placed at `old`.
    fn go_round(&mut self, start: Position, old: Position, model: &Model) {
        let last = self.last.clone();
        self.covers().for_each(|cover| cover.map(|stream, p| if p >= last[stream] { old } else { p.min(start) }));
        self.last.iter_mut().for_each(|p| *p = (*p).min(old));
        self.groups.iter_mut().for_each(|(_, p)| *p = (*p).min(old));
        for (after, _) in self.after.iter_mut().zip(&model.streams).filter(|(_, stream)| stream.since > start) {
            *after = Cover::none(model.streams.len());
        }
        self.now = old;
    }

    /// Down to what holds on both paths. True if that is less than this one knew.
    fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.last.iter_mut().zip(&other.last) {
            changed |= *mine < *theirs;
            *mine = (*mine).max(*theirs);
        }
        for (mine, theirs) in self.groups.iter_mut().zip(&other.groups) {
            changed |= mine.1 < theirs.1;
            *mine = if mine.1 < theirs.1 { *theirs } else { *mine };
        }
        for (mine, theirs) in self.after.iter_mut().zip(&other.after) {
            changed |= mine.meet(theirs);
        }
        for (mine, theirs) in self.ready.iter_mut().zip(&other.ready) {
            changed |= mine.writes.meet(&theirs.writes) | mine.reads.meet(&theirs.reads);
        }
        changed
    }
}

/// `None` is a place that is not reached.
type Reached = Option<State>;

/// What holds where control leaves a loop or labelled block.
#[derive(Clone, Debug, Default)]
struct Leaving {
    start: Position,
    end: Position,
    by_break: Reached,
    by_continue: Reached,
}

struct Walk<'m> {
    model: &'m Model,
    plan: &'m Plan,
    group_of: &'m dyn Fn(NodeId) -> Option<usize>,
    found: Overlaps,
    leaving: Vec<Leaving>,
}

impl Walk<'_> {
    fn seq(&mut self, seq: &Seq, mut state: Reached) -> Reached {
        for op in seq {
            state = self.op(op, state?);
        }
        state
    }

    fn op(&mut self, op: &Op, mut state: State) -> Reached {
        match op {
            Op::Declare(var) => {
                let none = Cover::none(self.model.streams.len());
                state.ready[var.index()] = Ready { writes: none.clone(), reads: none };
            }
            Op::Begin(stream) => state.after[stream.index()] = Cover::none(self.model.streams.len()),
            Op::End(_) | Op::Touch(_) => {}
            Op::Launch(node) => self.node(node, &mut state),
            Op::Point(point) => self.point(point, &mut state),
            Op::Move(moved) => self.transfer(moved, &mut state),
            Op::Branch { arms, end } => {
                let mut all = None;
                for arm in arms {
                    all = met(all, settled(self.seq(arm, Some(state.clone())), *end));
                }
                return all;
            }
            Op::Loop { target, start, body, end } => {
                let mut head = state;
                head.settle(old_rounds(*start));
                while self.round(*target, *start, *end, body, &head).is_some_and(|back| head.join(&back)) {}
                return self.leaving[target.index()].by_break.take();
            }
            Op::Labelled { target, body, end } => {
                self.leaving[target.index()] = Leaving { end: *end, ..Leaving::default() };
                let through = settled(self.seq(body, Some(state)), *end);
                return met(through, self.leaving[target.index()].by_break.take());
            }
            Op::Exit(Exit::Return) => return None,
            Op::Exit(Exit::Break(target)) => {
                let leaving = &mut self.leaving[target.index()];
                leaving.by_break = met(leaving.by_break.take(), settled(Some(state), leaving.end));
                return None;
            }
            Op::Exit(Exit::Continue(target)) => {
                let leaving = &mut self.leaving[target.index()];
                state.go_round(leaving.start, old_rounds(leaving.start), self.model);
                leaving.by_continue = met(leaving.by_continue.take(), Some(state));
                return None;
            }
        }
        Some(state)
    }

    /// Goes through the body of a loop once; gives what the next round starts from.
    fn round(&mut self, target: TargetId, start: Position, end: Position, body: &Seq, head: &State) -> Reached {
        self.leaving[target.index()] = Leaving { start, end, ..Leaving::default() };
        let mut back = self.seq(body, Some(head.clone()));
        if let Some(state) = &mut back {
            state.go_round(start, old_rounds(start), self.model);
        }
        met(back, self.leaving[target.index()].by_continue.take())
    }

    fn node(&mut self, node: &Node, state: &mut State) {
        let on = node.stream.index();
        let before = state.after[on].clone();
        for wait in self.plan.waits.get(&node.id).into_iter().flatten() {
            let Ready { writes, reads } = &state.ready[wait.var.index()];
            state.after[on].merge(writes);
            if wait.mutable {
                state.after[on].merge(reads);
            }
        }
        if node.barrier {
            return;
        }
        let group = (self.group_of)(node.id);
        self.compare(node.stream, group, state);
        if node.stream == MAIN {
            // `outs.push(y)` launches nothing, so that later launches on `main` need not have waited for `y`.
            state.after[on] = before;
        }
        self.found.launched[on] = true;
        let here = state.now + 1;
        if state.after[on].get(node.stream) >= state.last[on] {
            state.after[on].set(node.stream, here);
        }
        state.last[on] = here;
        if let Some(group) = group {
            state.groups[group] = (node.stream, here);
        }
    }

    /// Notes what a launch that comes next on `stream` may run beside.
    fn compare(&mut self, stream: StreamId, group: Option<usize>, state: &State) {
        let after = &state.after[stream.index()];
        for (other, last) in (0..).map(StreamId).zip(&state.last) {
            if after.get(other) < *last {
                self.found.streams[stream.index()].insert(other);
                self.found.streams[other.index()].insert(stream);
            }
        }
        let Some(group) = group else { return };
        for (other, (on, last)) in state.groups.iter().enumerate() {
            if after.get(*on) < *last {
                self.found.groups[group][other] = true;
            }
        }
    }

    fn point(&mut self, point: &Point, state: &mut State) {
        state.now = point.position;
        for (var, updates) in self.plan.records.get(&point.id).into_iter().flatten() {
            let event = state.after[point.stream.index()].clone();
            let ready = &mut state.ready[var.index()];
            for update in updates {
                match update {
                    Update::Read => ready.reads.merge(&event),
                    Update::MayWrite => ready.writes.merge(&event),
                    Update::Wrote => {
                        *ready = Ready { writes: event.clone(), reads: Cover::none(self.model.streams.len()) };
                    }
                }
            }
        }
    }

    fn transfer(&mut self, moved: &Move, state: &mut State) {
        if !self.plan.moves.contains(&moved.id) {
            return;
        }
        let index = |var: VarId| var.index();
        let from = state.ready[index(moved.from.var)].clone();
        let to = &mut state.ready[index(moved.to.var)];
        if moved.replaces && moved.to.is_everything() {
            *to = from;
        } else {
            to.writes.merge(&from.writes);
            to.reads.merge(&from.reads);
        }
    }
}

fn met(a: Reached, b: Reached) -> Reached {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.join(&b);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

fn settled(mut state: Reached, here: Position) -> Reached {
    if let Some(state) = &mut state {
        state.settle(here);
    }
    state
}

/// Where all that the rounds of a loop did before the one at hand is placed.
fn old_rounds(start: Position) -> Position {
    start + 1
}

#[cfg(test)]
mod tests;
