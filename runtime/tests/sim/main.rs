//! The device `sim`: the test plan of the multi-core parallelism RFC, with the profile as witness.

mod crossed;
mod experiments;
mod golden;
mod limits;
mod order;
mod ranks;
mod streams;
mod time;

use multicore::prelude::*;
use multicore::timeline::Record;

/// A modelled 910B1 on which nothing is computed, and the host is fast enough to keep ahead.
const CHIP: &str = "sim:910b,dry,issue=graph";

/// What `f` launches on a device, as its profile.
fn profile(spec: &str, f: impl FnOnce(&Device) -> Result<()>) -> Vec<Record> {
    let device = Device::open(spec).expect("the device opens");
    let _on = device.default_stream().enter();
    let launch = || {
        device.set_tracing(true);
        f(&device)?;
        device.synchronize()
    };
    launch().expect("the program runs");
    assert_eq!(device.stats().hazards, 0);
    device.take_trace().operators
}

/// A `[n, n]` tensor of 16-bit numbers.
fn square(n: usize) -> Result<Tensor> {
    Tensor::empty(&[n, n], DType::BF16)
}

/// The records of an operator, by start.
fn of<'a>(records: &'a [Record], operator: &str) -> Vec<&'a Record> {
    let found: Vec<&Record> = records.iter().filter(|r| r.op_type == operator).collect();
    assert!(!found.is_empty(), "no {operator} in {records:?}");
    found
}

/// The time that both run, in ns.
fn overlap(a: &Record, b: &Record) -> u64 {
    a.end_ns().min(b.end_ns()).saturating_sub(a.start_ns.max(b.start_ns))
}
