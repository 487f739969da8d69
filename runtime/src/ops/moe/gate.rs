//! The gate of DeepSeek-V3: which experts each token goes to, and with what weights.

use std::marker::PhantomData;

use crate::dtype::DType;
use crate::error::{KernelResult, Result};
use crate::kernel::{Kernel, Launch, Tile, Work};
use crate::limit::CoreKind;
use crate::ops::check;
use crate::ops::dispatch::for_float;
use crate::ops::number::Float;
use crate::ops::pieces::{self, Reader};
use crate::ops::top_k::largest;
use crate::tensor::{Operand, Tensor};

/// How a gate chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateConfig {
    /// Experts.
    pub experts: usize,
    /// Groups of neighbouring experts, of one size; 1 for a model without groups.
    pub groups: usize,
    /// Groups that a token's experts may come from.
    pub topk_groups: usize,
    /// Experts for each token.
    pub top_k: usize,
    /// What the normalised weights are multiplied with.
    pub route_scale: f32,
}

impl GateConfig {
    /// DeepSeek-V3 (`config_671B.json`): 8 of 256 experts, out of 4 of 8 groups, weights scaled by 2.5.
    pub const DEEPSEEK_V3: GateConfig =
        GateConfig { experts: 256, groups: 8, topk_groups: 4, top_k: 8, route_scale: 2.5 };

    fn check(&self) -> Result<()> {
        let &GateConfig { experts, groups, topk_groups, top_k, .. } = self;
        if groups == 0 || !experts.is_multiple_of(groups) {
            return check::misfit(NAME, format!("{experts} experts in {groups} groups: expected groups of one size"));
        }
        if topk_groups == 0 || topk_groups > groups {
            return check::misfit(
                NAME,
                format!("{topk_groups} of {groups} groups: expected at least 1 and at most all"),
            );
        }
        if top_k > experts / groups * topk_groups {
            return check::misfit(
                NAME,
                format!(
                    "{top_k} of the {} experts of {topk_groups} groups: expected at most all",
                    experts / groups * topk_groups
                ),
            );
        }
        Ok(())
    }
}

const NAME: &str = "MoeGatingTopK";

/// For each row of `logits` (`[T, E]`) the weights (`[T, k]`, `float32`) and the numbers (`[T, k]`, `int32`) of its experts.
///
/// As in DeepSeek-V3: the scores are `sigmoid(logits)`. With a `bias` (`[E]`, `float32`) the choice is made by `score +
/// bias`; a group counts as much as its two best together, and experts outside of the `topk_groups` best groups are not
/// chosen. Without a bias a group counts as much as its best. The weights are the scores, without bias, of the chosen
/// experts, divided by their sum and multiplied by `route_scale`. The best choice comes first; of equal groups and of equal
/// experts the lower number. All in `float32`.
///
/// With an `x` and the gate's own weight, `logits` is `x.matmul(&weight.t()?)?`.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the configuration contradicts itself or does not fit the shapes,
/// [`Error::DType`](crate::Error::DType) when `logits` is not floating point or `bias` not `float32`.
#[track_caller]
pub fn moe_gate(
    logits: &(impl Operand + ?Sized),
    bias: Option<&dyn Operand>,
    config: &GateConfig,
) -> Result<(Tensor, Tensor)> {
    config.check()?;
    let (logits, bias) = (logits.view(), bias.map(|bias| bias.view()));
    if logits.shape().len() != 2 || logits.shape()[1] != config.experts {
        return check::misfit(NAME, format!("logits of shape {:?}, expected [T, {}]", logits.shape(), config.experts));
    }
    if let Some(bias) = &bias {
        check::dtype(NAME, "for the bias", bias, DType::F32)?;
        if bias.shape() != [config.experts] {
            return check::misfit(
                NAME,
                format!(
                    "a bias of shape {:?} for logits of shape {:?}, expected [{}]",
                    bias.shape(),
                    logits.shape(),
                    config.experts
                ),
            );
        }
    }
    let shape = [logits.shape()[0], config.top_k];
    let (mut weights, mut experts) = (Tensor::empty(&shape, DType::F32)?, Tensor::empty(&shape, DType::I32)?);
    let tile = [pieces::row_tile(logits.shape(), logits.dtype())[0], config.top_k.max(1)];
    let bytes = pieces::bytes(&logits) + 2.0 * pieces::bytes(&weights.view());
    let work = Work::new(6.0 * logits.numel() as f64, bytes);
    for_float!(NAME, logits.dtype(), T => {
        let kernel = Gate::<T> { config: *config, biased: bias.is_some(), work, element: PhantomData };
        let mut launch = Launch::new(kernel).input(&logits);
        if let Some(bias) = &bias {
            launch = launch.input(bias);
        }
        launch.output(&mut weights, tile).output(&mut experts, tile).submit()
    })?;
    Ok((weights, experts))
}

struct Gate<T> {
    config: GateConfig,
    biased: bool,
    work: Work,
    element: PhantomData<fn(T)>,
}

impl<T: Float> Kernel for Gate<T> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        self.work
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let GateConfig { experts, groups, top_k, route_scale, .. } = self.config;
        let logits = Reader::new(tile.input::<T>(0)?);
        let mut bias = vec![0.0; experts];
        if self.biased {
            Reader::new(tile.input::<f32>(1)?).widen_row(0, &mut bias);
        }
        let (mut weights, mut chosen) = (tile.output::<f32>(0)?, tile.output::<i32>(1)?);
        let (mut scores, mut merit) = (vec![0.0; experts], vec![0.0; experts]);
        let (mut group_merit, mut order) = (vec![0.0; groups], Vec::with_capacity(experts));
        for (i, row) in weights.rows().enumerate() {
            logits.widen_row(row, &mut scores);
            for score in &mut scores {
                *score = 1.0 / (1.0 + (-*score).exp());
            }
            for ((merit, score), bias) in merit.iter_mut().zip(&scores).zip(&bias) {
                *merit = score + bias;
            }
            if groups > 1 {
                self.mask(&mut merit, &mut group_merit, &mut order);
            }
            largest(&merit, top_k, &mut order);
            let sum: f32 = order.iter().map(|&e| scores[e as usize]).sum();
            for ((weight, chosen), &e) in weights.row_mut(i).iter_mut().zip(chosen.row_mut(i)).zip(&order) {
                *weight = scores[e as usize] / sum * route_scale;
                *chosen = e as i32;
            }
        }
        Ok(())
    }
}

impl<T> Gate<T> {
    /// Makes experts outside of the best groups impossible: minus infinity, since 0 would beat a negative merit.
    fn mask(&self, merit: &mut [f32], group_merit: &mut [f32], order: &mut Vec<u32>) {
        let size = self.config.experts / self.config.groups;
        let counted = if self.biased { 2 } else { 1 };
        for (group, total) in merit.chunks_exact(size).zip(group_merit.iter_mut()) {
            largest(group, counted.min(size), order);
            *total = order.iter().map(|&e| group[e as usize]).sum();
        }
        largest(group_merit, self.config.topk_groups, order);
        for (g, group) in merit.chunks_exact_mut(size).enumerate() {
            if !order.contains(&(g as u32)) {
                group.fill(f32::NEG_INFINITY);
            }
        }
    }
}
