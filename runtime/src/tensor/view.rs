//! Views: a part of a tensor, or another order of its dimensions, without a copy. A view borrows the tensor, so that
//! Rust's own rules say when it may be written.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use smallvec::SmallVec;

use super::shape::{self, Dims};
use super::{Tensor, reshaped};
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::memory::Buffer;

/// A readable part of a tensor. Cheap to clone.
#[derive(Clone)]
pub struct View<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) dtype: DType,
    /// Elements before the first one.
    pub(crate) offset: usize,
    pub(crate) shape: Dims,
    pub(crate) strides: Dims,
}

/// A writable part of a tensor.
pub struct ViewMut<'a> {
    pub(crate) part: View<'a>,
    pub(crate) tensor: PhantomData<&'a mut Tensor>,
}

/// What can be read by an operator: a [`Tensor`], a [`View`], a [`ViewMut`], or a reference to one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor",
    label = "expected a `Tensor`, a `View` or a reference to one"
)]
pub trait Operand {
    /// The whole of it as a view.
    fn view(&self) -> View<'_>;
}

/// What can be written by an operator: a [`Tensor`] or a [`ViewMut`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written by an operator",
    label = "expected a `Tensor` or a `ViewMut`"
)]
pub trait OperandMut: Operand {
    /// The whole of it as a writable view. A tensor whose buffer is shared with a clone gets its own copy first, made
    /// on the current stream.
    ///
    /// # Errors
    /// Those of the copy: memory, and a current stream on another device.
    fn view_mut(&mut self) -> Result<ViewMut<'_>>;
}

impl Operand for View<'_> {
    fn view(&self) -> View<'_> {
        self.clone()
    }
}

impl Operand for ViewMut<'_> {
    fn view(&self) -> View<'_> {
        self.part.clone()
    }
}

impl OperandMut for ViewMut<'_> {
    fn view_mut(&mut self) -> Result<ViewMut<'_>> {
        Ok(ViewMut { part: self.part.clone(), tensor: PhantomData })
    }
}

impl<T: Operand + ?Sized> Operand for &T {
    fn view(&self) -> View<'_> {
        (**self).view()
    }
}

impl<T: Operand + ?Sized> Operand for &mut T {
    fn view(&self) -> View<'_> {
        (**self).view()
    }
}

impl<T: OperandMut + ?Sized> OperandMut for &mut T {
    fn view_mut(&mut self) -> Result<ViewMut<'_>> {
        (**self).view_mut()
    }
}

fn bounds(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(&s) => s,
        Bound::Excluded(&s) => s.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&e) => e.saturating_add(1),
        Bound::Excluded(&e) => e,
        Bound::Unbounded => len,
    };
    (start, end)
}

impl<'a> View<'a> {
    /// Sizes, one a dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Distances between neighbours, one a dimension, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// True when the elements lie one after the other in row-major order.
    pub fn is_contiguous(&self) -> bool {
        shape::is_contiguous(&self.shape, &self.strides)
    }

    /// `len` places of dimension `axis`, from `start`.
    ///
    /// # Errors
    /// [`Error::Shape`] when the dimension does not exist or has fewer places.
    pub fn narrow(&self, axis: usize, start: usize, len: usize) -> Result<View<'a>> {
        let size = self.shape.get(axis).copied();
        if size.is_none() || start.checked_add(len).is_none_or(|end| Some(end) > size) {
            return Err(Error::Shape {
                operator: "narrow",
                reason: format!("no places {start}..{start}+{len} in dimension {axis} of shape {:?}", self.shape()),
            });
        }
        let mut part = self.clone();
        part.offset += start * self.strides[axis];
        part.shape[axis] = len;
        Ok(part)
    }

    /// A range of dimension 0: rows of a matrix.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are fewer rows.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<View<'a>> {
        let (start, end) = bounds(range, self.shape.first().copied().unwrap_or(0));
        if start > end {
            return Err(Error::Shape { operator: "slice", reason: format!("the range {start}..{end} is reversed") });
        }
        self.narrow(0, start, end - start)
    }

    /// The same elements with dimensions `a` and `b` exchanged.
    ///
    /// # Errors
    /// [`Error::Shape`] when one of the dimensions does not exist.
    pub fn transpose(&self, a: usize, b: usize) -> Result<View<'a>> {
        let rank = self.shape.len();
        if a >= rank || b >= rank {
            return Err(Error::Shape {
                operator: "transpose",
                reason: format!("no dimensions {a} and {b} in shape {:?}", self.shape()),
            });
        }
        let mut turned = self.clone();
        turned.shape.swap(a, b);
        turned.strides.swap(a, b);
        Ok(turned)
    }

    /// The transposed matrix: the last two dimensions exchanged.
    ///
    /// # Errors
    /// [`Error::Shape`] with fewer than two dimensions.
    pub fn t(&self) -> Result<View<'a>> {
        let rank = self.shape.len();
        if rank < 2 {
            return Err(Error::Shape {
                operator: "t",
                reason: format!("shape {:?} has fewer than two dimensions", self.shape()),
            });
        }
        self.transpose(rank - 2, rank - 1)
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of elements differs or the view is not contiguous.
    pub fn reshape(&self, to: &[usize]) -> Result<View<'a>> {
        if !self.is_contiguous() {
            return Err(Error::Shape {
                operator: "reshape",
                reason: format!("a view of shape {:?} that is not contiguous; call `contiguous` first", self.shape()),
            });
        }
        let mut part = self.clone();
        part.shape = reshaped(&self.shape, to)?;
        part.strides = shape::row_major(to);
        Ok(part)
    }

    /// Two views: the first `n` rows, and the rest.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are fewer rows.
    pub fn split_at(&self, n: usize) -> Result<(View<'a>, View<'a>)> {
        Ok((self.slice(..n)?, self.slice(n..)?))
    }

    /// The elements on the host, in row-major order. Waits for whatever writes them.
    ///
    /// # Errors
    /// [`Error::DType`] when the elements have another type, and [`Error::Kernel`] when what should have written them
    /// failed.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.expect_dtype::<T>("to_vec")?;
        let bytes = self.byte_range();
        self.buffer.read(bytes, |data: &[T]| {
            if self.is_contiguous() {
                return data.to_vec();
            }
            let mut out = Vec::with_capacity(self.numel());
            let mut at: Dims = SmallVec::from_elem(0, self.shape.len());
            for _ in 0..self.numel() {
                out.push(data[at.iter().zip(&self.strides).map(|(i, s)| i * s).sum::<usize>()]);
                for axis in (0..at.len()).rev() {
                    at[axis] += 1;
                    if at[axis] < self.shape[axis] {
                        break;
                    }
                    at[axis] = 0;
                }
            }
            out
        })
    }

    pub(crate) fn expect_dtype<T: Element>(&self, operator: &'static str) -> Result<()> {
        if self.dtype == T::DTYPE {
            return Ok(());
        }
        Err(Error::DType { operator, expected: T::DTYPE.name().to_owned(), found: self.dtype })
    }

    /// The bytes from the first to the last element.
    pub(crate) fn byte_range(&self) -> std::ops::Range<usize> {
        let start = self.offset * self.dtype.size();
        start..start + shape::extent(&self.shape, &self.strides) * self.dtype.size()
    }
}

impl<'a> ViewMut<'a> {
    /// Sizes, one a dimension.
    pub fn shape(&self) -> &[usize] {
        self.part.shape()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.part.dtype()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.part.numel()
    }

    /// A range of dimension 0, to be written.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are fewer rows.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_>> {
        Ok(ViewMut { part: self.part.slice(range)?, tensor: PhantomData })
    }

    /// `len` places of dimension `axis`, from `start`, to be written.
    ///
    /// # Errors
    /// [`Error::Shape`] when the dimension does not exist or has fewer places.
    pub fn narrow_mut(&mut self, axis: usize, start: usize, len: usize) -> Result<ViewMut<'_>> {
        Ok(ViewMut { part: self.part.narrow(axis, start, len)?, tensor: PhantomData })
    }

    /// Two views that can be written at the same time, also on two streams: the first `n` rows, and the rest.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are fewer rows.
    pub fn split_at_mut(self, n: usize) -> Result<(ViewMut<'a>, ViewMut<'a>)> {
        let (head, tail) = self.part.split_at(n)?;
        Ok((ViewMut { part: head, tensor: PhantomData }, ViewMut { part: tail, tensor: PhantomData }))
    }

    /// The elements on the host, in row-major order; see [`View::to_vec`].
    ///
    /// # Errors
    /// Those of [`View::to_vec`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.part.to_vec()
    }
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "View({}, {:?})", self.dtype, self.shape())
    }
}

impl std::fmt::Debug for ViewMut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ViewMut({}, {:?})", self.part.dtype, self.shape())
    }
}
