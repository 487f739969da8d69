//! What the macro decided, to look at: in the documentation (`cargo rustdoc -p examples --example 06_plans --open`), at
//! run time, and in the trace of a run.

use multicore::plan_of;
use multicore::prelude::*;
use multicore::timeline::{Origin, Sync, SyncKind};

/// A gated product. The gate is computed beside the product, on fewer cores.
#[multicore(explain, streams(matrix, elementwise))]
pub fn gated_product(a: &Tensor, b: &Tensor, x: &Tensor) -> Result<Tensor> {
    let product = stream!(matrix, cores(cube = 20), { a.matmul(b)? });
    let gate = stream!(elementwise, cores(vector = 8), { x.silu()? });
    stream!(matrix, { product.mul(&gate) })
}

fn main() -> Result<()> {
    // There before the first call: the function need not run.
    let plan = plan_of!(gated_product);
    println!("{plan}\n{}", plan.to_mermaid());

    let device = Device::try_default()?;
    let numbers: Vec<f32> = (0..256 * 256).map(|i| (i % 17) as f32 / 17.0 - 0.5).collect();
    let x = Tensor::from_slice(&numbers, &[256, 256])?;
    device.synchronize()?;
    device.set_tracing(true);
    gated_product(&x, &x, &x)?;
    device.synchronize()?;
    let trace = device.take_trace();

    // Every wait of the plan that was made, and its record.
    let planned = |kind| trace.syncs.iter().filter(move |sync| sync.origin == Origin::Plan && sync.kind == kind);
    let line = |sync: &Sync| sync.site.as_ref().map_or(0, |site| site.line);
    for wait in planned(SyncKind::Wait) {
        let variable = wait.site.as_ref().map_or("", |site| &site.variables);
        let record = planned(SyncKind::Record).find(|record| record.event == wait.event).expect("each wait has one");
        println!(
            "stream {} waited {:.1} us at line {} for `{variable}`, recorded on stream {} at line {}",
            wait.stream_id,
            wait.duration_ns as f64 / 1e3,
            line(wait),
            record.stream_id,
            line(record)
        );
        assert_eq!((line(wait), line(record)), (plan.waits[0].line, plan.records[0].line));
    }
    assert_eq!(planned(SyncKind::Wait).count(), plan.waits.len());
    Ok(())
}
