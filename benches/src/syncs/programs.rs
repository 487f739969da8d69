//! The programs whose records and waits are counted. Random graphs come from the build script.

use multicore::ops::GateConfig;
use multicore::prelude::*;

use super::{Counts, Log, Value, counted, task};

include!(concat!(env!("OUT_DIR"), "/random.rs"));

/// The layer of the main job; not all of it is needed here.
#[allow(dead_code)]
mod layer {
    include!(concat!(env!("OUT_DIR"), "/layer.rs"));
}

/// A program: its name, and a run of it.
pub type Program = (&'static str, fn(&Log) -> Result<()>);

/// All programs.
pub const ALL: [Program; 8] = [
    ("random, 2 streams", random_2),
    ("random, 4 streams", random_4),
    ("random, 8 streams", random_8),
    ("random, 16 streams", random_16),
    ("stencil, 4 wide", stencil),
    ("fork and join", fork_join),
    ("decoder layer x 32", decoder),
    ("MoE layer, 4 slices", moe),
];

/// 100 rows of four tasks, one a stream, each after its three neighbours above.
///
/// # Errors
/// Those of the launches.
#[multicore(streams(s0, s1, s2, s3))]
pub fn stencil(log: &Log) -> Result<()> {
    let mut a = stream!(s0, { task(log, &[])? });
    let mut b = stream!(s1, { task(log, &[])? });
    let mut c = stream!(s2, { task(log, &[])? });
    let mut d = stream!(s3, { task(log, &[])? });
    for _ in 1..100 {
        let below_a = stream!(s0, { task(log, &[&a, &b])? });
        let below_b = stream!(s1, { task(log, &[&a, &b, &c])? });
        let below_c = stream!(s2, { task(log, &[&b, &c, &d])? });
        let below_d = stream!(s3, { task(log, &[&c, &d])? });
        (a, b, c, d) = (below_a, below_b, below_c, below_d);
    }
    Ok(())
}

/// 100 times four tasks on four streams, and one that joins them.
///
/// # Errors
/// Those of the launches.
#[multicore(streams(s0, s1, s2, s3))]
pub fn fork_join(log: &Log) -> Result<()> {
    let mut joined = stream!(s0, { task(log, &[])? });
    for _ in 0..100 {
        let a = stream!(s0, { task(log, &[&joined])? });
        let b = stream!(s1, { task(log, &[&joined])? });
        let c = stream!(s2, { task(log, &[&joined])? });
        let d = stream!(s3, { task(log, &[&joined])? });
        joined = stream!(s0, { task(log, &[&a, &b, &c, &d])? });
    }
    Ok(())
}

/// 32 decoder layers: the projections of attention side by side on three streams, gate and up on two.
///
/// # Errors
/// Those of the launches.
#[multicore(streams(s0, s1, s2))]
pub fn decoder(log: &Log) -> Result<()> {
    let mut x = stream!(s0, { task(log, &[])? });
    for _ in 0..32 {
        let normed = stream!(s0, { task(log, &[&x])? });
        let q = stream!(s0, { task(log, &[&normed])? });
        let k = stream!(s1, { task(log, &[&normed])? });
        let v = stream!(s2, { task(log, &[&normed])? });
        // The positions were made beside the norm.
        let q = stream!(s0, { task(log, &[&q, &normed])? });
        let k = stream!(s1, { task(log, &[&k, &normed])? });
        let attended = stream!(s0, { task(log, &[&q, &k, &v, &normed])? });
        let residual = stream!(s0, {
            let projected = task(log, &[&attended, &normed])?;
            task(log, &[&x, &projected])?
        });
        let normed = stream!(s0, { task(log, &[&residual])? });
        let gate = stream!(s0, { task(log, &[&normed])? });
        let down = stream!(s1, {
            let up = task(log, &[&normed])?;
            let product = task(log, &[&gate, &up])?;
            task(log, &[&product])?
        });
        x = stream!(s0, { task(log, &[&down, &residual])? });
    }
    Ok(())
}

/// The blocks and launches of the mixture-of-experts layer of `examples/examples/moe_token_slices/layer.rs`, four slices.
///
/// # Errors
/// Those of the launches.
#[multicore(streams(compute, vector, dispatch))]
pub fn moe(log: &Log) -> Result<()> {
    let mut sent = Vec::new();
    for _ in 0..4 {
        let (normed, weights, routing) = stream!(vector, {
            let normed = task(log, &[])?;
            let logits = task(log, &[&normed])?;
            let weights = task(log, &[&logits])?;
            let routing = task(log, &[&weights])?;
            (normed, weights, routing)
        });
        let rows = stream!(dispatch, { task(log, &[&normed, &routing])? });
        sent.push((normed, weights, routing, rows));
    }
    let mut outs = Vec::new();
    for (normed, weights, routing, rows) in &sent {
        let up = stream!(compute, { task(log, &[rows, routing])? });
        let active = stream!(vector, { task(log, &[&up])? });
        let shared = stream!(compute, {
            let up = task(log, &[normed])?;
            let active = task(log, &[&up])?;
            task(log, &[&active])?
        });
        let down = stream!(compute, { task(log, &[&active, routing])? });
        let out = stream!(dispatch, {
            let combined = task(log, &[&down, routing, weights])?;
            let with_shared = task(log, &[&combined, &shared])?;
            task(log, &[&with_shared])?
        });
        outs.push(out);
    }
    let outs: Vec<&Value> = outs.iter().collect();
    task(log, &outs)?;
    Ok(())
}

/// Launches, waits and records of one layer of the main job as it is, small, four slices.
///
/// # Errors
/// Those of the operators.
pub fn main_job() -> Result<(u64, Counts)> {
    let shape = layer::Shape::new(16, 8, 16, GateConfig::DEEPSEEK_V3.top_k);
    let (hidden, inter, experts) = (shape.hidden, shape.inter, shape.gate.experts);
    let filled = |sizes: &[usize]| Tensor::from_slice(&vec![0.5f32; sizes.iter().product()], sizes);
    counted(|| {
        let weights = layer::Weights {
            shape,
            norm: filled(&[hidden])?,
            gate: filled(&[experts, hidden])?,
            bias: filled(&[experts])?,
            up: filled(&[experts, hidden, 2 * inter])?,
            down: filled(&[experts, inter, hidden])?,
            shared_up: filled(&[hidden, 2 * inter])?,
            shared_down: filled(&[inter, hidden])?,
        };
        let split = layer::Split::of(Stream::current()?.device().chip());
        layer::moe(&filled(&[64, hidden])?, &weights, 4, split).map(drop)
    })
}
