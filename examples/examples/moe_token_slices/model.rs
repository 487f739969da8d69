//! Layers one after another, with random weights and the routing that is asked for.

use multicore::prelude::*;

use crate::layer::{EPSILON, Shape, Split, Weights, moe};
use crate::routing::{Shares, fit_bias, shares_of};

/// Layers one after another.
pub(crate) struct Model {
    /// Their weights, first layer first.
    pub(crate) layers: Vec<Weights>,
}

impl Model {
    /// A model on the current device whose gates spread the tokens `x` as `target` says, and the shares that each layer
    /// reached.
    ///
    /// # Errors
    /// Those of the operators.
    pub(crate) fn with_routing(
        shape: Shape,
        layers: usize,
        x: &Tensor,
        target: &[f64],
    ) -> Result<(Model, Vec<Shares>)> {
        let (mut model, mut reached) = (Vec::with_capacity(layers), Vec::with_capacity(layers));
        let mut x = x.clone();
        for layer in 0..layers as u64 {
            let mut weights = random_weights(shape, layer)?;
            let logits = x.rms_norm(&weights.norm, EPSILON)?.matmul(&weights.gate.t()?)?;
            let scores: Vec<f32> = logits.to_vec::<f32>()?.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect();
            weights.bias = Tensor::from_slice(&fit_bias(&scores, &shape.gate, target), &[shape.gate.experts])?;
            let (_, experts) = logits.moe_gate(Some(&weights.bias), &shape.gate)?;
            reached.push(shares_of(experts.to_vec::<i32>()?.into_iter().map(|e| e as usize), shape.gate.experts));
            x = moe(&x, &weights, 1, Split::of(x.device().chip()))?;
            model.push(weights);
        }
        Ok((Model { layers: model }, reached))
    }

    /// A model of which only the shapes are known, on a device that computes nothing.
    ///
    /// # Errors
    /// When the device's memory does not hold the weights.
    pub(crate) fn without_values(shape: Shape, layers: usize, dtype: DType) -> Result<Model> {
        let Shape { hidden, inter, gate, local } = shape;
        let layer = |_| {
            Ok(Weights {
                shape,
                norm: Tensor::empty(&[hidden], dtype)?,
                gate: Tensor::empty(&[gate.experts, hidden], dtype)?,
                bias: Tensor::empty(&[gate.experts], DType::F32)?,
                up: Tensor::empty(&[local, hidden, 2 * inter], dtype)?,
                down: Tensor::empty(&[local, inter, hidden], dtype)?,
                shared_up: Tensor::empty(&[hidden, 2 * inter], dtype)?,
                shared_down: Tensor::empty(&[inter, hidden], dtype)?,
            })
        };
        Ok(Model { layers: (0..layers).map(layer).collect::<Result<_>>()? })
    }

    /// The same model on the current device.
    ///
    /// # Errors
    /// Those of the copies.
    pub(crate) fn to_current_device(&self) -> Result<Model> {
        let copy = |x: &Tensor| Tensor::from_slice(&x.to_vec::<f32>()?, x.shape());
        let layer = |w: &Weights| {
            Ok(Weights {
                shape: w.shape,
                norm: copy(&w.norm)?,
                gate: copy(&w.gate)?,
                bias: copy(&w.bias)?,
                up: copy(&w.up)?,
                down: copy(&w.down)?,
                shared_up: copy(&w.shared_up)?,
                shared_down: copy(&w.shared_down)?,
            })
        };
        Ok(Model { layers: self.layers.iter().map(layer).collect::<Result<_>>()? })
    }

    /// Tokens (rows of `x`) through all layers.
    ///
    /// # Errors
    /// Those of the operators.
    pub(crate) fn forward(&self, x: &Tensor, slices: usize, split: Split) -> Result<Tensor> {
        self.layers.iter().try_fold(x.clone(), |x, weights| moe(&x, weights, slices, split))
    }
}

/// Weights that keep the size of what they are multiplied with.
fn random_weights(shape: Shape, layer: u64) -> Result<Weights> {
    let Shape { hidden, inter, gate, .. } = shape;
    let matrix = |seed: u64, sizes: &[usize], fan_in: usize| {
        let scale = (3.0 / fan_in as f32).sqrt();
        let numbers: Vec<f32> = uniform(layer * 8 + seed).take(sizes.iter().product()).map(|x| x * scale).collect();
        Tensor::from_slice(&numbers, sizes)
    };
    Ok(Weights {
        shape,
        norm: Tensor::from_slice(&vec![1.0f32; hidden], &[hidden])?,
        gate: matrix(1, &[gate.experts, hidden], hidden)?,
        bias: Tensor::zeros(&[gate.experts], DType::F32)?,
        up: matrix(2, &[gate.experts, hidden, 2 * inter], hidden)?,
        down: matrix(3, &[gate.experts, inter, hidden], inter)?,
        shared_up: matrix(4, &[hidden, 2 * inter], hidden)?,
        shared_down: matrix(5, &[inter, hidden], inter)?,
    })
}

/// Numbers between -1 and 1, the same ones for the same seed (splitmix64).
pub(crate) fn uniform(seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed.wrapping_mul(0xd134_2543_de82_ef95);
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0
    })
}
