//! Token rows in the order of their experts: where each goes, the copy there, and the copy back.
//!
//! A token that goes to `k` experts has `k` *slots*, numbered `token * k + j`. Sorting the slots by expert, those of one
//! expert in their own order, gives the rows that the experts work on.

use std::marker::PhantomData;

use crate::dtype::{DType, Element};
use crate::error::{KernelResult, Result};
use crate::kernel::{Kernel, Launch, Pattern, Tile, Work};
use crate::limit::CoreKind;
use crate::ops::check;
use crate::ops::dispatch::for_any;
use crate::ops::layout::fill_zero;
use crate::ops::pieces::{self, Reader};
use crate::tensor::{Operand, Tensor, View};

/// Which row of the sorted order each slot has. All `int32`, on the device.
#[derive(Clone, Debug)]
pub struct MoeRouting {
    /// `[T k]`: the slot that each row comes from.
    pub slots: Tensor,
    /// `[T k]`: the row that each slot goes to.
    pub rows: Tensor,
    /// `[E + 1]`: the first row of each expert, then the number of rows: what
    /// [`grouped_matmul`](crate::ops::grouped_matmul) takes.
    pub offsets: Tensor,
}

const ROUTE: &str = "MoeInitRouting";

/// Sorts the slots of `indices` (`[T, k]`, `int32`: the experts of each token) by expert, stably. An index that is no expert
/// makes the operator fail on the device.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) unless there are two dimensions, [`Error::DType`](crate::Error::DType) for other
/// types.
#[track_caller]
pub fn moe_route(indices: &(impl Operand + ?Sized), experts: usize) -> Result<MoeRouting> {
    let indices = indices.view();
    check::rank(ROUTE, "the operand of indices", &indices, 2, "[T, k]")?;
    check::dtype(ROUTE, "for the indices", &indices, DType::I32)?;
    let slots = indices.numel();
    if i32::try_from(slots).is_err() || i32::try_from(experts).is_err() {
        return check::misfit(
            ROUTE,
            format!("{slots} rows for {experts} experts: expected numbers that an int32 holds"),
        );
    }
    let mut routing = MoeRouting {
        slots: Tensor::empty(&[slots], DType::I32)?,
        rows: Tensor::empty(&[slots], DType::I32)?,
        offsets: Tensor::empty(&[experts + 1], DType::I32)?,
    };
    if slots == 0 {
        fill_zero(&mut routing.offsets)?;
    } else {
        // One tile: counting and placing each slot is a few nanoseconds, and stable only in order.
        Launch::new(Route { experts, slots })
            .input(&indices)
            .output(&mut routing.slots, [1, slots])
            .output(&mut routing.rows, [1, slots])
            .output(&mut routing.offsets, [1, experts + 1])
            .submit()?;
    }
    Ok(routing)
}

struct Route {
    experts: usize,
    slots: usize,
}

impl Kernel for Route {
    fn name(&self) -> &'static str {
        ROUTE
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        Work::new(0.0, 4.0 * (4 * self.slots + self.experts + 1) as f64)
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let indices = Reader::new(tile.input::<i32>(0)?);
        let (mut slots, mut rows, mut offsets) = (tile.output::<i32>(0)?, tile.output(1)?, tile.output(2)?);
        let (slots, rows, offsets) = (slots.row_mut(0), rows.row_mut(0), offsets.row_mut(0));
        let mut next = vec![0; self.experts];
        let mut wrong = None;
        indices.for_range(0..self.slots, |at, experts| {
            for (slot, &expert) in (at..).zip(experts) {
                match usize::try_from(expert).ok().and_then(|e| next.get_mut(e)) {
                    Some(count) => *count += 1,
                    None => wrong = wrong.or(Some((slot, expert))),
                }
            }
        });
        if let Some((slot, expert)) = wrong {
            return Err(format!(
                "index {expert} in place {slot}: expected the number of one of {} experts",
                self.experts
            )
            .into());
        }
        let mut first = 0i32;
        for (offset, next) in offsets.iter_mut().zip(&mut next) {
            *offset = first;
            first += std::mem::replace(next, first);
        }
        offsets[self.experts] = first;
        indices.for_range(0..self.slots, |at, experts| {
            for (slot, &expert) in (at..).zip(experts) {
                let row = &mut next[expert as usize];
                rows[slot] = *row;
                slots[*row as usize] = slot as i32;
                *row += 1;
            }
        });
        Ok(())
    }
}

/// The rows of `x` (`[T, H]`) in the experts' order (`[T k, H]`), and the order: [`moe_route`], then the copy, both on
/// vector cores.
///
/// ```
/// use multicore::ops::GateConfig;
/// use multicore::prelude::*;
///
/// # fn main() -> Result<()> {
/// // Two tokens, three experts, each token to its two best.
/// let config = GateConfig { experts: 3, groups: 1, topk_groups: 1, top_k: 2, route_scale: 1.0 };
/// let logits = Tensor::from_slice(&[0.0f32, 9.0, 9.0, 9.0, 9.0, 0.0], &[2, 3])?;
/// let (weights, experts) = logits.moe_gate(None, &config)?;
/// assert_eq!(experts.to_vec::<i32>()?, [1, 2, 0, 1]);
///
/// let x = Tensor::from_slice(&[10.0f32, 20.0], &[2, 1])?;
/// let (rows, routing) = x.moe_permute(&experts, config.experts)?;
/// assert_eq!(rows.to_vec::<f32>()?, [20.0, 10.0, 20.0, 10.0]);
/// assert_eq!(routing.offsets.to_vec::<i32>()?, [0, 1, 3, 4]);
///
/// // Experts that change nothing: the weights of a token add up to 1.
/// assert_eq!(rows.moe_combine(&routing, &weights)?.to_vec::<f32>()?, [10.0, 20.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`moe_route`], and [`Error::Shape`](crate::Error::Shape) when `x` has not a row for each row of `indices`.
#[track_caller]
pub fn moe_permute(
    x: &(impl Operand + ?Sized),
    indices: &(impl Operand + ?Sized),
    experts: usize,
) -> Result<(Tensor, MoeRouting)> {
    let routing = moe_route(indices, experts)?;
    let rows = to_experts("MoeTokenPermute", CoreKind::Vector, &x.view(), &routing)?;
    Ok((rows, routing))
}

/// The rows of `x` (`[T, H]`) in the experts' order (`[T k, H]`), sent to the devices of their experts
/// ([`CoreKind::Comm`]). On one device that is a copy.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the routing is not that of tokens as many as the rows of `x`.
#[track_caller]
pub fn moe_dispatch(x: &(impl Operand + ?Sized), routing: &MoeRouting) -> Result<Tensor> {
    to_experts("MoeDispatch", CoreKind::Comm, &x.view(), routing)
}

#[track_caller]
fn to_experts(name: &'static str, kind: CoreKind, x: &View<'_>, routing: &MoeRouting) -> Result<Tensor> {
    check::rank(name, "the operand of rows", x, 2, "[T, H]")?;
    let (tokens, slots) = (x.shape()[0], routing.slots.numel());
    if if tokens == 0 { slots != 0 } else { !slots.is_multiple_of(tokens) } {
        return check::misfit(
            name,
            format!(
                "rows of shape {:?} for a routing of {slots} slots: expected as many slots for each row",
                x.shape()
            ),
        );
    }
    gather(name, kind, x, &routing.slots, slots / tokens.max(1))
}

/// The rows of `y` (`[T k, H]`), which are in the experts' order, in the order of the slots again: the opposite of
/// [`moe_permute`].
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the routing is not that of as many rows.
#[track_caller]
pub fn moe_unpermute(y: &(impl Operand + ?Sized), routing: &MoeRouting) -> Result<Tensor> {
    const NAME: &str = "MoeTokenUnpermute";
    let y = y.view();
    check::rank(NAME, "the operand of rows", &y, 2, "[T k, H]")?;
    if y.shape()[0] != routing.rows.numel() {
        return check::misfit(
            NAME,
            format!(
                "rows of shape {:?} for a routing of {} slots: expected a row for each",
                y.shape(),
                routing.rows.numel()
            ),
        );
    }
    gather(NAME, CoreKind::Vector, &y, &routing.rows, 1)
}

/// Row `i` of the result is row `from[i] / per` of `x`.
#[track_caller]
fn gather(name: &'static str, kind: CoreKind, x: &View<'_>, from: &Tensor, per: usize) -> Result<Tensor> {
    let shape = [from.numel(), x.shape()[1]];
    let mut y = Tensor::empty(&shape, x.dtype())?;
    let tile = pieces::tile(&shape, x.dtype());
    let bytes = 2.0 * pieces::bytes(&y.view()) + pieces::bytes(&from.view());
    let pattern = match kind {
        CoreKind::Comm => Pattern::AllToAll { sent: pieces::bytes(&y.view()), ranks: 0.0 },
        _ => Pattern::Pieces { bytes: (x.shape()[1] * x.dtype().size()) as f64 },
    };
    let work = Work::new(0.0, bytes).with_pattern(pattern);
    for_any!(x.dtype(), T => Launch::new(Gather::<T> { name, kind, per, work, element: PhantomData })
        .input(x).input(from).output(&mut y, tile).submit())?;
    Ok(y)
}

struct Gather<T> {
    name: &'static str,
    kind: CoreKind,
    per: usize,
    work: Work,
    element: PhantomData<fn(T)>,
}

impl<T: Element> Kernel for Gather<T> {
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
        let (x, from) = (tile.input::<T>(0)?, tile.input::<i32>(1)?.as_slice()?);
        let count = x.shape()[0];
        let x = Reader::new(x);
        let mut y = tile.output::<T>(0)?;
        let (cols, width) = (y.cols(), y.width());
        for (i, row) in y.rows().enumerate() {
            let source = row_number(from[row], self.per, count)?;
            let to = y.row_mut(i);
            let start = source * width + cols.start;
            x.for_range(start..start + cols.len(), |at, x| to[at - start..][..x.len()].copy_from_slice(x));
        }
        Ok(())
    }
}

/// `place / per` as the number of one of `count` rows: a routing may be made by hand.
pub(super) fn row_number(place: i32, per: usize, count: usize) -> Result<usize, String> {
    match usize::try_from(place).map(|place| place / per) {
        Ok(row) if row < count => Ok(row),
        _ => {
            Err(format!("place {place} of a routing that has {count} rows to come from, expected 0 to {}", count * per))
        }
    }
}
