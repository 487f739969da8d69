//! Operators that move elements and compute nothing: copies, concatenation, transposition, filling. For every type.

use std::marker::PhantomData;

use super::check;
use super::dispatch::for_any;
use super::pieces::{self, Reader, for_chunks};
use crate::dtype::Element;
use crate::error::{KernelResult, Result};
use crate::kernel::{Kernel, Launch, Tile, Work};
use crate::limit::CoreKind;
use crate::tensor::{Operand, OperandMut, Tensor, View};

/// A new tensor with the elements of `x` in row-major order, whatever the strides of `x`.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
#[track_caller]
pub fn copy(x: &(impl Operand + ?Sized)) -> Result<Tensor> {
    let x = x.view();
    let mut y = Tensor::empty(x.shape(), x.dtype())?;
    let tile = copy_tile(&x);
    for_any!(x.dtype(), T => Launch::new(Copy::<T>::new("Copy", &x)).input(&x).output(&mut y, tile).submit())?;
    Ok(y)
}

/// The elements of `y` become those of `x`, in place.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) and [`Error::DType`](crate::Error::DType) when the two differ.
#[track_caller]
pub fn copy_from_(y: &mut (impl OperandMut + ?Sized), x: &(impl Operand + ?Sized)) -> Result<()> {
    let x = x.view();
    check::same_dtype("Copy", &y.view(), &x)?;
    check::same_shape("Copy", &y.view(), &x)?;
    let tile = copy_tile(&x);
    for_any!(x.dtype(), T => Launch::new(Copy::<T>::new("Copy", &x)).input(&x).output(y, tile).submit())
}

/// A new tensor with dimensions `a` and `b` of `x` exchanged and the elements moved accordingly. Most operators take the
/// view that [`Tensor::transpose`] gives and need no copy.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when one of the dimensions does not exist.
#[track_caller]
pub fn transpose(x: &(impl Operand + ?Sized), a: usize, b: usize) -> Result<Tensor> {
    let x = x.view().transpose(a, b)?;
    let mut y = Tensor::empty(x.shape(), x.dtype())?;
    let tile = copy_tile(&x);
    for_any!(x.dtype(), T => Launch::new(Copy::<T>::new("Transpose", &x)).input(&x).output(&mut y, tile).submit())?;
    Ok(y)
}

fn copy_tile(x: &View<'_>) -> [usize; 2] {
    match x.strides().last() {
        Some(&stride) if stride != 1 => pieces::square_tile(x.shape()),
        _ => pieces::tile(x.shape(), x.dtype()),
    }
}

struct Copy<T> {
    name: &'static str,
    bytes: f64,
    element: PhantomData<fn(T)>,
}

impl<T> Copy<T> {
    fn new(name: &'static str, x: &View<'_>) -> Self {
        Copy { name, bytes: 2.0 * pieces::bytes(x), element: PhantomData }
    }
}

impl<T: Element> Kernel for Copy<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        Work::new(0.0, self.bytes)
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let x = Reader::new(tile.input::<T>(0)?);
        for_chunks(&mut tile.output(0)?, |at| x.run(at), |at, y| x.read_into(at, y));
        Ok(())
    }
}

/// `parts` one after the other along `axis`. They have one type, and one shape but for that axis.
///
/// ```
/// use multicore::prelude::*;
///
/// # fn main() -> Result<()> {
/// let x = Tensor::from_slice(&[1i32, 2, 3, 4], &[2, 2])?;
/// let y = multicore::ops::concat(&[x.slice(..1)?, x.view()], 0)?;
/// assert_eq!(y.to_vec::<i32>()?, [1, 2, 1, 2, 3, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when there are no parts, their shapes differ elsewhere or the axis does not exist; [`Error::DType`](crate::Error::DType)
/// when their types differ.
#[track_caller]
pub fn concat(parts: &[impl Operand], axis: usize) -> Result<Tensor> {
    const NAME: &str = "Concat";
    let parts: Vec<View<'_>> = parts.iter().map(Operand::view).collect();
    let Some(first) = parts.first() else {
        return check::misfit(NAME, "no parts given, expected at least one".to_owned());
    };
    check::axis(NAME, first, axis)?;
    // Each part is seen as a matrix: the dimensions before the axis as rows, the axis and those after it as columns.
    let mut ends = Vec::with_capacity(parts.len());
    let (mut places, mut width) = (0, 0);
    for part in &parts {
        check::same_dtype(NAME, first, part)?;
        let fits = part.shape().len() == first.shape().len()
            && part.shape().iter().zip(first.shape()).enumerate().all(|(i, (a, b))| i == axis || a == b);
        if !fits {
            return check::misfit(
                NAME,
                format!(
                    "shapes {:?} and {:?} differ in other dimensions than axis {axis}, expected parts that agree there",
                    first.shape(),
                    part.shape()
                ),
            );
        }
        places += part.shape()[axis];
        width += part.shape()[axis..].iter().product::<usize>();
        ends.push(width);
    }
    let rows: usize = first.shape()[..axis].iter().product();
    let mut y = Tensor::empty(&[rows, width], first.dtype())?;
    let tile = pieces::tile(&[rows, width], first.dtype());
    for_any!(first.dtype(), T => {
        let mut launch = Launch::new(Concat::<T> { rows, ends, element: PhantomData });
        for part in &parts {
            launch = launch.input(part);
        }
        launch.output(&mut y, tile).submit()
    })?;
    let mut shape = first.shape().to_vec();
    shape[axis] = places;
    y.reshape(&shape)
}

struct Concat<T> {
    rows: usize,
    /// The column of the result after each part.
    ends: Vec<usize>,
    element: PhantomData<fn(T)>,
}

impl<T: Element> Kernel for Concat<T> {
    fn name(&self) -> &'static str {
        "Concat"
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        let elements = self.rows * self.ends.last().copied().unwrap_or(0);
        Work::new(0.0, 2.0 * (elements * size_of::<T>()) as f64)
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let mut y = tile.output::<T>(0)?;
        let (rows, cols) = (y.rows(), y.cols());
        let mut start = 0;
        for (i, &end) in self.ends.iter().enumerate() {
            let part = start.max(cols.start)..end.min(cols.end);
            let width = end - start;
            if !part.is_empty() {
                let x = Reader::new(tile.input::<T>(i)?);
                for row in rows.clone() {
                    let to = &mut y.row_mut(row - rows.start)[part.start - cols.start..part.end - cols.start];
                    let from = row * width + part.start - start;
                    x.for_range(from..from + part.len(), |at, x| to[at - from..][..x.len()].copy_from_slice(x));
                }
            }
            start = end;
        }
        Ok(())
    }
}

/// Every element of `x` becomes `value`.
///
/// # Errors
/// [`Error::DType`](crate::Error::DType) when `value` is of another type than the elements.
#[track_caller]
pub fn fill<T: Element>(x: &mut (impl OperandMut + ?Sized), value: T) -> Result<()> {
    let view = x.view();
    check::dtype("Fill", "the type of the value", &view, T::DTYPE)?;
    let bytes = pieces::bytes(&view);
    let tile = pieces::tile(view.shape(), view.dtype());
    Launch::new(Fill { value, bytes }).output(x, tile).submit()
}

/// Every element of `x` becomes zero.
///
/// # Errors
/// Those of [`OperandMut::view_mut`].
#[track_caller]
pub fn fill_zero(x: &mut (impl OperandMut + ?Sized)) -> Result<()> {
    let dtype = x.view().dtype();
    for_any!(dtype, T => fill(x, T::default()))
}

struct Fill<T> {
    value: T,
    bytes: f64,
}

impl<T: Element> Kernel for Fill<T> {
    fn name(&self) -> &'static str {
        "Fill"
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        Work::new(0.0, self.bytes)
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let mut x = tile.output::<T>(0)?;
        for i in 0..x.rows().len() {
            x.row_mut(i).fill(self.value);
        }
        Ok(())
    }
}
