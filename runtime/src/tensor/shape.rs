//! Shapes and strides: plain index arithmetic, in elements.

use smallvec::SmallVec;

/// Sizes or strides, one a dimension, in elements.
pub(crate) type Dims = SmallVec<[usize; 4]>;

/// The number of elements of a shape; `None` when it does not fit in memory.
pub(crate) fn count(shape: &[usize]) -> Option<usize> {
    let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
    (count <= isize::MAX as usize / 16).then_some(count)
}

/// Row-major strides of a shape.
pub(crate) fn row_major(shape: &[usize]) -> Dims {
    let mut strides: Dims = SmallVec::from_elem(1, shape.len());
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    strides
}

/// True when the elements lie one after the other in row-major order.
pub(crate) fn is_contiguous(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    for (&d, &s) in shape.iter().zip(strides).rev() {
        if d == 0 {
            return true;
        }
        if d != 1 && s != expected {
            return false;
        }
        expected *= d;
    }
    true
}

/// How many elements lie between the first and the last one, both included; 0 for an empty shape.
pub(crate) fn extent(shape: &[usize], strides: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    1 + shape.iter().zip(strides).map(|(&d, &s)| (d - 1) * s).sum::<usize>()
}

/// The shape as rows of one length with one distance between them: `(rows, cols, row stride)`, where the columns are
/// the last dimension. `None` when the leading dimensions do not collapse into one.
pub(crate) fn rows(shape: &[usize], strides: &[usize]) -> Option<(usize, usize, usize)> {
    let Some((&cols, lead)) = shape.split_last() else {
        return Some((1, 1, 1));
    };
    let (&last, lead_strides) = strides.split_last()?;
    if cols > 1 && last != 1 {
        return None;
    }
    let rows: usize = lead.iter().product();
    if rows == 0 {
        // Without elements any stride is right.
        return Some((0, cols, cols));
    }
    let mut stride = None;
    let mut expected = 0;
    for (&d, &s) in lead.iter().zip(lead_strides).rev() {
        if d == 1 {
            continue;
        }
        if stride.is_some() && s != expected {
            return None;
        }
        stride.get_or_insert(s);
        expected = s * d;
    }
    Some((rows, cols, stride.unwrap_or(cols)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_a_shape() {
        assert_eq!(row_major(&[2, 3, 4]).as_slice(), [12, 4, 1]);
        assert_eq!(row_major(&[]).as_slice(), [] as [usize; 0]);
        assert!(is_contiguous(&[2, 3, 4], &[12, 4, 1]));
        assert!(is_contiguous(&[1, 3], &[100, 1]));
        assert!(!is_contiguous(&[3, 2], &[1, 3]));
        assert_eq!(extent(&[3, 2], &[10, 1]), 22);
        assert_eq!(extent(&[3, 0], &[10, 1]), 0);
    }

    #[test]
    fn rows_of_a_shape() {
        assert_eq!(rows(&[2, 3, 4], &[12, 4, 1]), Some((6, 4, 4)));
        assert_eq!(rows(&[2, 3, 4], &[24, 8, 1]), Some((6, 4, 8)));
        assert_eq!(rows(&[2, 3, 4], &[100, 8, 1]), None);
        assert_eq!(rows(&[3, 2], &[1, 3]), None);
        assert_eq!(rows(&[5], &[1]), Some((1, 5, 5)));
        assert_eq!(rows(&[], &[]), Some((1, 1, 1)));
        assert_eq!(rows(&[3, 0, 2], &[2, 2, 1]), Some((0, 2, 2)));
        assert_eq!(rows(&[2, 3, 0], &[3, 1, 1]), Some((6, 0, 1)));
    }

    #[test]
    fn a_shape_that_does_not_fit_in_memory_is_refused() {
        assert_eq!(count(&[usize::MAX, 2]), None);
        assert_eq!(count(&[1 << 62]), None);
        assert_eq!(count(&[3, 0]), Some(0));
    }
}
