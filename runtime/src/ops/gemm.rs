//! One product of matrices on one core: the `gemm` crate in its sequential setting. The split over cores is by tiles.
//!
//! Half-precision operands go through `f32` in blocks that stay in the cache; the sum over `k` is an `f32` throughout and
//! rounded once.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Range;

use half::{bf16, f16};

use super::number::Float;
use crate::kernel::{Input, Output};

/// A matrix to be read, of any strides.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, T> {
    /// From the first to the last element.
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// The last two dimensions of `input`; of a stack of matrices, number `index`.
    pub(super) fn of(input: &Input<'a, T>, index: usize) -> Self {
        let (shape, strides) = (input.shape(), input.strides());
        let last = shape.len() - 2;
        let start = if last > 0 { index * strides[last - 1] } else { 0 };
        Matrix {
            data: input.data().get(start..).unwrap_or(&[]),
            rows: shape[last],
            cols: shape[last + 1],
            row_stride: strides[last],
            col_stride: strides[last + 1],
        }
    }

    /// Some rows and columns of it.
    pub(super) fn block(&self, rows: Range<usize>, cols: Range<usize>) -> Self {
        let (rows_len, cols_len) = (rows.len(), cols.len());
        let data = if rows_len == 0 || cols_len == 0 {
            &[]
        } else {
            let start = rows.start * self.row_stride + cols.start * self.col_stride;
            &self.data[start..][..1 + (rows_len - 1) * self.row_stride + (cols_len - 1) * self.col_stride]
        };
        Matrix { data, rows: rows_len, cols: cols_len, ..*self }
    }

    /// All rows of some columns.
    pub(super) fn columns(&self, cols: Range<usize>) -> Self {
        self.block(0..self.rows, cols)
    }

    /// All columns of some rows.
    pub(super) fn lines(&self, rows: Range<usize>) -> Self {
        self.block(rows, 0..self.cols)
    }
}

/// A matrix of `f32` to be written, the elements of a row one after the other.
struct MatrixMut<'a> {
    start: *mut f32,
    rows: usize,
    cols: usize,
    row_stride: usize,
    borrow: PhantomData<&'a mut [f32]>,
}

/// `c = a b`, or `c += a b`.
fn product(c: MatrixMut<'_>, a: Matrix<'_, f32>, b: Matrix<'_, f32>, accumulate: bool) {
    // By construction; what the call below relies on.
    assert!(a.cols == b.rows && c.rows == a.rows && c.cols == b.cols, "operands of a product that do not fit");
    // SAFETY: `a` and `b` hold their rows and columns at their strides (`Matrix::block` cut `data` to the last element, and
    // an empty side has no element that is read), `c` holds its rows and columns for writing, which nothing else touches
    // while `c` lives, so it does not overlap the two.
    unsafe {
        gemm::gemm(
            c.rows,
            c.cols,
            a.cols,
            c.start,
            1,
            c.row_stride as isize,
            accumulate,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// A type that matrices are multiplied in.
pub(super) trait Multiply: Float {
    /// Rows `rows` of the piece become `a b`.
    fn multiply(c: &mut Output<'_, Self>, rows: Range<usize>, a: Matrix<'_, Self>, b: Matrix<'_, Self>);
}

impl Multiply for f32 {
    fn multiply(c: &mut Output<'_, f32>, rows: Range<usize>, a: Matrix<'_, f32>, b: Matrix<'_, f32>) {
        assert!(rows.end <= c.rows().len(), "rows {rows:?} of a piece of {}", c.rows().len());
        if rows.is_empty() {
            return;
        }
        let (cols, row_stride) = (c.cols().len(), c.row_stride());
        // The first row's own slice would not do: the pointer must be good for the rows below it.
        let start = c.as_mut_ptr().wrapping_add(rows.start * row_stride);
        product(MatrixMut { start, rows: rows.len(), cols, row_stride, borrow: PhantomData }, a, b, false);
    }
}

/// How many terms of the sums are widened at a time.
const DEPTH: usize = 512;

thread_local! {
    /// A worker's room for widened blocks, kept for its next tile.
    static ROOM: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

macro_rules! multiply_wide {
    ($($T:ty),*) => {$(
        impl Multiply for $T {
            fn multiply(c: &mut Output<'_, $T>, rows: Range<usize>, a: Matrix<'_, $T>, b: Matrix<'_, $T>) {
                multiply_wide(c, rows, a, b);
            }
        }
    )*};
}

multiply_wide!(f16, bf16);

fn multiply_wide<T: Float>(c: &mut Output<'_, T>, rows: Range<usize>, a: Matrix<'_, T>, b: Matrix<'_, T>) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    let depth = DEPTH.min(k);
    ROOM.with_borrow_mut(|room| {
        room.resize((m * n + (m + n) * depth).max(room.len()), 0.0);
        let (wide_c, room) = room.split_at_mut(m * n);
        let (room_a, room) = room.split_at_mut(m * depth);
        let room_b = &mut room[..depth * n];
        wide_c.fill(0.0);
        for start in (0..k).step_by(depth.max(1)) {
            let part = start..(start + depth).min(k);
            let (a, b) = (widen(a.columns(part.clone()), room_a), widen(b.lines(part), room_b));
            let start = wide_c.as_mut_ptr();
            product(MatrixMut { start, rows: m, cols: n, row_stride: n, borrow: PhantomData }, a, b, true);
        }
        for (i, wide) in rows.zip(wide_c.chunks_exact(n.max(1))) {
            T::narrow(wide, c.row_mut(i));
        }
    });
}

/// The matrix as `f32` in `room`, row after row or column after column, as it lay before.
fn widen<'a, T: Float>(x: Matrix<'_, T>, room: &'a mut [f32]) -> Matrix<'a, f32> {
    let by_column = x.row_stride == 1 && x.col_stride != 1;
    let (lines, len, line_stride, stride) =
        if by_column { (x.cols, x.rows, x.col_stride, 1) } else { (x.rows, x.cols, x.row_stride, x.col_stride) };
    let room = &mut room[..lines * len];
    for (i, to) in room.chunks_exact_mut(len.max(1)).enumerate() {
        let line = &x.data[i * line_stride..];
        if stride == 1 {
            T::widen(&line[..len], to);
        } else {
            for (to, from) in to.iter_mut().zip(line.iter().step_by(stride)) {
                T::widen(std::slice::from_ref(from), std::slice::from_mut(to));
            }
        }
    }
    let (row_stride, col_stride) = if by_column { (1, len) } else { (len, 1) };
    Matrix { data: room, rows: x.rows, cols: x.cols, row_stride, col_stride }
}
