//! Products of matrices: single, in batches, and with a weight for each group of rows.
//!
//! A tile is a panel of rows times a panel of columns, whose sizes follow from the shape of the result alone. So a result
//! is the same to the last bit under every core limit and on any number of workers.

use std::marker::PhantomData;
use std::ops::Range;

use super::check;
use super::dispatch::for_float;
use super::gemm::{Matrix, Multiply};
use super::pieces::{Reader, bytes};
use crate::dtype::{DType, Element};
use crate::error::{KernelResult, Result};
use crate::kernel::{Input, Kernel, Launch, Output, Pattern, Tile, Work};
use crate::limit::CoreKind;
use crate::tensor::{Operand, Tensor, View};

/// Rows and columns of a tile: large enough that packing the panels costs little beside the product.
const PANEL: [usize; 2] = [256, 512];

/// The matrix product `a b`: `[M, K]` times `[K, N]` gives `[M, N]`.
///
/// Both are `float32`, `float16` or `bfloat16`, and may be transposed or strided views. Sums are taken in `float32`.
///
/// ```
/// use multicore::prelude::*;
///
/// # fn main() -> Result<()> {
/// let a = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let b = Tensor::from_slice(&[1.0f32, 0.0, 1.0, 1.0], &[2, 2])?;
/// assert_eq!(a.matmul(&b)?.to_vec::<f32>()?, [3.0, 2.0, 7.0, 4.0]);
/// assert_eq!(a.matmul(&b.t()?)?.to_vec::<f32>()?, [1.0, 3.0, 3.0, 7.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) unless both have two dimensions and the columns of `a` are as many as the rows of
/// `b`; [`Error::DType`](crate::Error::DType) for other types or two different ones.
#[track_caller]
pub fn matmul(a: &(impl Operand + ?Sized), b: &(impl Operand + ?Sized)) -> Result<Tensor> {
    const NAME: &str = "MatMul";
    let (a, b) = (a.view(), b.view());
    check::rank(NAME, "the left operand", &a, 2, "[M, K]")?;
    check::rank(NAME, "the right operand", &b, 2, "[K, N]")?;
    fits(NAME, &a, &b)?;
    let mut c = Tensor::empty(&[a.shape()[0], b.shape()[1]], a.dtype())?;
    for_float!(NAME, a.dtype(), T => Launch::new(Product::<T>::new(NAME, &a, &b, Groups::One))
        .input(&a).input(&b).output(&mut c, PANEL).submit())?;
    Ok(c)
}

/// The products of two stacks of matrices: `[B, M, K]` times `[B, K, N]` gives `[B, M, N]`. Otherwise as [`matmul`].
///
/// # Errors
/// Those of [`matmul`], for three dimensions, of which the first must be equal.
#[track_caller]
pub fn batch_matmul(a: &(impl Operand + ?Sized), b: &(impl Operand + ?Sized)) -> Result<Tensor> {
    const NAME: &str = "BatchMatMul";
    let (a, b) = (a.view(), b.view());
    check::rank(NAME, "the left operand", &a, 3, "[B, M, K]")?;
    check::rank(NAME, "the right operand", &b, 3, "[B, K, N]")?;
    if a.shape()[0] != b.shape()[0] {
        return check::misfit(
            NAME,
            format!(
                "{:?} times {:?}: the first dimensions differ, expected stacks of one length",
                a.shape(),
                b.shape()
            ),
        );
    }
    fits(NAME, &a, &b)?;
    let mut c = Tensor::empty(&[a.shape()[0], a.shape()[1], b.shape()[2]], a.dtype())?;
    for_float!(NAME, a.dtype(), T => Launch::new(Product::<T>::new(NAME, &a, &b, Groups::Equal))
        .input(&a).input(&b).output(&mut c, PANEL).submit())?;
    Ok(c)
}

/// A product with another weight for each group of rows: rows `offsets[e] .. offsets[e + 1]` of `x` (`[M, K]`) times
/// `weights[e]` (of `[E, K, N]`) give the same rows of the result (`[M, N]`). Rows in no group become zero.
///
/// `offsets` is an `int32` or `int64` tensor `[E + 1]` that is read on the device, when the operator runs: the host need
/// not know how many rows each group has. Offsets that descend or go beyond `M` make the operator fail there.
///
/// ```
/// use multicore::prelude::*;
///
/// # fn main() -> Result<()> {
/// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3, 1])?;
/// let weights = Tensor::from_slice(&[10.0f32, 100.0], &[2, 1, 1])?;
/// let offsets = Tensor::from_slice(&[0i32, 2, 3], &[3])?;
/// assert_eq!(x.grouped_matmul(&weights, &offsets)?.to_vec::<f32>()?, [10.0, 20.0, 300.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) and [`Error::DType`](crate::Error::DType) when the operands are not as above.
#[track_caller]
pub fn grouped_matmul(
    x: &(impl Operand + ?Sized),
    weights: &(impl Operand + ?Sized),
    offsets: &(impl Operand + ?Sized),
) -> Result<Tensor> {
    const NAME: &str = "GroupedMatmul";
    let (x, weights, offsets) = (x.view(), weights.view(), offsets.view());
    check::rank(NAME, "the left operand", &x, 2, "[M, K]")?;
    check::rank(NAME, "the operand of weights", &weights, 3, "[E, K, N]")?;
    fits(NAME, &x, &weights)?;
    if offsets.shape() != [weights.shape()[0] + 1] {
        return check::misfit(
            NAME,
            format!(
                "offsets of shape {:?} for weights of shape {:?}, expected [{}]: the first row of each group, then the end",
                offsets.shape(),
                weights.shape(),
                weights.shape()[0] + 1
            ),
        );
    }
    let groups = match offsets.dtype() {
        DType::I64 => Groups::ByI64,
        _ => {
            check::dtype(NAME, "or int64, for the offsets", &offsets, DType::I32)?;
            Groups::ByI32
        }
    };
    let mut y = Tensor::empty(&[x.shape()[0], weights.shape()[2]], x.dtype())?;
    for_float!(NAME, x.dtype(), T => Launch::new(Product::<T>::new(NAME, &x, &weights, groups))
        .input(&x).input(&weights).input(&offsets).output(&mut y, PANEL).submit())?;
    Ok(y)
}

/// The last two dimensions of `a` and `b` must make a product.
fn fits(operator: &'static str, a: &View<'_>, b: &View<'_>) -> Result<()> {
    check::same_dtype(operator, a, b)?;
    let (k, rows) = (a.shape()[a.shape().len() - 1], b.shape()[b.shape().len() - 2]);
    if k == rows {
        return Ok(());
    }
    check::misfit(
        operator,
        format!(
            "{:?} times {:?}: the left operand has {k} columns and the right one {rows} rows, expected as many",
            a.shape(),
            b.shape()
        ),
    )
}

/// Which rows of the result are multiplied with which of the right matrices.
#[derive(Clone, Copy)]
enum Groups {
    /// There is one.
    One,
    /// As many rows for each.
    Equal,
    /// By offsets on the device.
    ByI32,
    ByI64,
}

struct Product<T> {
    name: &'static str,
    groups: Groups,
    work: Work,
    element: PhantomData<fn(T)>,
}

impl<T: Multiply> Product<T> {
    fn new(name: &'static str, a: &View<'_>, b: &View<'_>, groups: Groups) -> Self {
        let n = b.shape()[b.shape().len() - 1];
        let k = a.shape()[a.shape().len() - 1];
        let rows = a.numel() / k.max(1);
        let element = T::DTYPE.size();
        // Groups are of any size; on average, they share the rows equally.
        let batch = if b.shape().len() == 3 { b.shape()[0].max(1) } else { 1 };
        let [batch, m, n, k, element] = [batch, rows.div_ceil(batch), n, k, element].map(|x| x as f64);
        let bytes = bytes(a) + bytes(b) + rows as f64 * n * element;
        let work =
            Work::new(2.0 * a.numel() as f64 * n, bytes).with_pattern(Pattern::Products { batch, m, n, k, element });
        Product { name, groups, work, element: PhantomData }
    }
}

impl<T: Multiply> Kernel for Product<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Cube
    }

    fn work(&self) -> Work {
        self.work
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let (a, b) = (tile.input::<T>(0)?, tile.input::<T>(1)?);
        let mut c = tile.output::<T>(0)?;
        let (rows, cols) = (c.rows(), c.cols());
        match self.groups {
            Groups::One => {
                let (a, b) = (Matrix::of(&a, 0), Matrix::of(&b, 0));
                T::multiply(&mut c, 0..rows.len(), a.lines(rows), b.columns(cols));
            }
            Groups::Equal => {
                let m = a.shape()[1];
                for i in rows.start / m..rows.end.div_ceil(m) {
                    let part = rows.start.max(i * m)..rows.end.min((i + 1) * m);
                    let lines = part.start - i * m..part.end - i * m;
                    let (a, b) = (Matrix::of(&a, i), Matrix::of(&b, i));
                    let place = part.start - rows.start..part.end - rows.start;
                    T::multiply(&mut c, place, a.lines(lines), b.columns(cols.clone()));
                }
            }
            Groups::ByI32 | Groups::ByI64 => {
                let (all, a) = (a.shape()[0], Matrix::of(&a, 0));
                // Rows before this one are written.
                let mut done = rows.start;
                let mut multiply = |group: usize, part: Range<usize>| {
                    let part = part.start.clamp(done, rows.end)..part.end.clamp(done, rows.end);
                    clear(&mut c, done - rows.start..part.start - rows.start);
                    let place = part.start - rows.start..part.end - rows.start;
                    done = part.end;
                    if !part.is_empty() {
                        T::multiply(&mut c, place, a.lines(part), Matrix::of(&b, group).columns(cols.clone()));
                    }
                };
                match self.groups {
                    Groups::ByI64 => for_groups(tile.input::<i64>(2)?, all, &mut multiply)?,
                    _ => for_groups(tile.input::<i32>(2)?, all, &mut multiply)?,
                }
                clear(&mut c, done - rows.start..rows.len());
            }
        }
        Ok(())
    }
}

fn clear<T: Element>(c: &mut Output<'_, T>, rows: Range<usize>) {
    for i in rows {
        c.row_mut(i).fill(T::default());
    }
}

/// Hands each group and its rows, of `all`, to `f`.
fn for_groups<I: Element + Into<i64>>(
    offsets: Input<'_, I>,
    all: usize,
    f: &mut impl FnMut(usize, Range<usize>),
) -> KernelResult {
    let mut start = 0;
    let mut wrong = None;
    Reader::new(offsets).for_range(0..offsets.shape()[0], |at, offsets| {
        for (i, &offset) in (at..).zip(offsets) {
            match usize::try_from(offset.into()) {
                Ok(end) if start <= end && end <= all => {
                    if i > 0 && wrong.is_none() {
                        f(i - 1, start..end);
                    }
                    start = end;
                }
                _ => wrong = wrong.or(Some((i, offset.into()))),
            }
        }
    });
    match wrong {
        None => Ok(()),
        Some((i, offset)) => {
            Err(format!("offset {i} is {offset}: expected offsets that ascend from 0 to at most {all} rows").into())
        }
    }
}
