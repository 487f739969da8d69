//! How much a launch computes and moves: what devices whose time is modelled go by.

/// How much a launch computes and moves.
///
/// ```
/// use multicore::{Pattern, Work};
///
/// // y = x², 1,000 elements of 4 bytes.
/// let square = Work::new(1e3, 8e3);
/// assert_eq!(square.pattern, Pattern::Rows);
/// // Rows of 64 bytes from anywhere.
/// let gather = Work::new(0.0, 8e3).with_pattern(Pattern::Pieces { bytes: 64.0 });
/// # let _ = gather;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Floating point operations; a multiply-add counts as two.
    pub flops: f64,
    /// Bytes read and written, each operand once.
    pub bytes: f64,
    /// How the data is touched.
    pub pattern: Pattern,
}

impl Work {
    /// Work on long rows.
    pub const fn new(flops: f64, bytes: f64) -> Work {
        Work { flops, bytes, pattern: Pattern::Rows }
    }

    /// The same, touching its data in another way.
    #[must_use]
    pub const fn with_pattern(self, pattern: Pattern) -> Work {
        Work { pattern, ..self }
    }
}

/// How an operator touches its data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Pattern {
    /// Each element once, in long rows.
    #[default]
    Rows,
    /// In pieces from anywhere, of so many bytes in a row each.
    Pieces {
        /// Bytes of a piece.
        bytes: f64,
    },
    /// `batch` products of an `m` × `k` and a `k` × `n` matrix.
    Products {
        /// How many.
        batch: f64,
        /// Rows of the left matrix.
        m: f64,
        /// Columns of the right matrix.
        n: f64,
        /// What is summed over.
        k: f64,
        /// Bytes of an element.
        element: f64,
    },
    /// Rows sent to the other devices of an expert parallel group, each to those that need it.
    AllToAll {
        /// Bytes that leave this device.
        sent: f64,
        /// Devices of the group; 0 for as many as the device was opened with (`ranks=N`).
        ranks: f64,
    },
    /// A sum over the devices of a group.
    AllReduce {
        /// Bytes of the operand.
        operand: f64,
        /// Devices of the group.
        ranks: f64,
    },
}
