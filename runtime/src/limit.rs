//! Core kinds, chips, and limits on cores.

use crate::error::{Error, Result};

/// Which cores an operator runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoreKind {
    /// Matrix cores (AIC).
    Cube,
    /// Vector cores (AIV).
    Vector,
    /// Cube cores with the vector cores that belong to them.
    Mix,
    /// A collective or one-sided communication, driven by vector cores.
    Comm,
    /// Work of the host, in stream order.
    Host,
}

impl CoreKind {
    /// The kind in lower case, as messages spell it.
    pub const fn name(self) -> &'static str {
        match self {
            CoreKind::Cube => "cube",
            CoreKind::Vector => "vector",
            CoreKind::Mix => "mix",
            CoreKind::Comm => "comm",
            CoreKind::Host => "host",
        }
    }
}

/// A number of cores of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cores {
    /// Cube cores (AIC).
    pub cube: u32,
    /// Vector cores (AIV).
    pub vector: u32,
}

impl Cores {
    /// How many blocks a launch of this kind may have: one a core.
    pub(crate) fn of(self, kind: CoreKind) -> u32 {
        match kind {
            CoreKind::Cube | CoreKind::Mix => self.cube,
            CoreKind::Vector | CoreKind::Comm => self.vector,
            CoreKind::Host => 1,
        }
    }

    pub(crate) const ZERO: Cores = Cores { cube: 0, vector: 0 };

    /// The smaller number of each kind.
    pub(crate) fn min(self, other: Cores) -> Cores {
        Cores { cube: self.cube.min(other.cube), vector: self.vector.min(other.vector) }
    }

    pub(crate) fn plus(self, other: Cores) -> Cores {
        Cores { cube: self.cube + other.cube, vector: self.vector + other.vector }
    }

    /// What is left; `other` has no more of either kind.
    pub(crate) fn minus(self, other: Cores) -> Cores {
        Cores { cube: self.cube - other.cube, vector: self.vector - other.vector }
    }
}

/// An upper bound on the cores an operator may use, for each kind; a kind without a number is not limited here and
/// takes what lies outside: the stream's limit, then the device's, then the chip.
///
/// A limit is a bound, not a reservation: two streams limited to 12 cores each may share cores.
///
/// ```
/// use multicore::CoreLimit;
/// let limit = CoreLimit::NONE.with_cube(3);
/// assert_eq!((limit.cube, limit.vector), (Some(3), None));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CoreLimit {
    /// Cube cores, at least 1; `None` for no limit.
    pub cube: Option<u32>,
    /// Vector cores, at least 1; `None` for no limit.
    pub vector: Option<u32>,
}

impl CoreLimit {
    /// No limit on either kind.
    pub const NONE: CoreLimit = CoreLimit { cube: None, vector: None };

    /// A limit on both kinds.
    pub const fn new(cube: u32, vector: u32) -> CoreLimit {
        CoreLimit { cube: Some(cube), vector: Some(vector) }
    }

    /// The same with at most `cube` cube cores.
    #[must_use]
    pub const fn with_cube(self, cube: u32) -> CoreLimit {
        CoreLimit { cube: Some(cube), ..self }
    }

    /// The same with at most `vector` vector cores.
    #[must_use]
    pub const fn with_vector(self, vector: u32) -> CoreLimit {
        CoreLimit { vector: Some(vector), ..self }
    }

    /// This limit where it has a number, `outer` elsewhere.
    pub(crate) fn or(self, outer: CoreLimit) -> CoreLimit {
        CoreLimit { cube: self.cube.or(outer.cube), vector: self.vector.or(outer.vector) }
    }

    /// The cores left by this limit on a chip.
    pub(crate) fn on(self, chip: Cores) -> Cores {
        Cores { cube: self.cube.unwrap_or(chip.cube), vector: self.vector.unwrap_or(chip.vector) }
    }

    /// Refuses 0 and more than the chip has.
    pub(crate) fn check(self, chip: Cores) -> Result<()> {
        for (kind, asked, available) in
            [(CoreKind::Cube, self.cube, chip.cube), (CoreKind::Vector, self.vector, chip.vector)]
        {
            if let Some(asked) = asked
                && !(1..=available).contains(&asked)
            {
                return Err(Error::CoreLimit { kind, asked, available });
            }
        }
        Ok(())
    }
}
