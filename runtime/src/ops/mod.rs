//! Operators.

use crate::error::Result;
use crate::tensor::{Operand, Tensor};

/// .
pub trait Ops: Operand {}
impl<T: Operand + ?Sized> Ops for T {}

/// .
pub fn copy(_x: &impl Operand) -> Result<Tensor> {
    unimplemented!()
}
/// .
pub fn fill_zero(_x: &mut Tensor) -> Result<()> {
    unimplemented!()
}
