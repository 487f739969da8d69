//! The kinds that have a colour of their own.

use crate::Core;

/// What an operator kept busy, as far as the picture tells it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Cube cores (matrix); the kernels of a GPU too.
    Cube,
    /// Vector cores.
    Vector,
    /// Cube and vector cores together.
    Mix,
    /// Links to other devices.
    Communication,
    /// Memory engines.
    Copy,
    /// The device's own processors, the host, and what the profile does not tell.
    Other,
    /// None: the stream stood and waited for another.
    Wait,
}

impl Kind {
    /// All of them, in the order of the legend.
    pub const ALL: [Kind; 7] =
        [Kind::Cube, Kind::Vector, Kind::Mix, Kind::Communication, Kind::Copy, Kind::Other, Kind::Wait];

    /// The kind of operators that ran on these cores.
    pub const fn of(core: Core) -> Kind {
        match core {
            Core::AiCore | Core::Gpu => Kind::Cube,
            Core::AiVectorCore => Kind::Vector,
            Core::MixAic | Core::MixAiv => Kind::Mix,
            Core::Communication | Core::Ccu => Kind::Communication,
            Core::Copy => Kind::Copy,
            _ => Kind::Other,
        }
    }

    /// Its word in the legend.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Cube => "cube",
            Kind::Vector => "vector",
            Kind::Mix => "cube + vector",
            Kind::Communication => "communication",
            Kind::Copy => "copy",
            Kind::Other => "other",
            Kind::Wait => "waits",
        }
    }

    /// Its colour, in which white text can be read.
    pub const fn colour(self) -> &'static str {
        match self {
            Kind::Cube => "#3b6fd4",
            Kind::Vector => "#1f8a70",
            Kind::Mix => "#7d55c7",
            Kind::Communication => "#c2681a",
            Kind::Copy => "#8a7420",
            Kind::Other => "#6b7685",
            Kind::Wait => "#d23f57",
        }
    }
}
