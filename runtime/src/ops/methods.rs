//! The operators as methods.

use super::{GateConfig, MoeRouting};
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::tensor::{Operand, OperandMut, Tensor};

/// The operators as methods of everything that can be read: tensors, views, references to them.
pub trait Ops: Operand {
    /// The matrix product of `self` and `b`: [`matmul`](super::matmul()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn matmul(&self, b: &(impl Operand + ?Sized)) -> Result<Tensor> {
        super::matmul(self, b)
    }

    /// The products of two stacks of matrices: [`batch_matmul`](super::batch_matmul()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn batch_matmul(&self, b: &(impl Operand + ?Sized)) -> Result<Tensor> {
        super::batch_matmul(self, b)
    }

    /// The product with another weight for each group of rows: [`grouped_matmul`](super::grouped_matmul()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn grouped_matmul(&self, weights: &(impl Operand + ?Sized), offsets: &(impl Operand + ?Sized)) -> Result<Tensor> {
        super::grouped_matmul(self, weights, offsets)
    }

    /// `self + b`: [`add`](super::add()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn add(&self, b: &(impl Operand + ?Sized)) -> Result<Tensor> {
        super::add(self, b)
    }

    /// `self - b`: [`sub`](super::sub()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn sub(&self, b: &(impl Operand + ?Sized)) -> Result<Tensor> {
        super::sub(self, b)
    }

    /// `self * b`, element by element: [`mul`](super::mul()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn mul(&self, b: &(impl Operand + ?Sized)) -> Result<Tensor> {
        super::mul(self, b)
    }

    /// `self * factor`: [`scale`](super::scale()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn scale(&self, factor: f32) -> Result<Tensor> {
        super::scale(self, factor)
    }

    /// `self * sigmoid(self)`: [`silu`](super::silu()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn silu(&self) -> Result<Tensor> {
        super::silu(self)
    }

    /// `silu(gate) * up` of rows `[gate | up]`: [`swiglu`](super::swiglu()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn swiglu(&self) -> Result<Tensor> {
        super::swiglu(self)
    }

    /// The softmax along the last axis: [`softmax`](super::softmax()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn softmax(&self) -> Result<Tensor> {
        super::softmax(self)
    }

    /// The root-mean-square norm along the last axis: [`rms_norm`](super::rms_norm()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn rms_norm(&self, weight: &(impl Operand + ?Sized), eps: f32) -> Result<Tensor> {
        super::rms_norm(self, weight, eps)
    }

    /// The elements as another type: [`cast`](super::cast()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn cast(&self, to: DType) -> Result<Tensor> {
        super::cast(self, to)
    }

    /// A copy with the elements in row-major order: [`copy`](super::copy()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn contiguous(&self) -> Result<Tensor> {
        super::copy(self)
    }

    /// A copy with dimensions `a` and `b` exchanged: [`transpose`](super::transpose()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn transposed(&self, a: usize, b: usize) -> Result<Tensor> {
        super::transpose(self, a, b)
    }

    /// The `k` largest elements along the last axis and their places: [`top_k`](super::top_k()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn top_k(&self, k: usize) -> Result<(Tensor, Tensor)> {
        super::top_k(self, k)
    }

    /// The sums along `axis`: [`sum`](super::sum()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn sum(&self, axis: usize) -> Result<Tensor> {
        super::sum(self, axis)
    }

    /// The sum of all elements: [`sum_all`](super::sum_all()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn sum_all(&self) -> Result<Tensor> {
        super::sum_all(self)
    }

    /// The weights and numbers of each token's experts, from their logits: [`moe_gate`](super::moe_gate()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn moe_gate(&self, bias: Option<&dyn Operand>, config: &GateConfig) -> Result<(Tensor, Tensor)> {
        super::moe_gate(self, bias, config)
    }

    /// The order of the experts' rows, from each token's experts: [`moe_route`](super::moe_route()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn moe_route(&self, experts: usize) -> Result<MoeRouting> {
        super::moe_route(self, experts)
    }

    /// The rows in the experts' order, and that order: [`moe_permute`](super::moe_permute()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn moe_permute(&self, indices: &(impl Operand + ?Sized), experts: usize) -> Result<(Tensor, MoeRouting)> {
        super::moe_permute(self, indices, experts)
    }

    /// The rows in the experts' order, sent to their devices: [`moe_dispatch`](super::moe_dispatch()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn moe_dispatch(&self, routing: &MoeRouting) -> Result<Tensor> {
        super::moe_dispatch(self, routing)
    }

    /// The rows in the tokens' order again: [`moe_unpermute`](super::moe_unpermute()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn moe_unpermute(&self, routing: &MoeRouting) -> Result<Tensor> {
        super::moe_unpermute(self, routing)
    }

    /// The weighted sum of each token's rows: [`moe_combine`](super::moe_combine()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn moe_combine(&self, routing: &MoeRouting, weights: &(impl Operand + ?Sized)) -> Result<Tensor> {
        super::moe_combine(self, routing, weights)
    }

    /// The weighted sum of each token's rows, fetched from their devices: [`moe_collect`](super::moe_collect()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn moe_collect(&self, routing: &MoeRouting, weights: &(impl Operand + ?Sized)) -> Result<Tensor> {
        super::moe_collect(self, routing, weights)
    }
}

impl<T: Operand + ?Sized> Ops for T {}

/// The operators that work in place, as methods of everything that can be written: tensors and writable views.
///
/// A write through one tensor never changes another: a buffer that is shared with a clone is copied first.
pub trait OpsMut: OperandMut {
    /// `self += b`: [`add_`](super::add_()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn add_(&mut self, b: &(impl Operand + ?Sized)) -> Result<()> {
        super::add_(self, b)
    }

    /// `self -= b`: [`sub_`](super::sub_()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn sub_(&mut self, b: &(impl Operand + ?Sized)) -> Result<()> {
        super::sub_(self, b)
    }

    /// `self *= b`, element by element: [`mul_`](super::mul_()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn mul_(&mut self, b: &(impl Operand + ?Sized)) -> Result<()> {
        super::mul_(self, b)
    }

    /// `self *= factor`: [`scale_`](super::scale_()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn scale_(&mut self, factor: f32) -> Result<()> {
        super::scale_(self, factor)
    }

    /// The elements become those of `x`: [`copy_from_`](super::copy_from_()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn copy_from_(&mut self, x: &(impl Operand + ?Sized)) -> Result<()> {
        super::copy_from_(self, x)
    }

    /// Every element becomes `value`: [`fill`](super::fill()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn fill(&mut self, value: impl Element) -> Result<()> {
        super::fill(self, value)
    }

    /// Every element becomes zero: [`fill_zero`](super::fill_zero()).
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    fn fill_zero(&mut self) -> Result<()> {
        super::fill_zero(self)
    }
}

impl<T: OperandMut + ?Sized> OpsMut for T {}
