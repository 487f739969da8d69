//! Operators: each as a function here, and as a method through [`Ops`] and [`OpsMut`].
//!
//! An operator checks its operands, makes the tensor for its result, puts one launch on the current stream and returns at
//! once; what it gives may be used right away. Operands may be tensors or views of any strides, on the device of the
//! current stream. Half-precision numbers are computed with in `float32`.
//!
//! Results depend on the operands alone, to the last bit: never on core limits, on how many workers there are or on what
//! else runs. They are made with [`Kernel`](crate::Kernel) and [`Launch`](crate::Launch), as authors make their own.

mod cast;
mod check;
mod dispatch;
mod elementwise;
mod gemm;
mod layout;
mod matmul;
mod methods;
mod moe;
mod norm;
mod number;
mod pieces;
mod reduce;
mod top_k;

pub use cast::cast;
pub use elementwise::{add, add_, mul, mul_, scale, scale_, silu, sub, sub_, swiglu};
pub use layout::{concat, copy, copy_from_, fill, fill_zero, transpose};
pub use matmul::{batch_matmul, grouped_matmul, matmul};
pub use methods::{Ops, OpsMut};
pub use moe::{
    GateConfig, MoeRouting, moe_collect, moe_combine, moe_dispatch, moe_gate, moe_permute, moe_route, moe_unpermute,
};
pub use norm::{rms_norm, softmax};
pub use reduce::{sum, sum_all};
pub use top_k::top_k;
