//! Why a capture cannot be analysed, or not in the way that was asked for.

/// What stands in the way of an analysis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing ran in the capture, or nothing in the selected part.
    #[error("no operators{}: nothing to analyse; check the path, the step and the time range", within(.selection))]
    Empty {
        /// The step or range that was asked for; empty for the whole capture.
        selection: String,
    },
    /// The capture has several devices and none was chosen.
    #[error("operators of {} devices ({}): choose one with --rank", .0.len(), list(.0))]
    ManyDevices(Vec<u32>),
    /// The device asked for is not in the capture.
    #[error("no operators on device {device}; the capture has {}", list(.have))]
    NoDevice {
        /// The device asked for.
        device: u32,
        /// The devices in the capture.
        have: Vec<u32>,
    },
    /// No row has a stream: profiler level 0.
    #[error("no Stream ID in the profile: collected at level 0; collect at level 1 or above")]
    NoStreams,
    /// The stream asked for is not in the capture.
    #[error("no operators on stream {stream}; the capture has {}", list(.have))]
    NoStream {
        /// The stream asked for.
        stream: u32,
        /// The streams in the capture.
        have: Vec<u32>,
    },
    /// Side and main were given and share a stream.
    #[error("stream {0} is given as side and as main: an overlap needs two different streams")]
    SameStream(u32),
    /// No operator of that name or type runs on the main stream.
    #[error("no operator named {name} on the main stream; the longest there: {}", .longest.join(", "))]
    NoDominator {
        /// The name asked for.
        name: String,
        /// The types with the largest sums of durations on the main stream, largest first.
        longest: Vec<String>,
    },
}

/// The result of an analysis that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn within(selection: &str) -> String {
    if selection.is_empty() { String::new() } else { format!(" in {selection}") }
}

fn list(numbers: &[u32]) -> String {
    const SHOWN: usize = 12;
    let mut text = numbers.iter().take(SHOWN).map(u32::to_string).collect::<Vec<_>>().join(", ");
    if numbers.len() > SHOWN {
        text.push_str(&format!(" and {} more", numbers.len() - SHOWN));
    }
    text
}
