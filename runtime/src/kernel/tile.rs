//! What a kernel's body sees: the inputs as slices, and its own piece of each output.

use std::marker::PhantomData;
use std::ops::Range;

use super::launch::{Access, OperandInfo};
use crate::dtype::Element;
use crate::error::Error;
use crate::tensor::shape;

/// One tile of a launch.
pub struct Tile<'a> {
    index: usize,
    count: usize,
    inputs: &'a [OperandInfo],
    outputs: &'a [OperandInfo],
    /// Bit `i`: the piece of output `i` was handed out, so that no two exist.
    taken: u64,
}

impl<'a> Tile<'a> {
    /// # Safety
    /// While the tile is in use, nothing may write what the launch reads or touch what it writes, but other tiles of the
    /// same launch with another index.
    pub(super) unsafe fn new(
        index: usize,
        count: usize,
        inputs: &'a [OperandInfo],
        outputs: &'a [OperandInfo],
    ) -> Self {
        Tile { index, count, inputs, outputs, taken: 0 }
    }

    /// Which tile it is, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many tiles the launch has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Input `i`, whole, in the order of the calls of [`input`](super::Launch::input).
    ///
    /// # Errors
    /// [`Error::DType`] when its elements have another type, [`Error::Shape`] when there is no such input.
    pub fn input<T: Element>(&self, i: usize) -> Result<Input<'a, T>, Error> {
        let operand = find::<T>(self.inputs, i, "input")?;
        let data = if operand.extent == 0 {
            &[]
        } else {
            // SAFETY: the range lies in the block (checked when the launch was built), holds initialised numbers of `T`
            // (blocks start zeroed and only hold elements, of which every bit pattern is valid), is aligned (blocks are
            // aligned to 64 bytes and offsets are whole elements), and is not written meanwhile: `Tile::new`.
            unsafe { std::slice::from_raw_parts(operand.pointer().cast::<T>(), operand.extent) }
        };
        Ok(Input { data, shape: &operand.shape, strides: &operand.strides })
    }

    /// This tile's piece of output `i`, in the order of the calls of [`output`](super::Launch::output) and
    /// [`update`](super::Launch::update). Each piece can be taken once.
    ///
    /// # Errors
    /// [`Error::DType`] when its elements have another type, [`Error::Shape`] when there is no such output or its piece
    /// was taken before.
    pub fn output<T: Element>(&mut self, i: usize) -> Result<Output<'a, T>, Error> {
        let operand = find::<T>(self.outputs, i, "output")?;
        let bit = 1u64 << i;
        if self.taken & bit != 0 {
            return Err(Error::Shape {
                operator: "output",
                reason: format!("output {i} was already taken in this tile"),
            });
        }
        self.taken |= bit;
        let grid_cols = operand.cols.div_ceil(operand.tile[1]).max(1);
        let (r, c) = (self.index / grid_cols * operand.tile[0], self.index % grid_cols * operand.tile[1]);
        let rows = r.min(operand.rows)..(r + operand.tile[0]).min(operand.rows);
        let cols = c.min(operand.cols)..(c + operand.tile[1]).min(operand.cols);
        // SAFETY: `rows.start` and `cols.start` are at most the operand's own sizes, so the pointer stays in the block or
        // one past its end.
        let start = unsafe { operand.pointer().cast::<T>().add(rows.start * operand.row_stride + cols.start) };
        Ok(Output { start, row_stride: operand.row_stride, rows, cols, all_cols: operand.cols, tile: PhantomData })
    }
}

fn find<'a, T: Element>(operands: &'a [OperandInfo], i: usize, what: &'static str) -> Result<&'a OperandInfo, Error> {
    let Some(operand) = operands.get(i) else {
        return Err(Error::Shape {
            operator: what,
            reason: format!("no {what} {i}: the launch has {}", operands.len()),
        });
    };
    debug_assert!(operand.access != Access::Read || what == "input");
    if operand.dtype != T::DTYPE {
        return Err(Error::DType { operator: what, expected: T::DTYPE.name().to_owned(), found: operand.dtype });
    }
    Ok(operand)
}

/// A whole input of a kernel.
#[derive(Clone, Copy)]
pub struct Input<'a, T> {
    data: &'a [T],
    shape: &'a [usize],
    strides: &'a [usize],
}

impl<'a, T> Input<'a, T> {
    /// Sizes, one a dimension.
    pub fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// Distances between neighbours, one a dimension, in elements.
    pub fn strides(&self) -> &'a [usize] {
        self.strides
    }

    /// From the first to the last element, with what lies between them; index it with [`strides`](Self::strides).
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    /// The elements in row-major order, when they lie that way.
    ///
    /// # Errors
    /// [`Error::Shape`] when the input is a view that is not contiguous.
    pub fn as_slice(&self) -> Result<&'a [T], Error> {
        if shape::is_contiguous(self.shape, self.strides) {
            return Ok(self.data);
        }
        Err(Error::Shape {
            operator: "input",
            reason: format!("a view of shape {:?} that is not contiguous; index `data` with `strides`", self.shape),
        })
    }

    /// Row `i` of the input seen as a matrix: all dimensions but the last as rows.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such row or its elements do not lie one after the other.
    pub fn row(&self, i: usize) -> Result<&'a [T], Error> {
        match shape::rows(self.shape, self.strides) {
            Some((rows, cols, stride)) if i < rows => {
                Ok(if cols == 0 { &[] } else { &self.data[i * stride..][..cols] })
            }
            _ => Err(Error::Shape {
                operator: "input",
                reason: format!("no row {i} in a view of shape {:?} with strides {:?}", self.shape, self.strides),
            }),
        }
    }
}

/// A tile's own piece of an output: some rows and columns of the output seen as a matrix (all dimensions but the last
/// as rows).
pub struct Output<'a, T> {
    start: *mut T,
    row_stride: usize,
    rows: Range<usize>,
    cols: Range<usize>,
    all_cols: usize,
    tile: PhantomData<&'a mut [T]>,
}

impl<T> Output<'_, T> {
    /// The rows of the output that this piece holds.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The columns of the output that this piece holds.
    pub fn cols(&self) -> Range<usize> {
        self.cols.clone()
    }

    /// The columns of the whole output.
    pub fn width(&self) -> usize {
        self.all_cols
    }

    /// The elements of the output, counted in row-major order, that a piece of whole rows holds.
    pub fn range(&self) -> Range<usize> {
        self.rows.start * self.all_cols + self.cols.start
            ..self.rows.start * self.all_cols + self.cols.start + self.rows.len() * self.cols.len()
    }

    /// Row `i` of the piece, from 0.
    ///
    /// # Panics
    /// When the piece has fewer rows.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        assert!(i < self.rows.len(), "row {i} of a piece of {} rows", self.rows.len());
        // SAFETY: row `i` of the piece lies in the output, no other piece holds it, and `&mut self` lends it once.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(i * self.row_stride), self.cols.len()) }
    }

    /// The whole piece as one slice, when its rows lie one after the other.
    ///
    /// # Errors
    /// [`Error::Shape`] when they do not: take [`row_mut`](Self::row_mut).
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], Error> {
        if self.rows.len() > 1 && self.row_stride != self.cols.len() {
            return Err(Error::Shape {
                operator: "output",
                reason: format!("a piece of columns {:?} of {} is not one slice", self.cols, self.all_cols),
            });
        }
        let len = self.rows.len() * self.cols.len();
        if len == 0 {
            return Ok(&mut []);
        }
        // SAFETY: as in `row_mut`; with this stride, or one row, the rows lie one after the other.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start, len) })
    }

    /// The first element of the piece, for code that takes pointers. Row `i` starts [`row_stride`](Self::row_stride)
    /// elements after row `i - 1`.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.start
    }

    /// Elements from one row to the next.
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }
}
