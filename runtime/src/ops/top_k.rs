//! The largest elements of each row.

use std::cmp::Ordering;
use std::marker::PhantomData;

use super::check;
use super::dispatch::for_float;
use super::number::Float;
use super::pieces::{self, Reader};
use crate::dtype::DType;
use crate::error::{KernelResult, Result};
use crate::kernel::{Kernel, Launch, Tile, Work};
use crate::limit::CoreKind;
use crate::tensor::{Operand, Tensor};

/// The `k` largest elements along the last axis and their places (`int32`), largest first: `[.., N]` gives twice `[.., k]`.
/// Of equal elements the one at the lower place comes first. NaN is larger than every number.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for a scalar or when the axis has fewer than `k` elements,
/// [`Error::DType`](crate::Error::DType) when `x` is not floating point.
#[track_caller]
pub fn top_k(x: &(impl Operand + ?Sized), k: usize) -> Result<(Tensor, Tensor)> {
    const NAME: &str = "TopK";
    let x = x.view();
    let cols = check::last(NAME, &x)?;
    if k > cols || i32::try_from(cols).is_err() {
        return check::misfit(
            NAME,
            format!("{k} of the last dimension of shape {:?}: expected at most {cols}", x.shape()),
        );
    }
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = k;
    }
    let (mut values, mut places) = (Tensor::empty(&shape, x.dtype())?, Tensor::empty(&shape, DType::I32)?);
    let tile = [pieces::row_tile(x.shape(), x.dtype())[0], k.max(1)];
    let bytes = pieces::bytes(&x) + pieces::bytes(&values.view()) + pieces::bytes(&places.view());
    let work = Work::new(x.numel() as f64, bytes);
    for_float!(NAME, x.dtype(), T => Launch::new(TopK::<T> { cols, k, work, element: PhantomData })
        .input(&x).output(&mut values, tile).output(&mut places, tile).submit())?;
    Ok((values, places))
}

/// Larger first, NaN before all.
fn descending(a: f32, b: f32) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// Leaves in `order` the places of the `k` largest of `values`, largest first, of equal ones the lower place first.
pub(super) fn largest(values: &[f32], k: usize, order: &mut Vec<u32>) {
    order.clear();
    order.extend(0..values.len() as u32);
    let before = |&a: &u32, &b: &u32| descending(values[a as usize], values[b as usize]).then(a.cmp(&b));
    if k < order.len() {
        order.select_nth_unstable_by(k, before);
        order.truncate(k);
    }
    order.sort_unstable_by(before);
}

struct TopK<T> {
    cols: usize,
    k: usize,
    work: Work,
    element: PhantomData<fn(T)>,
}

impl<T: Float> Kernel for TopK<T> {
    fn name(&self) -> &'static str {
        "TopK"
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        self.work
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let x = Reader::new(tile.input::<T>(0)?);
        let (mut values, mut places) = (tile.output::<T>(0)?, tile.output::<i32>(1)?);
        let (mut wide, mut order) = (vec![0.0; self.cols], Vec::with_capacity(self.cols));
        for (i, row) in values.rows().enumerate() {
            x.widen_row(row, &mut wide);
            largest(&wide, self.k, &mut order);
            for (place, &found) in places.row_mut(i).iter_mut().zip(&order) {
                *place = found as i32;
            }
            for (value, &found) in values.row_mut(i).iter_mut().zip(&order) {
                T::narrow(&[wide[found as usize]], std::slice::from_mut(value));
            }
        }
        Ok(())
    }
}
