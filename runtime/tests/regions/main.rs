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

use common::*;
use multicore::prelude::*;

/// Runs a test on a fresh device, with its default stream current, and checks that the plan left no hazard.
fn on_device(test: impl FnOnce(&Device) -> Result<()>) {
    let device = device();
    let on = device.default_stream().enter();
    test(&device).expect("the test's own calls succeed");
    device.synchronize().expect("nothing fails on the device");
    assert_eq!(device.diagnostics(), [], "the plan orders everything");
    assert_eq!(device.stats().hazards, 0);
    drop(on);
}

#[track_caller]
fn assert_waits(stream: &Stream) {
    assert!(holds(|| !stream.is_complete().unwrap()), "stream {} must wait", stream.id());
}

#[track_caller]
fn assert_runs(stream: &Stream) {
    assert!(soon(|| stream.is_complete().unwrap()), "stream {} must not wait", stream.id());
}
