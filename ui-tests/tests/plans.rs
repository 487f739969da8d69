//! Plans that a program can see: by every way to name a function, in every form, and the same as the documentation.

#[path = "plans/explained.rs"]
mod explained;
#[path = "plans/named.rs"]
mod named;

use multicore::prelude::*;
use multicore::{Plan, plan_of};
use serde_json::{Value, json};

/// The documentation that the macros' own tests keep: functions and their texts.
fn documented() -> Vec<(&'static str, &'static str)> {
    let snapshot = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../macros/src/emit/snapshots/multicore_macros__emit__tests__explained_documentation.snap"
    ));
    let (_, all) = snapshot.split_once("\n==== ").expect("a function");
    all.split("\n==== ").map(|one| one.split_once('\n').expect("a text")).collect()
}

#[test]
fn documentation_and_program_say_the_same() {
    let plans = [
        plan_of!(explained::exchange),
        plan_of!(explained::hostile),
        plan_of!(explained::serial),
        plan_of!(explained::one_block),
    ];
    let documented = documented();
    assert_eq!(documented.len(), plans.len());
    for (plan, (name, text)) in plans.iter().zip(documented) {
        assert_eq!(plan.function, name);
        let (_, written) = text.split_at(text.find("# Plan").expect("the plan has a heading"));
        assert_eq!(plan.to_markdown().trim_end(), written.trim_end());
    }
}

#[test]
fn as_text() {
    assert_eq!(
        plan_of!(explained::exchange).to_string(),
        "plan of `exchange` (ui-tests/tests/plans/explained.rs:8)
4 blocks on 2 streams, 2 records, 2 waits

block  stream   cores
    9  compute  cube = 3, vector = 8
   10  comm     vector = 8
   11  compute
   12  compute

wait  stream   for       after the record on
  10  comm     routed    `compute` at 9
  12  compute  received  `comm` at 10
"
    );
    let nested = plan_of!(explained::hostile).to_string();
    assert!(nested.contains("\n   20  &streams[i | 1]"), "{nested}");
    assert!(nested.contains("\n   21    named(\"a#1;`<b>"), "nested blocks are indented: {nested}");
    assert_eq!(
        plan_of!(explained::one_block).to_string(),
        "plan of `one_block` (ui-tests/tests/plans/explained.rs:39)
1 block on 1 stream, 0 records, 0 waits

block  stream  cores
   40  a
"
    );
}

#[test]
fn as_json() {
    let parsed: Value = serde_json::from_str(&plan_of!(explained::exchange).to_json()).expect("it is JSON");
    let expected = json!({
        "function": "exchange",
        "file": "ui-tests/tests/plans/explained.rs",
        "line": 8,
        "serial": false,
        "blocks": [
            {"stream": "compute", "line": 9, "cores": "cube = 3, vector = 8", "outer": null},
            {"stream": "comm", "line": 10, "cores": "vector = 8", "outer": null},
            {"stream": "compute", "line": 11, "cores": "", "outer": null},
            {"stream": "compute", "line": 12, "cores": "", "outer": null},
        ],
        "records": [
            {"block": 0, "stream": "compute", "line": 9, "variables": ["routed"]},
            {"block": 1, "stream": "comm", "line": 10, "variables": ["received"]},
        ],
        "waits": [
            {"block": 1, "stream": "comm", "line": 10, "variable": "routed", "records": [0]},
            {"block": 3, "stream": "compute", "line": 12, "variable": "received", "records": [1]},
        ],
    });
    assert_eq!(parsed, expected);
    let hostile: Value = serde_json::from_str(&plan_of!(explained::hostile).to_json()).expect("it is JSON");
    assert_eq!(hostile["blocks"][1]["stream"], "named(\"a#1;`<b>\\\"\\\\\", streams)");
    assert_eq!(hostile["blocks"][1]["outer"], 0);
    assert_eq!(hostile["waits"][3]["block"], Value::Null, "`main` waits outside of all blocks");
}

#[test]
fn as_dot() {
    assert_eq!(
        plan_of!(explained::exchange).to_dot(),
        "digraph \"exchange\" {
    node [shape=box];
    subgraph cluster_0 {
        label=\"compute\";
        block_0 [label=\"line 9\\ncube = 3, vector = 8\"];
        block_2 [label=\"line 11\"];
        block_3 [label=\"line 12\"];
        block_0 -> block_2 [style=dotted, arrowhead=none];
        block_2 -> block_3 [style=dotted, arrowhead=none];
    }
    subgraph cluster_1 {
        label=\"comm\";
        block_1 [label=\"line 10\\nvector = 8\"];
    }
    block_0 -> block_1 [label=\"routed (line 9 → 10)\"];
    block_1 -> block_3 [label=\"received (line 10 → 12)\"];
}
"
    );
    let hostile = plan_of!(explained::hostile).to_dot();
    assert!(hostile.contains(r#"label="named(\"a#1;`<b>\\\"\\\\\", streams)";"#), "{hostile}");
    assert!(hostile.contains("line_18 -> block_2 [label=\"sum (line 18 → 25)\"]"), "{hostile}");
}

#[test]
fn a_wait_knows_its_records() {
    let plan = plan_of!(explained::hostile);
    let sum = plan.waits.iter().find(|wait| wait.variable == "sum").expect("somebody waits for it");
    let records: Vec<_> = plan.records_of(sum).map(|record| (record.stream, record.line, record.block)).collect();
    assert_eq!(records, [("main", 18, None), ("if i < 1 { &streams[0] } else { &streams[2] }", 25, Some(2))]);
}

#[test]
fn by_every_name() {
    use named::one::{self as renamed_module, twin as renamed};
    use named::two::*;

    let (one, two) = (plan_of!(named::one::twin), plan_of!(named::two::twin));
    assert_ne!(one, two, "the same name, another function");
    assert_eq!((one.blocks.len(), two.blocks.len()), (1, 2));
    assert!(std::ptr::eq(plan_of!(renamed), one));
    assert!(std::ptr::eq(plan_of!(renamed_module::twin), one));
    assert!(std::ptr::eq(plan_of!(twin), two), "through a glob");
    assert!(std::ptr::eq(plan_of!(named::public_name), one), "re-exported");
    assert_eq!(plan_of!(named::from_private_module).function, "hidden");
    assert_eq!(plan_of!(named::generic).function, "generic");
    assert_eq!(plan_of!(named::generic::<Tensor>).function, "generic");
}

#[test]
fn methods() -> Result<()> {
    use named::{Generic as Renamed, Layer};
    assert_eq!(plan_of!(Layer::forward).waits[0].variable, "y");
    assert_eq!(plan_of!(named::Layer::forward), plan_of!(Layer::forward));
    assert_eq!(plan_of!(Layer::with_gate).function, "with_gate");
    assert_eq!(plan_of!(Renamed::<f32>::forward).function, "forward");
    assert_eq!(plan_of!(<Renamed<Vec<u8>>>::forward), plan_of!(named::Generic::<f32>::forward));
    assert_eq!(plan_of!(Layer::without_self).function, "without_self");
    assert_eq!(Layer::of_self().function, "forward");

    let stream = Stream::current()?;
    let x = Tensor::from_slice(&[1.0f32], &[1])?;
    assert_eq!(Layer::without_self(&stream, &x)?.to_vec::<f32>()?, [3.0]);
    let layer = Layer::with_gate(&stream, &x)?;
    assert_eq!(layer.forward(&x)?.to_vec::<f32>()?, [3.0], "the plan is in its place");
    Ok(())
}

#[test]
fn in_a_function_and_in_a_constant() -> Result<()> {
    #[multicore(explain)]
    fn local(a: &Stream, x: &Tensor) -> Result<Tensor> {
        stream!(a, { x.scale(2.0) })
    }
    const PLAN: &Plan = plan_of!(local);
    assert_eq!(PLAN.function, "local");
    let x = Tensor::from_slice(&[-1.0f32, 2.0], &[2])?;
    assert_eq!(local(&Stream::current()?, &x)?.to_vec::<f32>()?, [-2.0, 4.0]);
    Ok(())
}

#[test]
fn of_a_call() -> Result<()> {
    use named::{Layer, Module};
    let stream = Stream::current()?;
    let x = Tensor::from_slice(&[1.0f32], &[1])?;
    let layer = Layer::with_gate(&stream, &x)?;
    let before = stream.device().stats();
    let module: &dyn Module = &layer;
    let plan = Plan::of_call(|| module.apply(&x)).expect("it is `#[multicore]`");
    assert_eq!((plan.function, plan.blocks.len()), ("apply", 1));
    assert_eq!(Plan::of_call(|| layer.forward(&x)), Some(plan_of!(Layer::forward)));
    // The first one counts, and none of them does anything.
    let both = Plan::of_call(|| {
        let first = layer.forward(&x);
        assert!(matches!(first, Err(Error::Planned)));
        assert!(matches!(module.apply(&x), Err(Error::Planned)));
    });
    assert_eq!(both, Some(plan_of!(Layer::forward)));
    assert_eq!(stream.device().stats(), before, "nothing was launched");
    assert_eq!(Plan::of_call(|| 1 + 1), None);

    // A question inside of a question, and a panic inside of one.
    let outer = Plan::of_call(|| {
        assert_eq!(Plan::of_call(|| module.apply(&x)).map(|plan| plan.function), Some("apply"));
        layer.forward(&x)
    });
    assert_eq!(outer, Some(plan_of!(Layer::forward)));
    let panicked = std::panic::catch_unwind(|| Plan::of_call(|| panic!("on purpose")));
    assert!(panicked.is_err());
    assert!(layer.forward(&x).is_ok(), "nobody asks any more");
    Ok(())
}
