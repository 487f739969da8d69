//! `#[multicore]` functions on the embedded device, with gates: what must wait waits, and what need not does not.
//!
//! In every test the runtime must find nothing to put right: the plan alone orders what conflicts.

// Streams that only wait for each other, and blocks that launch nothing, are what is tested.
#![allow(deprecated)]

#[path = "../common/mod.rs"]
mod common;
mod concurrency;
mod exits;
mod functions;
mod order;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::*;
use multicore::prelude::*;
use multicore::testing::{Wait, observe};

/// Runs a test on a fresh device, with its default stream current, and checks that the plan left no hazard. Then runs it
/// again without each of its waits: somebody must miss it.
fn on_device(test: impl Fn(&Device) -> Result<()>) {
    let device = device();
    let on = device.default_stream().enter();
    let (result, observed) = observe(None, || test(&device));
    result.expect("the test's own calls succeed");
    device.synchronize().expect("nothing fails on the device");
    assert_eq!(device.diagnostics(), [], "the plan orders everything");
    assert_eq!(device.stats().hazards, 0);
    drop(on);
    for (wait, _) in observed.waits.iter().filter(|(_, executions)| executions.with_news > 0) {
        let planned = &wait.plan.waits[wait.number as usize];
        let (function, variable) = (wait.plan.function, planned.variable);
        let is_needed = is_missed(*wait, &test);
        let known = UNUSED.contains(&(function, variable));
        assert!(is_needed || known, "nobody misses the wait of `{function}` for `{variable}` (line {})", planned.line);
    }
}

/// The waits, by function and variable, that no launch makes use of: by its syntax `outs.push(y)` may launch something, and
/// a clone shares memory with its original.
const UNUSED: &[(&str, &str)] = &[
    ("cloned", "y"),
    ("generic", "block"),
    ("host_only", "all"),
    ("host_only", "y"),
    ("iterations", "y"),
    ("slices", "y"),
];

/// Does the test fail, or do the clocks of the runtime tell, if the wait is left out?
fn is_missed(wait: Wait, test: impl Fn(&Device) -> Result<()>) -> bool {
    let device = device();
    let _on = device.default_stream().enter();
    let (result, observed) = observe(Some(wait), || catch_unwind(AssertUnwindSafe(|| test(&device))));
    !matches!(result, Ok(Ok(()))) || device.stats().hazards > 0 || observed.unordered > 0
}

#[track_caller]
fn assert_waits(stream: &Stream) {
    assert!(holds(|| !stream.is_complete().unwrap()), "stream {} must wait", stream.id());
}

#[track_caller]
fn assert_runs(stream: &Stream) {
    assert!(soon(|| stream.is_complete().unwrap()), "stream {} must not wait", stream.id());
}
