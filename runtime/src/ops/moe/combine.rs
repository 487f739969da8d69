//! The weighted sum of what the experts made of each token.

use std::marker::PhantomData;

use super::route::{MoeRouting, row_number};
use crate::dtype::DType;
use crate::error::{KernelResult, Result};
use crate::kernel::{Kernel, Launch, Pattern, Tile, Work};
use crate::limit::CoreKind;
use crate::ops::check;
use crate::ops::dispatch::for_float;
use crate::ops::number::Float;
use crate::ops::pieces::{self, CHUNK, Reader};
use crate::tensor::{Operand, Tensor, View};

/// For each token the sum of its rows of `y` (`[T k, H]`, in the experts' order) times its `weights` (`[T, k]`,
/// `float32`): `[T, H]`. Summed in `float32` in the order of the weights, rounded once.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the operands do not fit together, [`Error::DType`](crate::Error::DType) when
/// `y` is not floating point or `weights` not `float32`.
#[track_caller]
pub fn moe_combine(
    y: &(impl Operand + ?Sized),
    routing: &MoeRouting,
    weights: &(impl Operand + ?Sized),
) -> Result<Tensor> {
    combine("MoeFinalizeRouting", CoreKind::Vector, &y.view(), routing, &weights.view())
}

/// The same, with the rows fetched from the devices of their experts ([`CoreKind::Comm`]): the way back of
/// [`moe_dispatch`](super::moe_dispatch).
///
/// # Errors
/// Those of [`moe_combine`].
#[track_caller]
pub fn moe_collect(
    y: &(impl Operand + ?Sized),
    routing: &MoeRouting,
    weights: &(impl Operand + ?Sized),
) -> Result<Tensor> {
    combine("MoeCombine", CoreKind::Comm, &y.view(), routing, &weights.view())
}

#[track_caller]
fn combine(
    name: &'static str,
    kind: CoreKind,
    y: &View<'_>,
    routing: &MoeRouting,
    weights: &View<'_>,
) -> Result<Tensor> {
    check::rank(name, "the operand of rows", y, 2, "[T k, H]")?;
    check::rank(name, "the operand of weights", weights, 2, "[T, k]")?;
    check::dtype(name, "for the weights", weights, DType::F32)?;
    if y.shape()[0] != weights.numel() || routing.rows.numel() != weights.numel() {
        return check::misfit(
            name,
            format!(
                "rows of shape {:?} and weights of shape {:?} for a routing of {} slots: expected a row and a weight for each",
                y.shape(),
                weights.shape(),
                routing.rows.numel()
            ),
        );
    }
    let (shape, slots) = ([weights.shape()[0], y.shape()[1]], weights.shape()[1]);
    let mut sums = Tensor::empty(&shape, y.dtype())?;
    let tile = pieces::tile(&shape, y.dtype());
    let bytes = [y, weights, &routing.rows.view(), &sums.view()].map(pieces::bytes).iter().sum();
    let work = Work::new(2.0 * y.numel() as f64, bytes);
    let work = match kind {
        CoreKind::Comm => work.with_pattern(Pattern::AllToAll { sent: pieces::bytes(y), ranks: 0.0 }),
        _ => work,
    };
    for_float!(name, y.dtype(), T => Launch::new(Combine::<T> { name, kind, slots, work, element: PhantomData })
        .input(y).input(&routing.rows).input(weights).output(&mut sums, tile).submit())?;
    Ok(sums)
}

struct Combine<T> {
    name: &'static str,
    kind: CoreKind,
    /// Of each token.
    slots: usize,
    work: Work,
    element: PhantomData<fn(T)>,
}

impl<T: Float> Kernel for Combine<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> CoreKind {
        self.kind
    }

    fn work(&self) -> Work {
        self.work
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let (y, rows) = (tile.input::<T>(0)?, tile.input::<i32>(1)?.as_slice()?);
        let count = y.shape()[0];
        let (y, weights) = (Reader::new(y), Reader::new(tile.input::<f32>(2)?));
        let mut sums = tile.output::<T>(0)?;
        let (cols, width) = (sums.cols(), sums.width());
        let mut wide = [0.0; CHUNK];
        let mut total = vec![0.0; cols.len()];
        let mut weight = vec![0.0; self.slots];
        for (i, token) in sums.rows().enumerate() {
            weights.widen_row(token, &mut weight);
            total.fill(0.0);
            for (&row, &weight) in rows[token * self.slots..].iter().zip(&weight) {
                let start = row_number(row, 1, count)? * width + cols.start;
                y.for_range(start..start + cols.len(), |at, y| {
                    for (total, y) in total[at - start..].iter_mut().zip(T::widened(y, &mut wide)) {
                        *total += weight * y;
                    }
                });
            }
            T::narrow(&total, sums.row_mut(i));
        }
        Ok(())
    }
}
