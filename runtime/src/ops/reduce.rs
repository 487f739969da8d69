//! Sums: along an axis, and of everything. Taken in `f32`, in an order that follows from the shape alone.

use std::marker::PhantomData;

use super::check;
use super::dispatch::for_float;
use super::number::Float;
use super::pieces::{self, CHUNK, Reader, for_chunks};
use crate::dtype::DType;
use crate::error::{KernelResult, Result};
use crate::kernel::{Kernel, Launch, Tile, Work};
use crate::limit::CoreKind;
use crate::tensor::{Operand, Tensor, View};

/// The sums along `axis`, which the result no longer has. Taken in `float32`, rounded once.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when there is no such axis, [`Error::DType`](crate::Error::DType) when `x` is not
/// floating point.
#[track_caller]
pub fn sum(x: &(impl Operand + ?Sized), axis: usize) -> Result<Tensor> {
    let x = x.view();
    check::axis(NAME, &x, axis)?;
    let mut shape = x.shape().to_vec();
    let terms = shape.remove(axis);
    let mut y = Tensor::empty(&shape, x.dtype())?;
    let work = work(&x, y.numel());
    let tile = pieces::tile(&shape, x.dtype());
    for_float!(NAME, x.dtype(), T => {
        if axis == shape.len() {
            // Fewer outputs a tile when each is a long sum.
            let tile = [tile[0], (tile[1] / terms.max(1)).max(1)];
            let kernel = SumOfRuns::<T, T> { run: terms, all: x.numel(), work, element: PhantomData };
            Launch::new(kernel).input(&x).output(&mut y, tile).submit()
        } else {
            // The axis first, so that term `j` of all sums is one run of elements.
            let mut x = x;
            for a in (0..axis).rev() {
                x = x.transpose(a, a + 1)?;
            }
            let kernel = SumOfRows::<T> { terms, width: y.numel(), work, element: PhantomData };
            Launch::new(kernel).input(&x).output(&mut y, tile).submit()
        }
    })?;
    Ok(y)
}

/// The sum of all elements, as a scalar (a tensor of shape `[]`). Taken in `float32`, rounded once.
///
/// # Errors
/// [`Error::DType`](crate::Error::DType) when `x` is not floating point.
#[track_caller]
pub fn sum_all(x: &(impl Operand + ?Sized)) -> Result<Tensor> {
    /// Elements of a partial sum.
    const RUN: usize = 32 << 10;
    let x = x.view();
    let all = x.numel();
    let parts = all.div_ceil(RUN);
    let mut y = Tensor::empty(&[], x.dtype())?;
    for_float!(NAME, x.dtype(), T => {
        if parts <= 1 {
            let kernel = SumOfRuns::<T, T> { run: all, all, work: work(&x, 1), element: PhantomData };
            Launch::new(kernel).input(&x).output(&mut y, [1, 1]).submit()
        } else {
            let mut partial = Tensor::empty(&[parts], DType::F32)?;
            let kernel = SumOfRuns::<T, f32> { run: RUN, all, work: work(&x, parts), element: PhantomData };
            Launch::new(kernel).input(&x).output(&mut partial, [1, 1]).submit()?;
            let kernel = SumOfRuns::<f32, T> { run: parts, all: parts, work: work(&partial.view(), 1), element: PhantomData };
            Launch::new(kernel).input(&partial).output(&mut y, [1, 1]).submit()
        }
    })?;
    Ok(y)
}

const NAME: &str = "ReduceSum";

fn work(x: &View<'_>, results: usize) -> Work {
    let bytes = pieces::bytes(x) + (results * x.dtype().size()) as f64;
    Work::new(x.numel() as f64, bytes)
}

/// The sum of at most [`CHUNK`] numbers, in 16 lanes that are added pairwise.
#[inline]
pub(super) fn total(x: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    let (groups, rest) = x.as_chunks::<16>();
    for group in groups {
        for (lane, x) in lanes.iter_mut().zip(group) {
            *lane += x;
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane += x;
    }
    let mut width = 8;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Element `i` of the output is the sum of the `i`-th `run` elements of the input.
struct SumOfRuns<S, D> {
    run: usize,
    all: usize,
    work: Work,
    element: PhantomData<fn(S, D)>,
}

impl<S: Float, D: Float> Kernel for SumOfRuns<S, D> {
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
        let x = Reader::new(tile.input::<S>(0)?);
        let mut wide = [0.0; CHUNK];
        for_chunks(
            &mut tile.output::<D>(0)?,
            |_| usize::MAX,
            |at, y| {
                D::compute(y, |y| {
                    for (i, y) in (at..).zip(y) {
                        *y = 0.0;
                        let run = i * self.run..((i + 1) * self.run).min(self.all);
                        x.for_range(run, |_, x| *y += total(S::widened(x, &mut wide)));
                    }
                });
            },
        );
        Ok(())
    }
}

/// Element `i` of the output is the sum of the elements `i`, `i + width`, `i + 2 width`, .. of the input.
struct SumOfRows<T> {
    terms: usize,
    width: usize,
    work: Work,
    element: PhantomData<fn(T)>,
}

impl<T: Float> Kernel for SumOfRows<T> {
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
        let x = Reader::new(tile.input::<T>(0)?);
        let mut wide = [0.0; CHUNK];
        for_chunks(
            &mut tile.output::<T>(0)?,
            |_| usize::MAX,
            |start, y| {
                T::compute(y, |y| {
                    y.fill(0.0);
                    for row in 0..self.terms {
                        let from = row * self.width + start;
                        x.for_range(from..from + y.len(), |at, x| {
                            for (y, x) in y[at - from..].iter_mut().zip(T::widened(x, &mut wide)) {
                                *y += x;
                            }
                        });
                    }
                });
            },
        );
        Ok(())
    }
}
