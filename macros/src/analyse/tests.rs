//! Small models, each with the plan it must have. (`oracle` has the random ones.)

use super::analyse;
use crate::model::{Access, Builder, MAIN, Mode, Model, PointId, Seq, StreamId, VarId};
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

#[test]
fn what_was_overwritten_by_a_use_that_may_touch_nothing_is_still_waited_for_by_after() {
    // `x.reset()` on `t` may launch nothing: then `s` has produced what `after(x)` means.
    let mut builder = Builder::default();
    let (s, t, u) = (builder.stream("s".into()), builder.stream("t".into()), builder.stream("u".into()));
    builder.var();
    statement(&mut builder, s, &[write(0)]);
    statement(&mut builder, t, &[write(0)]);
    builder.node(t, vec![read(0)], true);
    // The event of `t` brings along what `t` should have waited for.
    builder.node(u, vec![read(0)], true);
    assert_eq!(
        plan_of(&builder.finish()),
        ["node 1 waits for x0 of [0]", "node 2 waits for x0 of [0]", "node 3 waits for x0 of [1]"]
    );
}

#[test]
fn what_a_block_states_at_its_end_overwrites_nothing_that_a_nested_block_did() {
    // `stream!(s, writes(x), { .. stream!(t, { f(&x)? }); })`
    let mut builder = Builder::default();
    let (s, t, u) = (builder.stream("s".into()), builder.stream("t".into()), builder.stream("u".into()));
    builder.var();
    builder.node(s, vec![write(0)], true);
    statement(&mut builder, t, &[read(0)]);
    builder.touch(write(0));
    builder.point(s, Vec::new());
    statement(&mut builder, u, &[write(0)]);
    assert_eq!(plan_of(&builder.finish()), ["node 2 waits for x0 of [0, 1]"]);
}
