//! What operators ask of their operands, and the messages when they do not get it.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::View;

/// A shape error; `reason` names the shapes and what would fit.
pub(super) fn misfit<T>(operator: &'static str, reason: String) -> Result<T> {
    Err(Error::Shape { operator, reason })
}

/// A type error; `expected` says what would fit.
pub(super) fn unfit<T>(operator: &'static str, expected: impl Into<String>, found: DType) -> Result<T> {
    Err(Error::DType { operator, expected: expected.into(), found })
}

/// `x` must have `rank` dimensions; `form` spells them, as in `[rows, columns]`.
pub(super) fn rank(operator: &'static str, what: &str, x: &View<'_>, rank: usize, form: &str) -> Result<()> {
    if x.shape().len() == rank {
        return Ok(());
    }
    misfit(operator, format!("{what} has shape {:?}, expected {form}", x.shape()))
}

/// The last dimension of `x`, which must have one.
pub(super) fn last(operator: &'static str, x: &View<'_>) -> Result<usize> {
    match x.shape().last() {
        Some(&n) => Ok(n),
        None => misfit(operator, "the operand is a scalar (shape []), expected at least one dimension".to_owned()),
    }
}

/// `axis` must be a dimension of `x`.
pub(super) fn axis(operator: &'static str, x: &View<'_>, axis: usize) -> Result<()> {
    if axis < x.shape().len() {
        return Ok(());
    }
    misfit(operator, format!("no axis {axis} in shape {:?}", x.shape()))
}

pub(super) fn same_shape(operator: &'static str, a: &View<'_>, b: &View<'_>) -> Result<()> {
    if a.shape() == b.shape() {
        return Ok(());
    }
    misfit(operator, format!("shapes {:?} and {:?} differ, expected operands of one shape", a.shape(), b.shape()))
}

pub(super) fn same_dtype(operator: &'static str, a: &View<'_>, b: &View<'_>) -> Result<()> {
    dtype(operator, "like the first operand; cast one of the two", b, a.dtype())
}

/// `x` must have elements of `expected`; `why` goes on after its name.
pub(super) fn dtype(operator: &'static str, why: &str, x: &View<'_>, expected: DType) -> Result<()> {
    if x.dtype() == expected {
        return Ok(());
    }
    unfit(operator, format!("{expected} ({why})"), x.dtype())
}
