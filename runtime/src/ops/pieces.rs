//! How tensors are cut for operators that go through them in order: tiles of about [`TILE_BYTES`], and in a tile chunks
//! that fit on the stack. Inputs may be strided in any way; the chunk is where they become slices.

use std::ops::Range;

use super::number::Float;
use crate::dtype::{DType, Element};
use crate::kernel::{Input, Output};
use crate::tensor::View;

/// Bytes of one output in a tile: large beside the cost of handing a tile out (about 0.1 us), small beside a cache.
const TILE_BYTES: usize = 32 << 10;

/// Elements that are worked on at a time.
pub(super) const CHUNK: usize = 512;

fn rows_and_cols(shape: &[usize]) -> (usize, usize) {
    match shape.split_last() {
        Some((&cols, lead)) => (lead.iter().product(), cols),
        None => (1, 1),
    }
}

/// The tile for an output of `shape` that any tile may compute any part of.
pub(super) fn tile(shape: &[usize], dtype: DType) -> [usize; 2] {
    let elements = TILE_BYTES / dtype.size();
    let (_, cols) = rows_and_cols(shape);
    if cols <= elements {
        return row_tile(shape, dtype);
    }
    // Equal parts of whole cache lines.
    let parts = cols.div_ceil(elements);
    [1, cols.div_ceil(parts).next_multiple_of(64)]
}

/// The tile for an output of `shape` whose rows are computed whole.
pub(super) fn row_tile(shape: &[usize], dtype: DType) -> [usize; 2] {
    let (_, cols) = rows_and_cols(shape);
    [(TILE_BYTES / dtype.size() / cols.max(1)).max(1), cols.max(1)]
}

/// The tile for an output whose input has its neighbours far apart: about square, so that cache lines read for one row
/// still serve the next ones.
pub(super) fn square_tile(shape: &[usize]) -> [usize; 2] {
    let (_, cols) = rows_and_cols(shape);
    [64, cols.clamp(1, 128)]
}

/// The bytes of the elements of `x`.
pub(super) fn bytes(x: &View<'_>) -> f64 {
    x.numel() as f64 * x.dtype().size() as f64
}

/// Hands the elements of a tile's piece to `f` in row-major order, as slices of at most [`CHUNK`] elements with the index
/// of the first one; none is longer than what `run` says for its index.
pub(super) fn for_chunks<T>(
    piece: &mut Output<'_, T>,
    run: impl Fn(usize) -> usize,
    mut f: impl FnMut(usize, &mut [T]),
) {
    let mut whole = |mut at: usize, mut rest: &mut [T]| {
        while !rest.is_empty() {
            let len = rest.len().min(CHUNK).min(run(at));
            let (chunk, tail) = rest.split_at_mut(len);
            f(at, chunk);
            at += len;
            rest = tail;
        }
    };
    let (rows, width) = (piece.rows().len(), piece.width());
    let start = piece.rows().start * width + piece.cols().start;
    if (rows <= 1 || piece.row_stride() == piece.cols().len())
        && let Ok(dense) = piece.as_mut_slice()
    {
        return whole(start, dense);
    }
    for i in 0..rows {
        whole(start + i * width, piece.row_mut(i));
    }
}

/// An input of any strides, read by the row-major index of its elements.
pub(super) struct Reader<'a, T> {
    data: &'a [T],
    shape: &'a [usize],
    strides: &'a [usize],
    /// The last dimension; for a contiguous input everything.
    cols: usize,
    col_stride: usize,
}

impl<'a, T: Element> Reader<'a, T> {
    pub(super) fn new(input: Input<'a, T>) -> Self {
        let (shape, strides) = (input.shape(), input.strides());
        let (cols, col_stride) = match input.as_slice() {
            Ok(data) => (data.len(), 1),
            Err(_) => (rows_and_cols(shape).1, strides.last().copied().unwrap_or(1)),
        };
        Reader { data: input.data(), shape, strides, cols, col_stride }
    }

    /// How many elements from index `at` on can be read at once.
    pub(super) fn run(&self, at: usize) -> usize {
        self.cols - at % self.cols
    }

    /// `len` elements from index `at` on, at most [`CHUNK`] and [`run`](Self::run): in place, or gathered in `buffer`.
    pub(super) fn read<'b>(&'b self, at: usize, len: usize, buffer: &'b mut [T; CHUNK]) -> &'b [T] {
        if self.col_stride == 1 {
            return &self.data[self.offset(at)..][..len];
        }
        let gathered = &mut buffer[..len];
        self.read_into(at, gathered);
        gathered
    }

    /// Copies the elements from index `at` on to `to`, which is no longer than [`run`](Self::run).
    pub(super) fn read_into(&self, at: usize, to: &mut [T]) {
        let from = &self.data[self.offset(at)..];
        if self.col_stride == 1 {
            return to.copy_from_slice(&from[..to.len()]);
        }
        for (to, from) in to.iter_mut().zip(from.iter().step_by(self.col_stride)) {
            *to = *from;
        }
    }

    /// Hands the elements of `range` to `f` in order, as slices of at most [`CHUNK`] with the index of the first one.
    pub(super) fn for_range(&self, range: Range<usize>, mut f: impl FnMut(usize, &[T])) {
        let mut buffer = [T::default(); CHUNK];
        let mut at = range.start;
        while at < range.end {
            let len = (range.end - at).min(CHUNK).min(self.run(at));
            f(at, self.read(at, len, &mut buffer));
            at += len;
        }
    }

    /// Where the element of index `at` lies in `data`.
    fn offset(&self, at: usize) -> usize {
        if self.cols == self.data.len() && self.col_stride == 1 {
            return at;
        }
        let mut rest = at;
        let mut offset = 0;
        for (&d, &s) in self.shape.iter().zip(self.strides).rev() {
            offset += rest % d * s;
            rest /= d;
        }
        offset
    }
}

impl<T: Float> Reader<'_, T> {
    /// Row `row`, of the length of `to`, as `f32`.
    pub(super) fn widen_row(&self, row: usize, to: &mut [f32]) {
        let start = row * to.len();
        self.for_range(start..start + to.len(), |at, x| T::widen(x, &mut to[at - start..][..x.len()]));
    }
}
