//! A mixture-of-experts layer as DeepSeek-V3 has it: tokens in, tokens out. The tokens are cut into slices, and three
//! streams work on different slices at the same time.
//!
//! | stream | on | its part of a slice |
//! |---|---|---|
//! | `vector` | vector cores | normalise, gate, swiglu of the experts |
//! | `dispatch` | a few vector cores | rows to their experts (permute), rows back (weighted sum) |
//! | `compute` | cube cores | grouped matmuls of the experts, and the shared expert while `vector` does swiglu |

use std::ops::Range;

use multicore::Cores;
use multicore::ops::{GateConfig, concat};
use multicore::prelude::*;

/// Below the root of `rms_norm`.
pub(crate) const EPSILON: f32 = 1e-6;

/// The sizes of a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Size of a token's vector.
    pub(crate) hidden: usize,
    /// Size of the vector inside an expert.
    pub(crate) inter: usize,
    /// How many experts there are, and how a token's are chosen.
    pub(crate) gate: GateConfig,
    /// Experts that this device has; the others are on other devices, which send as many rows here as go there.
    pub(crate) local: usize,
}

impl Shape {
    /// With DeepSeek-V3's gate: eight groups of which four, if the numbers of experts allow it, else one group.
    pub(crate) fn new(hidden: usize, inter: usize, experts: usize, top_k: usize) -> Shape {
        let gate = GateConfig { experts, top_k, ..GateConfig::DEEPSEEK_V3 };
        let size = experts / gate.groups;
        let grouped = experts.is_multiple_of(gate.groups) && size >= 2 && top_k <= size * gate.topk_groups;
        let gate = if grouped { gate } else { GateConfig { groups: 1, topk_groups: 1, ..gate } };
        Shape { hidden, inter, gate, local: experts }
    }
}

/// The weights of a layer, f32.
pub(crate) struct Weights {
    /// The sizes.
    pub(crate) shape: Shape,
    /// hidden: of the norm before the layer.
    pub(crate) norm: Tensor,
    /// experts × hidden: scores of the experts.
    pub(crate) gate: Tensor,
    /// experts: added to the scores for the choice alone.
    pub(crate) bias: Tensor,
    /// local experts × hidden × 2 inter: gate and up projection side by side.
    pub(crate) up: Tensor,
    /// local experts × inter × hidden: down projection.
    pub(crate) down: Tensor,
    /// hidden × 2 inter: the shared expert's.
    pub(crate) shared_up: Tensor,
    /// inter × hidden: the shared expert's.
    pub(crate) shared_down: Tensor,
}

/// The cores of each stream. Dispatch gets few, because moving rows needs few, and the gate's small product as well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    cube: u32,
    gate: u32,
    vector: u32,
    dispatch: u32,
}

impl Split {
    /// All cores for everyone.
    pub(crate) fn none(chip: Cores) -> Split {
        Split { cube: chip.cube, gate: chip.cube, vector: chip.vector, dispatch: chip.vector }
    }

    /// An eighth for the small ones. The gates are through before the experts begin, so those can have all cube cores.
    pub(crate) fn of(chip: Cores) -> Split {
        let (gate, dispatch) = ((chip.cube / 8).max(1), (chip.vector / 8).max(1));
        Split { cube: chip.cube, gate, vector: (chip.vector - dispatch).max(1), dispatch }
    }
}

/// Tokens (rows of `x`) through one layer, `slices` groups of rows at a time.
///
/// Streams are first in, first out, so the order of the source is the order in which a stream takes things up. All slices
/// are sent out before the first comes back: `dispatch` moves the rows of the next slices while `compute` is at the first.
#[multicore(streams(compute, vector, dispatch))]
pub(crate) fn moe(x: &Tensor, w: &Weights, slices: usize, split: Split) -> Result<Tensor> {
    let mut sent = Vec::with_capacity(slices);
    for rows in cut(x.shape()[0], slices) {
        let tokens = x.slice(rows)?;
        // Who goes where.
        let (normed, weights, routing) = stream!(vector, cores(cube = split.gate, vector = split.vector), {
            let normed = tokens.rms_norm(&w.norm, EPSILON)?;
            let logits = normed.matmul(&w.gate.t()?)?;
            let (weights, experts) = logits.moe_gate(Some(&w.bias), &w.shape.gate)?;
            let routing = experts.moe_route(w.shape.gate.experts)?;
            (normed, weights, routing)
        });
        // Rows to their experts.
        let rows = stream!(dispatch, cores(vector = split.dispatch), { normed.moe_dispatch(&routing)? });
        sent.push((tokens, normed, weights, routing, rows));
    }

    let mut outs = Vec::with_capacity(slices);
    for (tokens, normed, weights, routing, rows) in &sent {
        // Each expert on its own rows. The shared expert fills the time that `compute` would wait for `active`.
        let offsets = routing.offsets.slice(0..w.shape.local + 1)?;
        let up = stream!(compute, cores(cube = split.cube), { rows.grouped_matmul(&w.up, &offsets)? });
        let active = stream!(vector, cores(vector = split.vector), { up.swiglu()? });
        let shared = stream!(compute, cores(cube = split.cube, vector = split.vector), {
            normed.matmul(&w.shared_up)?.swiglu()?.matmul(&w.shared_down)?
        });
        let down = stream!(compute, cores(cube = split.cube), { active.grouped_matmul(&w.down, &offsets)? });
        // Rows back, weighted, onto what came in.
        let out = stream!(dispatch, cores(vector = split.dispatch), {
            down.moe_collect(routing, weights)?.add(&shared)?.add(tokens)?
        });
        outs.push(out);
    }
    concat(&outs, 0)
}

/// `n` rows in `slices` ranges of nearly equal length.
fn cut(n: usize, slices: usize) -> impl Iterator<Item = Range<usize>> {
    (0..slices).map(move |i| n * i / slices..n * (i + 1) / slices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, uniform};
    use crate::routing::skewed;

    /// The layer in f64, token by token, as DeepSeek-V3's published inference code computes it.
    fn reference(x: &[f32], w: &Weights) -> Result<Vec<f64>> {
        let Shape { hidden, inter, gate, .. } = w.shape;
        let f64s = |x: &Tensor| Ok::<_, Error>(x.to_vec::<f32>()?.into_iter().map(f64::from).collect::<Vec<f64>>());
        let (scores, bias, up, down) = (f64s(&w.gate)?, f64s(&w.bias)?, f64s(&w.up)?, f64s(&w.down)?);
        let (shared_up, shared_down) = (f64s(&w.shared_up)?, f64s(&w.shared_down)?);
        let product = |x: &[f64], m: &[f64], cols: usize| -> Vec<f64> {
            (0..cols).map(|c| x.iter().enumerate().map(|(r, x)| x * m[r * cols + c]).sum()).collect()
        };
        let silu = |x: f64| x / (1.0 + (-x).exp());
        let expert = |x: &[f64], up: &[f64], down: &[f64]| {
            let both = product(x, up, 2 * inter);
            let act: Vec<f64> = (0..inter).map(|i| silu(both[i]) * both[inter + i]).collect();
            product(&act, down, hidden)
        };
        let best = |values: &[f64], n: usize| -> Vec<usize> {
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
            order.truncate(n);
            order
        };
        let mut out = Vec::with_capacity(x.len());
        for row in x.chunks(hidden) {
            let row: Vec<f64> = row.iter().copied().map(f64::from).collect();
            let mean_square = row.iter().map(|x| x * x).sum::<f64>() / hidden as f64;
            let normed: Vec<f64> = row.iter().map(|x| x / (mean_square + f64::from(EPSILON)).sqrt()).collect();
            let s: Vec<f64> = scores
                .chunks(hidden)
                .map(|g| 1.0 / (1.0 + (-g.iter().zip(&normed).map(|(g, x)| g * x).sum::<f64>()).exp()))
                .collect();
            let biased: Vec<f64> = s.iter().zip(&bias).map(|(s, b)| s + b).collect();
            let size = gate.experts / gate.groups;
            let sums: Vec<f64> =
                biased.chunks(size).map(|group| best(group, 2).iter().map(|&i| group[i]).sum()).collect();
            let allowed = best(&sums, gate.topk_groups);
            let masked: Vec<f64> = (0..gate.experts)
                .map(|e| if allowed.contains(&(e / size)) { biased[e] } else { f64::NEG_INFINITY })
                .collect();
            let chosen = best(&masked, gate.top_k);
            let sum: f64 = chosen.iter().map(|&e| s[e]).sum();
            let mut y = expert(&normed, &shared_up, &shared_down);
            for e in chosen {
                let weight = s[e] / sum * f64::from(gate.route_scale);
                let up = &up[e * hidden * 2 * inter..][..hidden * 2 * inter];
                let part = expert(&normed, up, &down[e * inter * hidden..][..inter * hidden]);
                y.iter_mut().zip(part).for_each(|(y, part)| *y += weight * part);
            }
            out.extend(y.iter().zip(row).map(|(y, x)| y + x));
        }
        Ok(out)
    }

    #[test]
    fn the_layer_computes_what_deepseek_v3_does() -> Result<()> {
        let (tokens, experts) = (37, 32);
        let shape = Shape::new(24, 12, experts, 6);
        assert_eq!((shape.gate.groups, shape.gate.topk_groups), (8, 4));
        let device = Device::open("host:6x8")?;
        let main = device.default_stream();
        let _on = main.enter();
        let numbers: Vec<f32> = uniform(5).take(tokens * shape.hidden).collect();
        let x = Tensor::from_slice(&numbers, &[tokens, shape.hidden])?;
        let (model, _) = Model::with_routing(shape, 1, &x, &skewed(experts))?;
        let expected = reference(&numbers, &model.layers[0])?;
        for slices in [1, 4, tokens] {
            let y = model.forward(&x, slices, Split::of(device.chip()))?.to_vec::<f32>()?;
            let worst = y.iter().zip(&expected).map(|(y, e)| (f64::from(*y) - e).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-4, "{slices} slices: off by {worst}");
        }
        assert_eq!(device.stats().hazards, 0);
        Ok(())
    }

    #[test]
    fn rows_are_cut_into_nearly_equal_ranges_that_cover_all() {
        let ranges: Vec<_> = cut(10, 4).collect();
        assert_eq!(ranges, [0..2, 2..5, 5..7, 7..10]);
    }
}
