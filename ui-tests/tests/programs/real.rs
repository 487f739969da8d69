//! The `#[multicore]` functions of the examples, from their own source: they execute every wait of their plans, and every
//! one is missed by somebody when it is left out.

use std::collections::BTreeSet;

use multicore::prelude::*;
use multicore::testing::{Observed, Wait, observe};

use super::Bench;

/// Waits that nobody misses, by function and variable, and why the plan has them all the same.
const UNUSED: &[(&str, &str, &str)] = &[
    ("scores", "block", "by its syntax `all.push(..)` may launch something on `main`, where nothing follows"),
    ("moe", "tokens", "by its syntax `x.slice(..)` may launch something; it only gives a view"),
];

/// A function with its inputs.
type Run = fn(&[Stream]) -> Result<Vec<Tensor>>;

const RUNS: &[(&str, Run)] = &[
    ("gated_product", two_streams::run),
    ("limits", core_limits::run),
    ("by_macro", events_by_hand::run),
    ("pipeline", loop_pipeline::run),
    ("scores", own_kernel::run),
    ("gated_product", plans::run),
    ("moe", layer::run),
];

/// An example, with a function that calls what is in it.
macro_rules! example {
    ($name:ident, $file:literal, |$streams:ident| $call:expr) => {
        mod $name {
            #![allow(dead_code, reason = "an example is more than its function")]
            include!(concat!(env!("OUT_DIR"), "/", $file));
            pub(super) fn run($streams: &[Stream]) -> Result<Vec<Tensor>> {
                #[allow(unused_imports)]
                use super::matrix;
                $call
            }
        }
    };
}

example!(two_streams, "01_two_streams.rs", |_streams| {
    let x = matrix(0, 16, 16)?;
    Ok(vec![gated_product(&x, &x, &x)?])
});
example!(core_limits, "02_core_limits.rs", |_streams| Ok(vec![limits(&matrix(0, 16, 16)?)?]));
example!(events_by_hand, "03_events_by_hand.rs", |_streams| {
    let w = Weights { up: matrix(1, 8, 16)?, down: matrix(2, 16, 8)?, shared: matrix(3, 8, 8)? };
    Ok(vec![by_macro(&matrix(0, 4, 8)?, &w)?])
});
example!(loop_pipeline, "04_loop_pipeline.rs", |streams| {
    let slices: Vec<Tensor> = (0..8).map(|i| matrix(i, 8, 8)).collect::<Result<_>>()?;
    let norm = matrix(9, 1, 8)?.reshape(&[8])?;
    Ok(vec![pipeline(&slices, &norm, &matrix(10, 8, 8)?, streams)?])
});
example!(own_kernel, "05_own_kernel.rs", |_streams| scores(&[matrix(0, 20, 8)?, matrix(1, 20, 8)?], 30.0));
example!(plans, "06_plans.rs", |_streams| {
    let x = matrix(0, 16, 16)?;
    Ok(vec![gated_product(&x, &x, &x)?])
});
example!(layer, "layer.rs", |_streams| {
    let shape = Shape::new(8, 4, 8, 2);
    let (experts, hidden, inter) = (shape.local, shape.hidden, shape.inter);
    let w = Weights {
        norm: matrix(1, 1, hidden)?.reshape(&[hidden])?,
        gate: matrix(2, experts, hidden)?,
        bias: matrix(3, 1, experts)?.reshape(&[experts])?,
        up: matrix(4, experts * hidden, 2 * inter)?.reshape(&[experts, hidden, 2 * inter])?,
        down: matrix(5, experts * inter, hidden)?.reshape(&[experts, inter, hidden])?,
        shared_up: matrix(6, hidden, 2 * inter)?,
        shared_down: matrix(7, inter, hidden)?,
        shape,
    };
    let x = matrix(0, 12, hidden)?;
    let split = Split::of(Stream::current()?.device().chip());
    // One slice, some, and one that is empty now and then.
    [1, 4, 16].into_iter().map(|slices| moe(&x, &w, slices, split)).collect()
});

/// A matrix of numbers that are not all the same. The stream that is current has just computed it.
fn matrix(seed: usize, n: usize, m: usize) -> Result<Tensor> {
    let numbers: Vec<f32> = (0..n * m).map(|i| ((i + seed) * 13 % 31) as f32 / 31.0 - 0.45).collect();
    let half = Tensor::from_slice(&numbers, &[n, m])?;
    half.add(&half)
}

/// Runs a function, without the wait `skipped`. Gives the bits of what it computes, the hazards it leaves to the runtime,
/// and what it did.
fn run(bench: &Bench, run: Run, skipped: Option<Wait>) -> (Vec<Vec<u32>>, u64, Observed) {
    let _on = bench.device.default_stream().enter();
    let before = bench.device.stats().hazards;
    let (result, observed) = observe(skipped, || run(&bench.streams));
    let bits = |t: &Tensor| t.to_vec::<f32>().expect("nothing fails").into_iter().map(f32::to_bits).collect();
    let outs = result.expect("the inputs fit").iter().map(bits).collect();
    bench.device.synchronize().expect("nothing fails");
    (outs, bench.device.stats().hazards - before, observed)
}

#[test]
fn every_wait_of_the_examples_is_missed_by_somebody() {
    let bench = Bench::new("host:24x48,workers=1");
    let (mut waits, mut wrong, mut excused) = (0, Vec::new(), BTreeSet::new());
    for &(function, f) in RUNS {
        let (expected, hazards, observed) = run(&bench, f, None);
        assert_eq!(hazards, 0, "{function} leaves a hazard");
        let plan = observed.plans.iter().find(|plan| plan.function == function).expect("the function was called");
        for (number, planned) in (0..).zip(plan.waits) {
            waits += 1;
            let wait = Wait { plan, number };
            let mut complain = |what: String| match UNUSED
                .iter()
                .find(|(f, variable, _)| (*f, *variable) == (function, planned.variable))
            {
                Some(known) => drop(excused.insert(known)),
                None => wrong.push(format!("{function}, line {}, `{}`: {what}", planned.line, planned.variable)),
            };
            let executions = observed.waits.iter().find(|(known, _)| *known == wait).map(|(_, executions)| executions);
            if executions.is_none_or(|executions| executions.with_events == 0) {
                complain("no input executes it with an event".to_owned());
                continue;
            }
            let (without, hazards, observed) = run(&bench, f, Some(wait));
            assert_eq!(without, expected, "{function} without {planned:?}: the runtime orders what nobody ordered");
            if hazards == 0 && observed.unordered == 0 {
                complain(format!("nobody misses it ({executions:?})"));
            }
        }
    }
    println!("{} functions of the examples, {waits} waits, {} excused", RUNS.len(), excused.len());
    assert!(wrong.is_empty(), "{} waits:\n{}", wrong.len(), wrong.join("\n"));
    let stale: Vec<_> = UNUSED.iter().filter(|known| !excused.contains(known)).collect();
    assert!(stale.is_empty(), "these are missed by now: {stale:?}");
}
