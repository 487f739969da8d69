//! Functions and methods in every place that a plan can be asked of.

use multicore::prelude::*;
use multicore::{Plan, plan_of};

pub(crate) mod one {
    use super::*;

    #[multicore(explain)]
    pub(crate) fn twin(a: &Stream, x: &Tensor) -> Result<Tensor> {
        stream!(a, { x.scale(2.0) })
    }
}

pub(crate) mod two {
    use super::*;

    #[multicore(explain)]
    pub(crate) fn twin(a: &Stream, b: &Stream, x: &Tensor) -> Result<Tensor> {
        let y = stream!(a, { x.scale(2.0)? });
        let z = stream!(b, { x.scale(3.0)? });
        y.add(&z)
    }
}

pub(crate) use one::twin as public_name;

mod private {
    use super::*;

    #[multicore(explain)]
    pub fn hidden(a: &Stream, x: &Tensor) -> Result<Tensor> {
        stream!(a, { x.scale(2.0) })
    }
}

pub(crate) use private::hidden as from_private_module;

#[multicore(explain)]
pub(crate) fn generic<T: Clone>(a: &Stream, x: &Tensor, values: &[T]) -> Result<(Tensor, Vec<T>)> {
    let y = stream!(a, { x.scale(2.0)? });
    Ok((y.add(x)?, values.to_vec()))
}

pub(crate) struct Layer {
    side: Stream,
    gate: Tensor,
}

impl Layer {
    #[multicore(explain)]
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = stream!(&self.side, { x.mul(&self.gate)? });
        y.add(x)
    }

    #[multicore(explain)]
    pub(crate) fn with_gate(side: &Stream, x: &Tensor) -> Result<Self> {
        let gate = stream!(side, { x.scale(2.0)? });
        Ok(Self { side: side.clone(), gate })
    }

    #[multicore(explain)]
    pub(crate) fn without_self(a: &Stream, x: &Tensor) -> Result<Tensor>
    where
        Self: Sized,
    {
        let y = stream!(a, { x.scale(2.0)? });
        x.add(&y)
    }

    pub(crate) fn of_self() -> &'static Plan {
        plan_of!(Self::forward)
    }

    /// Private, and so not to be told from a method of a trait.
    #[multicore(explain)]
    fn alone(&self, x: &Tensor) -> Result<Tensor> {
        stream!(&self.side, { x.scale(2.0) })
    }
}

pub(crate) trait Module {
    fn apply(&self, x: &Tensor) -> Result<Tensor>;
}

impl Module for Layer {
    #[multicore(explain)]
    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.alone(x)?;
        stream!(&self.side, { y.scale(2.0) })
    }
}

pub(crate) struct Generic<T>(pub(crate) Vec<T>);

impl<T> Generic<T> {
    #[multicore(explain)]
    #[allow(dead_code)]
    pub(crate) fn forward(&self, side: &Stream, x: &Tensor) -> Result<(Tensor, usize)> {
        let y = stream!(side, { x.scale(2.0)? });
        Ok((y.add(x)?, self.0.len()))
    }
}
