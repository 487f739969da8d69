//! Which node waits for which record.
//!
//! In: a [`Model`]. Out: a [`Plan`] that orders every two accesses of one place, one of them a write, as the source does.
//!
//! For straight code the waits are exactly the cross-stream edges of the transitive reduction of stream order and data flow,
//! the fewest that give this order and no other; the records are their distinct sources. One pass finds them: a node's
//! cross-stream predecessors, latest first, are skipped if the clock of its stream covers them, else waited for, and their
//! clock is merged. (If a predecessor reaches the node through another one, that one is later, so it was merged before;
//! if it does not, nothing that was merged contains it, and its edge is in the reduction.)
//!
//! Where paths meet, clocks fall to what all of them know, and accesses join; one that is not on every path is waited for
//! by itself and teaches nothing about others. Loops are taken to the fixpoint, with the accesses of the iteration before
//! moved to the position where the loop starts.

mod state;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use state::{Entry, State};

use crate::model::{Access, Exit, Mode, Model, Node, Op, Position, Seq, TargetId};
use crate::plan::{Plan, Update, Wait, WaitKind};

/// Finds the plan.
pub(crate) fn analyse(model: &Model) -> Plan {
    let Survey { overwritten, declared, barriers, .. } = Survey::of(model);
    let leaving = vec![Leaving::default(); model.targets as usize];
    let plan = Plan::default();
    let mut analysis = Analysis { model, overwritten, declared, barriers, plan, leaving, passed: 0, final_pass: true };
    analysis.seq(&model.body, Some(State::new(model)));
    analysis.plan
}

/// What is known where control leaves the body of a loop or of a labelled block, which begins and ends at these positions.
#[derive(Clone, Debug, Default)]
struct Leaving {
    start: Position,
    end: Position,
    by_break: Reached,
    by_continue: Reached,
}

/// `None` is a place that is not reached.
type Reached = Option<State>;

struct Analysis<'m> {
    model: &'m Model,
    plan: Plan,
    /// For each variable, the number of nodes before the end of the last that writes it, or what takes over its events:
    /// who reads it behind that need not be remembered.
    overwritten: Vec<u32>,
    /// The variables that blocks say they touch: no launch shows it, so whoever uses them waits anyway.
    declared: Vec<bool>,
    /// The streams that wait for something whether or not they touch it.
    barriers: Vec<bool>,
    leaving: Vec<Leaving>,
    /// The number of nodes before here, in source order.
    passed: u32,
    /// Loops around have reached their fixpoint: what is found goes into the plan.
    final_pass: bool,
}

impl Analysis<'_> {
    fn seq(&mut self, seq: &Seq, mut state: Reached) -> Reached {
        for op in seq {
            state = self.op(op, state?);
        }
        state
    }

    fn op(&mut self, op: &Op, mut state: State) -> Reached {
        match op {
            Op::Declare(var) => state.declare(*var),
            Op::Begin(stream) => state.begin(*stream),
            Op::End(stream) => state.end(*stream),
            Op::Launch(node) => {
                self.passed = node.id.0;
                self.node(node, &mut state);
            }
            Op::Touch(access) => self.touch(access, false, &mut state),
            Op::Point(point) => state.commit(point, self.barriers[point.stream.index()]),
            Op::Move(moved) => state.transfer(moved.id, &moved.from, &moved.to, moved.replaces),
            Op::Branch { arms, end } => return self.branch(arms, *end, state),
            Op::Loop { target, start, body, end } => {
                let mut head = state;
                head.settle(old_iterations(*start));
                let collects = std::mem::replace(&mut self.final_pass, false);
                while self.round(*target, *start, *end, body, &head).is_some_and(|back| head.join(&back)) {}
                self.final_pass = collects;
                if collects {
                    self.round(*target, *start, *end, body, &head);
                }
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
                self.go_round(&mut state, self.leaving[target.index()].start);
                let leaving = &mut self.leaving[target.index()];
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
            self.go_round(state, start);
        }
        met(back, self.leaving[target.index()].by_continue.take())
    }

    fn go_round(&self, state: &mut State, start: Position) {
        state.go_round(start, old_iterations(start), |stream| self.model.streams[stream.index()].since <= start);
    }

    fn branch(&mut self, arms: &[Seq], end: Position, state: State) -> Reached {
        let mut all = None;
        for arm in arms {
            let one = self.seq(arm, Some(state.clone()));
            all = met(all, settled(one, end));
        }
        all
    }

    fn node(&mut self, node: &Node, state: &mut State) {
        let mut before: Vec<(Entry, usize)> = Vec::new();
        for (i, access) in node.accesses.iter().enumerate() {
            for entry in state.entries(access.var) {
                let asked_for = entry.behind.is_none_or(|stream| node.barrier && stream == node.stream);
                if asked_for && entry.access.conflicts(access) && !state.is_after(node.stream, entry, node.barrier) {
                    before.push((entry.clone(), i));
                }
            }
        }
        // The first access is the place itself, the others what it may borrow from or share.
        let is_write = |entry: &Entry| entry.access.mode == Mode::Write;
        let nobody = || !node.accesses.iter().any(|access| state.entries(access.var).iter().any(is_write));
        if let (true, true, Some(first)) = (node.barrier, self.final_pass, node.accesses.first())
            && nobody()
        {
            self.plan.pointless.push((node.id, first.var));
        }
        // Latest first; among those of one point, the one that is simplest to pass on.
        before.sort_by(|(a, i), (b, j)| {
            let key =
                |e: &Entry| (std::cmp::Reverse((e.position, e.point)), e.moves.len(), std::cmp::Reverse(e.update));
            key(a).cmp(&key(b)).then(i.cmp(j))
        });
        let mut waited = Vec::new();
        for (entry, i) in before {
            // Two accesses of one point need one wait; if it is not on every path, two variables need two: on a path, only
            // one of them may have its event.
            let wait = (entry.point, entry.stream, entry.access.var);
            if waited.contains(&wait) || state.is_after(node.stream, &entry, node.barrier) {
                continue;
            }
            waited.push(wait);
            state.wait(node.stream, &entry, node.barrier);
            if self.final_pass {
                self.wait(node, i, &entry);
            }
        }
        if !node.barrier {
            node.accesses.iter().for_each(|access| self.touch(access, true, state));
        }
    }

    fn touch(&self, access: &Access, ordered: bool, state: &mut State) {
        if access.mode == Mode::Write || self.passed < self.overwritten[access.var.index()] {
            state.touch(access, ordered);
        }
    }

    /// Puts a wait into the plan, with all that brings the event to it.
    fn wait(&mut self, node: &Node, access: usize, entry: &Entry) {
        let access = &node.accesses[access];
        let anyway = node.barrier || self.declared[access.var.index()];
        let kind = if anyway { WaitKind::Wait } else { WaitKind::Expect };
        let mutable = access.mode == Mode::Write;
        let waits = self.plan.waits.entry(node.id).or_default();
        match waits.iter_mut().find(|w| w.var == access.var) {
            Some(wait) => {
                wait.points.insert(entry.point);
                wait.mutable |= mutable;
            }
            None => waits.push(Wait { var: access.var, kind, mutable, points: [entry.point].into() }),
        }
        let updates = self.plan.records.entry(entry.point).or_default().entry(entry.origin).or_default();
        if entry.update == Update::Wrote {
            updates.clear();
        }
        if !updates.contains(&Update::Wrote) {
            updates.insert(entry.update);
        }
        self.plan.ready.extend([access.var, entry.origin]);
        for id in entry.moves.iter() {
            self.plan.moves.insert(*id);
            self.plan.ready.extend(self.model.moves[id.index()]);
        }
    }
}

/// What is known of a function before it is gone through.
struct Survey {
    overwritten: Vec<u32>,
    declared: Vec<bool>,
    barriers: Vec<bool>,
    passed: u32,
}

impl Survey {
    fn of(model: &Model) -> Survey {
        let variables = model.variables as usize;
        let (overwritten, declared) = (vec![0; variables], vec![false; variables]);
        let mut survey = Survey { overwritten, declared, barriers: vec![false; model.streams.len()], passed: 0 };
        survey.mark(&model.body);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for [from, to] in model.moves.iter().rev() {
                let (overwritten, declared) = (survey.overwritten[to.index()], survey.declared[from.index()]);
                changed |= survey.overwritten[from.index()] < overwritten || declared && !survey.declared[to.index()];
                survey.overwritten[from.index()] = overwritten.max(survey.overwritten[from.index()]);
                survey.declared[to.index()] |= declared;
            }
        }
        survey
    }

    fn mark(&mut self, seq: &Seq) {
        for op in seq {
            match op {
                Op::Launch(node) => {
                    self.passed = node.id.0;
                    node.accesses.iter().for_each(|access| self.write(access));
                    self.barriers[node.stream.index()] |= node.barrier;
                }
                Op::Touch(access) => {
                    self.write(access);
                    self.declared[access.var.index()] = true;
                }
                Op::Branch { arms, .. } => arms.iter().for_each(|arm| self.mark(arm)),
                Op::Labelled { body, .. } => self.mark(body),
                Op::Loop { body, .. } => {
                    let start = self.passed;
                    self.mark(body);
                    // What one round writes comes behind what the round before has read.
                    let end = self.passed + 1;
                    self.overwritten.iter_mut().filter(|last| **last > start).for_each(|last| *last = end);
                }
                _ => {}
            }
        }
    }

    fn write(&mut self, access: &Access) {
        if access.mode == Mode::Write {
            self.overwritten[access.var.index()] = self.passed + 1;
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

/// Where all that the iterations of a loop did before the one at hand is placed.
fn old_iterations(start: Position) -> Position {
    start + 1
}
