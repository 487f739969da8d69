//! The overlaps of random programs, held against executions: for straight code the pairs are the same, with branches and
//! loops no execution has a pair that was not found.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Overlaps, overlaps};
use crate::analyse::analyse;
use crate::model::{Access, Builder, Exit, Mode, Model, MoveId, NodeId, Op, Position, Seq, StreamId, TargetId, VarId};
use crate::plan::{Plan, Update};

const STREAMS: u32 = 4;
const VARIABLES: u32 = 5;

fn found(model: &Model, plan: &Plan) -> Overlaps {
    overlaps(model, plan, model.nodes as usize, &|node| Some(node.index()))
}

/// What one execution is made of: what to do next where there is a choice.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

/// A launch that was executed.
type Instance = usize;

/// A function being executed, each set of launches kept whole.
struct Execution<'m> {
    model: &'m Model,
    plan: &'m Plan,
    dice: Dice,
    launched: Vec<(NodeId, StreamId)>,
    /// What the next launch of a stream comes after.
    after: BTreeMap<StreamId, BTreeSet<Instance>>,
    writes: BTreeMap<VarId, BTreeSet<Instance>>,
    reads: BTreeMap<VarId, BTreeSet<Instance>>,
    pairs: BTreeSet<(NodeId, NodeId)>,
    streams: BTreeSet<(StreamId, StreamId)>,
    steps: u32,
}

impl<'m> Execution<'m> {
    fn of(model: &'m Model, plan: &'m Plan, seed: u64) -> Execution<'m> {
        let mut execution = Execution {
            model,
            plan,
            dice: Dice(seed),
            launched: Vec::new(),
            after: BTreeMap::new(),
            writes: BTreeMap::new(),
            reads: BTreeMap::new(),
            pairs: BTreeSet::new(),
            streams: BTreeSet::new(),
            steps: 0,
        };
        execution.seq(&model.body).ok();
        execution
    }

    fn seq(&mut self, seq: &Seq) -> Result<(), Exit> {
        seq.iter().try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: &Op) -> Result<(), Exit> {
        match op {
            Op::Declare(var) => {
                self.writes.remove(var);
                self.reads.remove(var);
            }
            Op::Begin(stream) => {
                self.after.remove(stream);
            }
            Op::End(_) | Op::Touch(_) => {}
            Op::Launch(node) => {
                for wait in self.plan.waits.get(&node.id).into_iter().flatten() {
                    let mut events = self.writes.get(&wait.var).cloned().unwrap_or_default();
                    if wait.mutable {
                        events.extend(self.reads.get(&wait.var).into_iter().flatten());
                    }
                    self.after.entry(node.stream).or_default().extend(events);
                }
                if !node.barrier {
                    self.launch(node.id, node.stream);
                }
            }
            Op::Point(point) => {
                for (var, updates) in self.plan.records.get(&point.id).into_iter().flatten() {
                    let event = self.after.get(&point.stream).cloned().unwrap_or_default();
                    for update in updates {
                        match update {
                            Update::Read => self.reads.entry(*var).or_default().extend(&event),
                            Update::MayWrite => self.writes.entry(*var).or_default().extend(&event),
                            Update::Wrote => {
                                self.writes.insert(*var, event.clone());
                                self.reads.remove(var);
                            }
                        }
                    }
                }
            }
            Op::Move(moved) if self.plan.moves.contains(&moved.id) => {
                let (from, to) = (moved.from.var, moved.to.var);
                for events in [&mut self.writes, &mut self.reads] {
                    let taken = events.get(&from).cloned().unwrap_or_default();
                    if moved.replaces && moved.to.is_everything() {
                        events.insert(to, taken);
                    } else {
                        events.entry(to).or_default().extend(taken);
                    }
                }
            }
            Op::Move(_) => {}
            Op::Branch { arms, .. } => {
                let arm = self.dice.below(arms.len() as u32);
                self.seq(&arms[arm as usize])?;
            }
            Op::Loop { target, start, body, .. } => return self.rounds(*target, *start, body),
            Op::Labelled { target, body, .. } => match self.seq(body) {
                Err(Exit::Break(left)) if left == *target => {}
                outcome => outcome?,
            },
            Op::Exit(exit) => return Err(*exit),
        }
        Ok(())
    }

    fn rounds(&mut self, target: TargetId, start: Position, body: &Seq) -> Result<(), Exit> {
        loop {
            self.steps += 1;
            if self.steps > 40 {
                return Err(Exit::Return);
            }
            match self.seq(body) {
                Err(Exit::Break(left)) if left == target => return Ok(()),
                Err(Exit::Continue(next)) if next == target => {}
                outcome => outcome?,
            }
            let model = self.model;
            self.after.retain(|stream, _| model.streams[stream.index()].since <= start);
        }
    }

    fn launch(&mut self, node: NodeId, stream: StreamId) {
        let after = self.after.entry(stream).or_default();
        for (instance, &(earlier, on)) in self.launched.iter().enumerate() {
            if !after.contains(&instance) {
                self.pairs.insert((earlier.min(node), earlier.max(node)));
                self.streams.extend([(on, stream), (stream, on)]);
            }
        }
        after.insert(self.launched.len());
        self.launched.push((node, stream));
    }
}

fn access(dice: &mut Dice) -> Access {
    let mode = if dice.below(2) == 0 { Mode::Read } else { Mode::Write };
    let path = if dice.below(4) == 0 { vec![dice.below(2)] } else { Vec::new() };
    Access { path, whole: dice.below(4) > 0, ..Access::new(VarId(dice.below(VARIABLES)), mode) }
}

/// A statement on a stream.
fn statement(builder: &mut Builder, dice: &mut Dice, stream: StreamId) {
    for _ in 0..=dice.below(2) {
        let accesses = (0..=dice.below(3)).map(|_| access(dice)).collect();
        builder.node(stream, accesses, dice.below(8) == 0);
    }
    builder.point(stream, Vec::new());
    if dice.below(6) == 0 {
        transfer(builder, dice);
    }
}

fn transfer(builder: &mut Builder, dice: &mut Dice) -> Option<MoveId> {
    let whole = |dice: &mut Dice| Access { path: Vec::new(), ..access(dice) };
    let (from, to) = (whole(dice), whole(dice));
    (from.var != to.var).then(|| builder.transfer(from, to, dice.below(2) == 0))
}

/// A few statements, branches, loops and exits.
fn statements(builder: &mut Builder, dice: &mut Dice, streams: &[StreamId], targets: &[(TargetId, bool)], depth: u32) {
    for _ in 0..=dice.below(4) {
        let stream = streams[dice.below(streams.len() as u32) as usize];
        match dice.below(if depth == 0 { 6 } else { 12 }) {
            0 => {
                let stream = builder.begin_unknown("s[i]".to_owned());
                statement(builder, dice, stream);
                builder.end_unknown(stream);
            }
            1 if depth < 3 => builder.declare(VarId(dice.below(VARIABLES))),
            6 | 7 => {
                let arms = (0..2).map(|_| {
                    builder.open();
                    statements(builder, dice, streams, targets, depth - 1);
                    builder.close()
                });
                let arms = arms.collect();
                builder.branch(arms);
            }
            8 | 9 => {
                let target = builder.target();
                let start = builder.open_loop();
                builder.open();
                let mut streams = streams.to_vec();
                if dice.below(2) == 0 {
                    // `let s = &streams[i];`
                    streams.push(builder.stream("s".to_owned()));
                }
                let targets: Vec<_> = targets.iter().copied().chain([(target, true)]).collect();
                statements(builder, dice, &streams, &targets, depth - 1);
                let body = builder.close();
                builder.open();
                builder.exit(Exit::Break(target));
                let leave = builder.close();
                builder.branch(vec![body, leave]);
                builder.close_loop(target, start);
            }
            10 => {
                let target = builder.target();
                builder.open();
                let targets: Vec<_> = targets.iter().copied().chain([(target, false)]).collect();
                statements(builder, dice, streams, &targets, depth - 1);
                let body = builder.close();
                builder.labelled(target, body);
            }
            11 => {
                builder.open();
                match targets.get(dice.below(targets.len() as u32 + 1) as usize) {
                    Some((target, true)) if dice.below(2) == 0 => builder.exit(Exit::Continue(*target)),
                    Some((target, _)) => builder.exit(Exit::Break(*target)),
                    None => builder.exit(Exit::Return),
                }
                let leave = builder.close();
                builder.branch(vec![leave, Vec::new()]);
            }
            _ => statement(builder, dice, stream),
        }
    }
}

fn program(seed: u64, depth: u32) -> Model {
    let mut builder = Builder::default();
    let mut dice = Dice(seed);
    let streams: Vec<StreamId> = (0..STREAMS).map(|s| builder.stream(format!("s{s}"))).collect();
    for _ in 0..VARIABLES {
        let var = builder.var();
        builder.declare(var);
    }
    if depth == 0 {
        for _ in 0..3 + dice.below(20) {
            let stream = streams[dice.below(STREAMS) as usize];
            statement(&mut builder, &mut dice, stream);
        }
    } else {
        statements(&mut builder, &mut dice, &streams, &[], depth);
        statements(&mut builder, &mut dice, &streams, &[], depth);
    }
    builder.finish()
}

fn stream_pairs(model: &Model, overlaps: &Overlaps) -> BTreeSet<(StreamId, StreamId)> {
    let streams = (0..model.streams.len() as u32).map(StreamId);
    streams.flat_map(|a| overlaps.streams[a.index()].iter().map(move |&b| (a, b))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn straight_code_overlaps_exactly_as_it_executes(seed: u64) {
        let model = program(seed, 0);
        let plan = analyse(&model);
        let (overlaps, execution) = (found(&model, &plan), Execution::of(&model, &plan, 0));
        let all = (0..model.nodes).flat_map(|a| (a..model.nodes).map(move |b| (NodeId(a), NodeId(b))));
        let pairs: BTreeSet<_> = all.filter(|(a, b)| overlaps.groups(a.index(), b.index())).collect();
        prop_assert_eq!(pairs, execution.pairs);
        prop_assert_eq!(stream_pairs(&model, &overlaps), execution.streams);
    }

    #[test]
    fn no_execution_overlaps_more(seed: u64) {
        let model = program(seed, 3);
        let plan = analyse(&model);
        let overlaps = found(&model, &plan);
        let streams = stream_pairs(&model, &overlaps);
        for run in 0..10 {
            let execution = Execution::of(&model, &plan, run);
            for (a, b) in &execution.pairs {
                prop_assert!(overlaps.groups(a.index(), b.index()), "nodes {} and {}", a.0, b.0);
            }
            prop_assert!(execution.streams.is_subset(&streams), "{:?} in {streams:?}", execution.streams);
            for (_, stream) in &execution.launched {
                prop_assert!(overlaps.launches(*stream));
            }
        }
    }
}

fn names(model: &Model, overlaps: &Overlaps) -> Vec<String> {
    let streams = (0..model.streams.len() as u32).map(StreamId);
    let lonely = streams.filter(|&stream| overlaps.launches(stream) && !overlaps.any(stream));
    lonely.map(|stream| model.streams[stream.index()].text.clone()).collect()
}

fn looped(builder: &mut Builder, body: impl FnOnce(&mut Builder)) {
    let target = builder.target();
    let start = builder.open_loop();
    builder.open();
    body(builder);
    let body = builder.close();
    builder.open();
    builder.exit(Exit::Break(target));
    let leave = builder.close();
    builder.branch(vec![body, leave]);
    builder.close_loop(target, start);
}

#[test]
fn the_rounds_of_a_pipeline_overlap_and_those_of_a_recurrence_do_not() {
    let both = |carried: bool| {
        let mut builder = Builder::default();
        let (s, t) = (builder.stream("s".into()), builder.stream("t".into()));
        let (x, carry) = (builder.var(), builder.var());
        builder.declare(carry);
        looped(&mut builder, |builder| {
            builder.declare(x);
            let from = if carried { vec![Access::new(carry, Mode::Read)] } else { Vec::new() };
            builder.node(s, from, false);
            builder.point(s, vec![Access::new(x, Mode::Write)]);
            builder.node(t, vec![Access::new(x, Mode::Read)], false);
            builder.point(t, vec![Access::new(carry, Mode::Write)]);
        });
        let model = builder.finish();
        let plan = analyse(&model);
        names(&model, &found(&model, &plan))
    };
    assert_eq!(both(false), [""; 0], "round 2 of s runs beside round 1 of t");
    assert_eq!(both(true), ["s", "t"]);
}

#[test]
fn an_arm_that_does_not_wait_is_enough_to_overlap() {
    let mut builder = Builder::default();
    let (s, t) = (builder.stream("s".into()), builder.stream("t".into()));
    let x = builder.var();
    builder.declare(x);
    builder.node(s, Vec::new(), false);
    builder.point(s, vec![Access::new(x, Mode::Write)]);
    builder.open();
    builder.node(t, vec![Access::new(x, Mode::Read)], false);
    builder.point(t, Vec::new());
    let waits = builder.close();
    let without = {
        builder.open();
        builder.node(t, Vec::new(), false);
        builder.point(t, Vec::new());
        builder.close()
    };
    builder.branch(vec![waits.clone(), without]);
    let model = builder.finish();
    assert_eq!(names(&model, &found(&model, &analyse(&model))), [""; 0]);
    // With the arm that waits alone.
    let mut model = model;
    if let Some(Op::Branch { arms, .. }) = model.body.last_mut() {
        *arms = vec![waits];
    }
    assert_eq!(names(&model, &found(&model, &analyse(&model))), ["s", "t"]);
}
