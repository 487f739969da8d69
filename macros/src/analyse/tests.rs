//! The plan of straight-line programs is the transitive reduction, found here by brute force on bit sets.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::analyse;
use crate::model::{Access, Builder, MAIN, Mode, Model, NodeId, Op, PointId, Seq, StreamId, VarId};
use crate::plan::WaitKind;

fn access(var: u32, path: &[u32], mode: Mode) -> Access {
    Access { path: path.to_vec(), ..Access::new(VarId(var), mode) }
}

fn read(var: u32) -> Access {
    access(var, &[], Mode::Read)
}

fn write(var: u32) -> Access {
    access(var, &[], Mode::Write)
}

/// The waits of a plan, a line each: which node waits for which variable of which points.
fn plan_of(model: &Model) -> Vec<String> {
    let plan = analyse(model);
    let waits = plan.waits.iter().flat_map(|(node, waits)| waits.iter().map(move |wait| (node, wait)));
    waits
        .map(|(node, wait)| {
            let points: Vec<u32> = wait.points.iter().map(|point| point.0).collect();
            format!("node {} waits for x{} of {points:?}", node.0, wait.var.0)
        })
        .collect()
}

/// A statement: what it touches on a stream, and the point after it.
fn statement(builder: &mut Builder, stream: StreamId, accesses: &[Access]) {
    builder.node(stream, accesses.to_vec(), false);
    builder.point(stream, Vec::new());
}

fn straight(statements: &[(u32, &[Access])]) -> Model {
    let mut builder = Builder::default();
    let streams: Vec<StreamId> = (0..4).map(|s| builder.stream(format!("s{s}"))).collect();
    for _ in 0..8 {
        let var = builder.var();
        builder.declare(var);
    }
    for (stream, accesses) in statements {
        statement(&mut builder, streams[*stream as usize], accesses);
    }
    builder.finish()
}

#[test]
fn the_nine_pairs() {
    // Read, write, and both in one node, each before each, on two streams.
    let both = [read(0), write(0)];
    let modes: [(&str, &[Access]); 3] = [("r", &both[..1]), ("w", &both[1..]), ("rw", &both)];
    for (first, a) in modes {
        for (second, b) in modes {
            let waits = plan_of(&straight(&[(0, a), (1, b)]));
            let expected = if (first, second) == ("r", "r") { 0 } else { 1 };
            assert_eq!(waits.len(), expected, "{first} {second}: {waits:?}");
            assert_eq!(plan_of(&straight(&[(0, a), (0, b)])), [""; 0], "one stream needs nothing");
        }
    }
}

#[test]
fn what_a_chain_implies_is_left_out() {
    let model = straight(&[(0, &[write(0)]), (1, &[read(0), write(1)]), (2, &[read(0), read(1)])]);
    assert_eq!(plan_of(&model), ["node 1 waits for x0 of [0]", "node 2 waits for x1 of [1]"]);
}

#[test]
fn a_write_waits_for_each_stream_that_reads() {
    let model = straight(&[(0, &[write(0)]), (1, &[read(0)]), (2, &[read(0)]), (2, &[read(0)]), (0, &[write(0)])]);
    assert_eq!(
        plan_of(&model),
        ["node 1 waits for x0 of [0]", "node 2 waits for x0 of [0]", "node 4 waits for x0 of [1, 3]"]
    );
}

#[test]
fn fields_conflict_with_what_they_are_part_of() {
    let (k, v) = (access(0, &[1], Mode::Write), access(0, &[2], Mode::Write));
    let (just_k, just_v) = (std::slice::from_ref(&k), std::slice::from_ref(&v));
    assert_eq!(plan_of(&straight(&[(0, just_k), (1, just_v)])), [""; 0]);
    assert_eq!(plan_of(&straight(&[(0, just_k), (1, just_v), (2, &[read(0)])])), ["node 2 waits for x0 of [0, 1]"]);
}

#[test]
fn a_move_takes_events_along() {
    let mut builder = Builder::default();
    let (s, t) = (builder.stream("s".into()), builder.stream("t".into()));
    let (x, y) = (builder.var(), builder.var());
    builder.declare(x);
    statement(&mut builder, s, &[write(0)]);
    builder.declare(y);
    let id = builder.transfer(read(0), write(1), true);
    statement(&mut builder, t, &[read(1)]);
    let model = builder.finish();
    let plan = analyse(&model);
    assert_eq!(plan_of(&model), ["node 1 waits for x1 of [0]"]);
    assert_eq!(plan.moves, [id].into());
    assert_eq!(plan.ready, [x, y].into());
}

/// `loop { arm | break }`, with the arm made by `body`.
fn looped(builder: &mut Builder, body: impl FnOnce(&mut Builder)) {
    let target = builder.target();
    let start = builder.open_loop();
    builder.open();
    body(builder);
    let arm = builder.close();
    builder.open();
    builder.exit(crate::model::Exit::Break(target));
    let leave = builder.close();
    builder.branch(vec![arm, leave]);
    builder.close_loop(target, start);
}

#[test]
fn a_loop_carries_conflicts_to_its_next_round() {
    let mut builder = Builder::default();
    let (s, t) = (builder.stream("s".into()), builder.stream("t".into()));
    builder.var();
    looped(&mut builder, |builder| {
        statement(builder, s, &[write(0)]);
        statement(builder, t, &[read(0)]);
    });
    // After no round at all there is nothing to wait for, after some there is.
    statement(&mut builder, MAIN, &[write(0)]);
    assert_eq!(
        plan_of(&builder.finish()),
        ["node 0 waits for x0 of [1]", "node 1 waits for x0 of [0]", "node 2 waits for x0 of [0, 1]"]
    );
}

#[test]
fn a_stream_made_in_a_loop_is_another_each_time_round() {
    let mut builder = Builder::default();
    builder.var();
    looped(&mut builder, |builder| {
        let stream = builder.begin_unknown("s[i]".into());
        statement(builder, stream, &[write(0)]);
        builder.end_unknown(stream);
    });
    assert_eq!(plan_of(&builder.finish()), ["node 0 waits for x0 of [0]"]);
}

#[test]
fn what_one_arm_did_is_waited_for_after_the_branch() {
    let mut builder = Builder::default();
    let (s, t) = (builder.stream("s".into()), builder.stream("t".into()));
    builder.var();
    builder.open();
    statement(&mut builder, s, &[write(0)]);
    statement(&mut builder, t, &[read(0)]);
    let arm = builder.close();
    builder.branch(vec![arm, Seq::new()]);
    statement(&mut builder, t, &[read(0)]);
    statement(&mut builder, MAIN, &[read(0)]);
    // In the arm `t` waits, so behind the branch it is ordered on both paths; `main` is not.
    assert_eq!(plan_of(&builder.finish()), ["node 1 waits for x0 of [0]", "node 3 waits for x0 of [0]"]);
}

#[test]
fn an_access_that_only_one_path_recorded_overwrites_nothing() {
    // `if f(&mut x) { stream!(s, { g(&mut x) }) }`: on the other path `f` is recorded behind the statement.
    let mut builder = Builder::default();
    let (s, t) = (builder.stream("s".into()), builder.stream("t".into()));
    builder.var();
    builder.node(MAIN, vec![write(0)], false);
    builder.open();
    builder.point(MAIN, Vec::new());
    statement(&mut builder, s, &[write(0)]);
    let arm = builder.close();
    builder.branch(vec![arm, Seq::new()]);
    builder.point(MAIN, Vec::new());
    statement(&mut builder, t, &[read(0)]);
    let model = builder.finish();
    assert_eq!(plan_of(&model), ["node 1 waits for x0 of [0]", "node 2 waits for x0 of [1, 2]"]);
    let update = &analyse(&model).records[&PointId(2)][&VarId(0)];
    assert_eq!(*update, [crate::plan::Update::MayWrite].into());
}

#[test]
fn what_is_behind_a_return_is_not_reached() {
    let mut builder = Builder::default();
    let (s, t) = (builder.stream("s".into()), builder.stream("t".into()));
    builder.var();
    builder.open();
    statement(&mut builder, s, &[write(0)]);
    builder.exit(crate::model::Exit::Return);
    let arm = builder.close();
    builder.branch(vec![arm, Seq::new()]);
    statement(&mut builder, t, &[read(0)]);
    assert_eq!(plan_of(&builder.finish()), [""; 0]);
}

#[test]
fn after_is_satisfied_by_waits_that_are_made_anyway_alone() {
    let mut builder = Builder::default();
    let (s, t) = (builder.stream("s".into()), builder.stream("t".into()));
    builder.var();
    statement(&mut builder, s, &[write(0)]);
    // This may be `x.len()`, which waits for nothing.
    statement(&mut builder, t, &[read(0)]);
    builder.node(t, vec![read(0)], true);
    builder.node(t, vec![read(0)], true);
    let plan = analyse(&builder.finish());
    let kinds: Vec<(u32, WaitKind)> = plan.waits.iter().map(|(node, waits)| (node.0, waits[0].kind)).collect();
    assert_eq!(kinds, [(1, WaitKind::Expect), (2, WaitKind::Wait)]);
}

// ------------------------------------------------------------------------------------------------------------ the oracle

#[derive(Clone, Debug)]
enum Step {
    /// A statement with one or two nodes, and what it gives a value to.
    Statement { stream: u32, nodes: Vec<Vec<Access>>, defines: Vec<Access> },
    /// `to` is another name for `from` from here on.
    Move { from: u32, to: u32 },
}

fn accesses(vars: u32) -> impl Strategy<Value = Vec<Access>> {
    let one = (0..vars, prop::collection::vec(0..2u32, 0..3), prop::bool::ANY);
    let one = one.prop_map(|(var, path, writes)| access(var, &path, if writes { Mode::Write } else { Mode::Read }));
    prop::collection::vec(one, 0..4)
}

fn step(streams: u32, vars: u32) -> impl Strategy<Value = Step> {
    let defines = prop::collection::vec((0..vars).prop_map(write), 0..2);
    let nodes = prop::collection::vec(accesses(vars), 1..3);
    let statement =
        (0..streams, nodes, defines).prop_map(|(stream, nodes, defines)| Step::Statement { stream, nodes, defines });
    let moves = (0..vars, 0..vars).prop_filter("another variable", |(from, to)| from != to);
    prop_oneof![8 => statement, 1 => moves.prop_map(|(from, to)| Step::Move { from, to })]
}

fn program() -> impl Strategy<Value = (u32, Vec<Step>)> {
    (2..=16u32, 2..10u32)
        .prop_flat_map(|(streams, vars)| (Just(streams), prop::collection::vec(step(streams, vars), 1..60)))
}

fn model_of(streams: u32, steps: &[Step]) -> Model {
    let mut builder = Builder::default();
    let streams: Vec<StreamId> = (0..streams).map(|s| builder.stream(format!("s{s}"))).collect();
    for _ in 0..10 {
        let var = builder.var();
        builder.declare(var);
    }
    for step in steps {
        match step {
            Step::Statement { stream, nodes, defines } => {
                let stream = streams[*stream as usize];
                nodes.iter().for_each(|accesses| {
                    builder.node(stream, accesses.clone(), false);
                });
                builder.point(stream, defines.clone());
            }
            Step::Move { from, to } => {
                builder.transfer(read(*from), write(*to), true);
            }
        }
    }
    builder.finish()
}

/// The cross-stream edges of the transitive reduction of stream order and data flow, from points to nodes.
///
/// Nothing is pruned here: every two accesses are held against each other. The graph has a vertex for each node and for
/// each point; an event is recorded at a point, so what a node did is known behind the point after it.
fn reduction(model: &Model) -> BTreeSet<(PointId, NodeId)> {
    #[derive(Clone)]
    struct Done {
        access: Access,
        vertex: usize,
        point: Option<PointId>,
        stream: StreamId,
    }
    let mut done: Vec<Vec<Done>> = vec![Vec::new(); model.variables as usize];
    let mut fifo: Vec<Option<usize>> = vec![None; model.streams.len()];
    let mut preds: Vec<Vec<usize>> = Vec::new();
    let mut cross: Vec<(usize, usize, PointId, NodeId)> = Vec::new();
    for op in &model.body {
        let vertex = preds.len();
        match op {
            Op::Launch(node) => {
                preds.push(fifo[node.stream.index()].replace(vertex).into_iter().collect());
                for access in &node.accesses {
                    for other in &done[access.var.index()] {
                        if other.access.conflicts(access) && other.stream != node.stream {
                            let point = other.point.expect("points come before other streams' nodes");
                            preds[vertex].push(other.vertex);
                            cross.push((other.vertex, vertex, point, node.id));
                        }
                    }
                }
                for access in &node.accesses {
                    let (access, stream) = (access.clone(), node.stream);
                    done[access.var.index()].push(Done { access, vertex, point: None, stream });
                }
            }
            Op::Point(point) => {
                preds.push(fifo[point.stream.index()].replace(vertex).into_iter().collect());
                for done in done.iter_mut().flatten().filter(|d| d.point.is_none()) {
                    (done.vertex, done.point) = (vertex, Some(point.id));
                }
                for access in &point.defines {
                    // A new value: nobody who used the old one matters.
                    done[access.var.index()].clear();
                    let access = access.clone();
                    let point_id = Some(point.id);
                    done[access.var.index()].push(Done { access, vertex, point: point_id, stream: point.stream });
                }
            }
            Op::Move(moved) => {
                done[moved.to.var.index()] = done[moved.from.var.index()].clone();
                done[moved.to.var.index()].iter_mut().for_each(|d| d.access.var = moved.to.var);
            }
            _ => {}
        }
    }
    // Reachability as bit sets: vertices are in topological order.
    let words = preds.len().div_ceil(64);
    let mut reach: Vec<Vec<u64>> = Vec::with_capacity(preds.len());
    for (vertex, preds) in preds.iter().enumerate() {
        let mut all = vec![0u64; words];
        for &pred in preds {
            all.iter_mut().zip(&reach[pred]).for_each(|(a, b)| *a |= b);
            all[pred / 64] |= 1 << (pred % 64);
        }
        debug_assert_eq!(reach.len(), vertex);
        reach.push(all);
    }
    let reaches = |a: usize, b: usize| reach[b][a / 64] >> (a % 64) & 1 == 1;
    let kept = cross.iter().filter(|(from, to, ..)| !preds[*to].iter().any(|&via| via != *from && reaches(*from, via)));
    kept.map(|&(_, _, point, node)| (point, node)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn the_plan_of_straight_code_is_the_transitive_reduction((streams, steps) in program()) {
        let model = model_of(streams, &steps);
        let plan = analyse(&model);
        let waits: Vec<(PointId, NodeId)> = plan
            .waits
            .iter()
            .flat_map(|(&node, waits)| waits.iter().flat_map(move |wait| wait.points.iter().map(move |&point| (point, node))))
            .collect();
        let distinct: BTreeSet<(PointId, NodeId)> = waits.iter().copied().collect();
        prop_assert_eq!(distinct.len(), waits.len(), "no pair twice");
        let expected = reduction(&model);
        let sources: BTreeSet<PointId> = expected.iter().map(|(point, _)| *point).collect();
        prop_assert_eq!(distinct, expected);
        prop_assert_eq!(plan.records.keys().copied().collect::<BTreeSet<_>>(), sources, "records are the sources of waits");
    }
}
