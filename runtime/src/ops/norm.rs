//! Operators that normalise each row: softmax and the root-mean-square norm. Rows are whole in a tile; what is summed is
//! summed in `f32` in a fixed order.

use std::marker::PhantomData;

use super::check;
use super::dispatch::for_float;
use super::number::{Float, exp, zip};
use super::pieces::{self, CHUNK, Reader};
use super::reduce::total;
use crate::error::{KernelResult, Result};
use crate::kernel::{Kernel, Launch, Tile, Work};
use crate::limit::CoreKind;
use crate::tensor::{Operand, Tensor};

/// `exp(x - max) / sum(exp(x - max))` along the last axis.
///
/// Minus infinity gives 0. A row that holds NaN or plus infinity, or nothing but minus infinity, is NaN throughout: that is
/// what the formula gives.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for a scalar, [`Error::DType`](crate::Error::DType) when `x` is not floating
/// point.
#[track_caller]
pub fn softmax(x: &(impl Operand + ?Sized)) -> Result<Tensor> {
    const NAME: &str = "Softmax";
    let x = x.view();
    let cols = check::last(NAME, &x)?;
    let work = Work::new(5.0 * x.numel() as f64, 2.0 * pieces::bytes(&x));
    let mut y = Tensor::empty(x.shape(), x.dtype())?;
    let tile = pieces::row_tile(x.shape(), x.dtype());
    for_float!(NAME, x.dtype(), T => Launch::new(Softmax::<T> { cols, work, element: PhantomData })
        .input(&x).output(&mut y, tile).submit())?;
    Ok(y)
}

struct Softmax<T> {
    cols: usize,
    work: Work,
    element: PhantomData<fn(T)>,
}

impl<T: Float> Kernel for Softmax<T> {
    fn name(&self) -> &'static str {
        "Softmax"
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        self.work
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let x = Reader::new(tile.input::<T>(0)?);
        let mut y = tile.output::<T>(0)?;
        let (mut wide, mut powers) = ([0.0; CHUNK], [0.0; CHUNK]);
        for (i, row) in y.rows().enumerate() {
            let places = row * self.cols..(row + 1) * self.cols;
            let mut max = f32::NEG_INFINITY;
            x.for_range(places.clone(), |_, x| {
                max = max.max(largest(T::widened(x, &mut wide)));
            });
            let mut sum = 0.0;
            x.for_range(places.clone(), |_, x| {
                let powers = &mut powers[..x.len()];
                for (power, &x) in powers.iter_mut().zip(T::widened(x, &mut wide)) {
                    *power = exp(x - max);
                }
                sum += total(powers);
            });
            let y = y.row_mut(i);
            x.for_range(places.clone(), |at, x| {
                let (x, y) = (T::widened(x, &mut wide), &mut y[at - places.start..][..x.len()]);
                T::compute(y, |y| {
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y = exp(x - max) / sum;
                    }
                });
            });
        }
        Ok(())
    }
}

/// The largest of at most [`CHUNK`] numbers, taken in 16 lanes. NaN is left out, and comes back with the sum.
fn largest(x: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; 16];
    for group in x.chunks(lanes.len()) {
        for (lane, &x) in lanes.iter_mut().zip(group) {
            *lane = if x > *lane { x } else { *lane };
        }
    }
    lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// `x / sqrt(mean(x²) + eps) * weight` along the last axis; `weight` has the length of that axis and the type of `x`.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the lengths differ, [`Error::DType`](crate::Error::DType) when the types
/// differ or are not floating point.
#[track_caller]
pub fn rms_norm(x: &(impl Operand + ?Sized), weight: &(impl Operand + ?Sized), eps: f32) -> Result<Tensor> {
    const NAME: &str = "RmsNorm";
    let (x, weight) = (x.view(), weight.view());
    let cols = check::last(NAME, &x)?;
    check::same_dtype(NAME, &x, &weight)?;
    if weight.shape() != [cols] {
        return check::misfit(
            NAME,
            format!("a weight of shape {:?} for rows of shape {:?}, expected [{cols}]", weight.shape(), x.shape()),
        );
    }
    let bytes = 2.0 * pieces::bytes(&x) + pieces::bytes(&weight);
    let work = Work::new(4.0 * x.numel() as f64, bytes);
    let mut y = Tensor::empty(x.shape(), x.dtype())?;
    let tile = pieces::row_tile(x.shape(), x.dtype());
    for_float!(NAME, x.dtype(), T => Launch::new(RmsNorm::<T> { cols, eps, work, element: PhantomData })
        .input(&x).input(&weight).output(&mut y, tile).submit())?;
    Ok(y)
}

struct RmsNorm<T> {
    cols: usize,
    eps: f32,
    work: Work,
    element: PhantomData<fn(T)>,
}

impl<T: Float> Kernel for RmsNorm<T> {
    fn name(&self) -> &'static str {
        "RmsNorm"
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        self.work
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let (x, weight) = (Reader::new(tile.input::<T>(0)?), Reader::new(tile.input::<T>(1)?));
        let mut y = tile.output::<T>(0)?;
        let (mut wide, mut squares) = ([0.0; CHUNK], [0.0; CHUNK]);
        let mut wide_weight = [0.0; CHUNK];
        let mut buffer = [T::default(); CHUNK];
        for (i, row) in y.rows().enumerate() {
            let places = row * self.cols..(row + 1) * self.cols;
            let mut sum = 0.0;
            x.for_range(places.clone(), |_, x| {
                let squares = &mut squares[..x.len()];
                for (square, &x) in squares.iter_mut().zip(T::widened(x, &mut wide)) {
                    *square = x * x;
                }
                sum += total(squares);
            });
            let factor = 1.0 / (sum / self.cols as f32 + self.eps).sqrt();
            let y = y.row_mut(i);
            x.for_range(places.clone(), |at, x| {
                let at = at - places.start;
                let y = &mut y[at..][..x.len()];
                let weight = T::widened(weight.read(at, x.len(), &mut buffer), &mut wide_weight);
                let x = T::widened(x, &mut wide);
                T::compute(y, |y| zip(x, weight, y, |x, weight| x * factor * weight));
            });
        }
        Ok(())
    }
}
