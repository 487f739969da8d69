//! Tensors: values with a shape and an element type, in the memory of a device.
//!
//! A tensor is a *value*: a clone shares the buffer until one of the two is written, and in-place operators take `&mut`.
//! So a write through one variable never changes another, which is what lets the macro reason by variable.

pub(crate) mod shape;
mod view;

use std::marker::PhantomData;
use std::sync::Arc;

use shape::Dims;
pub use view::{Operand, OperandMut, View, ViewMut};

use crate::current;
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::memory::Buffer;

/// A dense, row-major array of numbers in the memory of a device.
#[derive(Clone)]
pub struct Tensor {
    buffer: Arc<Buffer>,
    dtype: DType,
    shape: Dims,
    strides: Dims,
}

impl Tensor {
    /// A tensor of `shape` with the elements of `data` in row-major order, on the device of the current stream.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of elements does not fit the shape, [`Error::OutOfMemory`].
    pub fn from_slice<T: Element>(data: &[T], shape: &[usize]) -> Result<Tensor> {
        if shape::count(shape) != Some(data.len()) {
            return Err(Error::Shape {
                operator: "from_slice",
                reason: format!("{} elements given for shape {shape:?}", data.len()),
            });
        }
        let bytes = std::mem::size_of_val(data);
        let buffer = current::with_stream(|stream| Buffer::from_host(stream.device(), data, bytes))?;
        Ok(Tensor::over(buffer, shape, T::DTYPE))
    }

    /// A tensor of zeros, on the device of the current stream.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shape does not fit in memory, [`Error::OutOfMemory`].
    #[track_caller]
    pub fn zeros(shape: &[usize], dtype: DType) -> Result<Tensor> {
        let mut zeros = Tensor::empty(shape, dtype)?;
        crate::ops::fill_zero(&mut zeros)?;
        Ok(zeros)
    }

    /// A tensor whose elements have no particular value yet, for a kernel to write; on the device of the current stream.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shape does not fit in memory, [`Error::OutOfMemory`].
    pub fn empty(shape: &[usize], dtype: DType) -> Result<Tensor> {
        let Some(count) = shape::count(shape) else {
            return Err(Error::Shape { operator: "empty", reason: format!("shape {shape:?} does not fit in memory") });
        };
        let buffer = current::with_stream(|stream| Buffer::on_stream(stream, count * dtype.size()))?;
        Ok(Tensor::over(buffer, shape, dtype))
    }

    fn over(buffer: Buffer, shape: &[usize], dtype: DType) -> Tensor {
        Tensor { buffer: Arc::new(buffer), dtype, shape: Dims::from_slice(shape), strides: shape::row_major(shape) }
    }

    /// Sizes, one a dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// The device that holds it.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// The whole tensor as a view.
    pub fn view(&self) -> View<'_> {
        View {
            buffer: &self.buffer,
            dtype: self.dtype,
            offset: 0,
            shape: self.shape.clone(),
            strides: self.strides.clone(),
        }
    }

    /// The whole tensor as a writable view; see [`OperandMut::view_mut`].
    ///
    /// # Errors
    /// Those of the copy that a shared buffer needs.
    #[track_caller]
    pub fn view_mut(&mut self) -> Result<ViewMut<'_>> {
        if Arc::get_mut(&mut self.buffer).is_none() {
            *self = crate::ops::copy(&self.view())?;
        }
        Ok(ViewMut { part: Tensor::view(self), tensor: PhantomData })
    }

    /// A range of dimension 0; see [`View::slice`].
    ///
    /// # Errors
    /// [`Error::Shape`] when there are fewer rows.
    pub fn slice(&self, range: impl std::ops::RangeBounds<usize>) -> Result<View<'_>> {
        self.view().slice(range)
    }

    /// A range of dimension 0, to be written.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are fewer rows, and those of [`Tensor::view_mut`].
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl std::ops::RangeBounds<usize>) -> Result<ViewMut<'_>> {
        let part = self.view_mut()?.part.slice(range)?;
        Ok(ViewMut { part, tensor: PhantomData })
    }

    /// `len` places of dimension `axis`; see [`View::narrow`].
    ///
    /// # Errors
    /// [`Error::Shape`] when the dimension does not exist or has fewer places.
    pub fn narrow(&self, axis: usize, start: usize, len: usize) -> Result<View<'_>> {
        self.view().narrow(axis, start, len)
    }

    /// The last two dimensions exchanged; see [`View::t`].
    ///
    /// # Errors
    /// [`Error::Shape`] with fewer than two dimensions.
    pub fn t(&self) -> Result<View<'_>> {
        self.view().t()
    }

    /// Dimensions `a` and `b` exchanged; see [`View::transpose`].
    ///
    /// # Errors
    /// [`Error::Shape`] when one of them does not exist.
    pub fn transpose(&self, a: usize, b: usize) -> Result<View<'_>> {
        self.view().transpose(a, b)
    }

    /// The same elements in another shape; shares the buffer until one of the two is written.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of elements differs.
    pub fn reshape(&self, to: &[usize]) -> Result<Tensor> {
        let shape = reshaped(&self.shape, to)?;
        Ok(Tensor { buffer: self.buffer.clone(), dtype: self.dtype, strides: shape::row_major(to), shape })
    }

    /// Two views: the first `n` rows, and the rest.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are fewer rows.
    pub fn split_at(&self, n: usize) -> Result<(View<'_>, View<'_>)> {
        self.view().split_at(n)
    }

    /// Two views that can be written at the same time, also on two streams: the first `n` rows, and the rest.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are fewer rows, and those of [`Tensor::view_mut`].
    #[track_caller]
    pub fn split_at_mut(&mut self, n: usize) -> Result<(ViewMut<'_>, ViewMut<'_>)> {
        self.view_mut()?.split_at_mut(n)
    }

    /// The elements on the host, in row-major order. Waits for whatever writes them.
    ///
    /// # Errors
    /// [`Error::DType`] when the elements have another type, and [`Error::Kernel`] when what should have written them
    /// failed.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.view().to_vec()
    }
}

impl Operand for Tensor {
    fn view(&self) -> View<'_> {
        Tensor::view(self)
    }
}

impl OperandMut for Tensor {
    #[track_caller]
    fn view_mut(&mut self) -> Result<ViewMut<'_>> {
        Tensor::view_mut(self)
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({}, {:?})", self.dtype, self.shape())
    }
}

fn reshaped(from: &[usize], to: &[usize]) -> Result<Dims> {
    if shape::count(to) != shape::count(from) {
        return Err(Error::Shape {
            operator: "reshape",
            reason: format!("shape {from:?} cannot become {to:?}: the number of elements differs"),
        });
    }
    Ok(Dims::from_slice(to))
}
