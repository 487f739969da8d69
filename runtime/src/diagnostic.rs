//! What the runtime noticed and put right by itself, for the user to read.

use std::fmt;
use std::panic::Location;

/// A launch, as a diagnostic names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    /// The operator.
    pub operator: &'static str,
    /// The id of the stream.
    pub stream: u32,
    /// The line that launched it.
    pub at: &'static Location<'static>,
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` on stream {} ({})", self.operator, self.stream, self.at)
    }
}

/// How two launches conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// The later one reads what the earlier one writes.
    ReadAfterWrite,
    /// The later one writes what the earlier one reads.
    WriteAfterRead,
    /// Both write.
    WriteAfterWrite,
}

impl Conflict {
    pub(crate) fn of(earlier_writes: bool, later_writes: bool) -> Conflict {
        match (earlier_writes, later_writes) {
            (true, true) => Conflict::WriteAfterWrite,
            (true, false) => Conflict::ReadAfterWrite,
            (false, _) => Conflict::WriteAfterRead,
        }
    }
}

/// Two launches that touch the same memory and that nobody had ordered. The runtime made the later one wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hazard {
    /// How they conflict.
    pub conflict: Conflict,
    /// The launch that was issued first.
    pub earlier: Launch,
    /// The launch that had to wait.
    pub later: Launch,
}

/// Something that the runtime noticed; see [`Device::diagnostics`](crate::Device::diagnostics).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Diagnostic {
    /// A conflict that nobody had ordered.
    Hazard(Hazard),
    /// A wait for an event that was never recorded: it orders nothing.
    WaitForUnrecorded {
        /// The id of the stream that waited.
        stream: u32,
        /// The line of the wait.
        at: &'static Location<'static>,
    },
    /// A wait of a stream for itself: it orders nothing.
    WaitForItself {
        /// The id of the stream.
        stream: u32,
        /// The line of the wait.
        at: &'static Location<'static>,
    },
}

/// Diagnostics kept; counts go on beyond.
const KEPT: usize = 256;

impl Diagnostic {
    /// Adds it to `kept`, and prints it when it is the first of its kind there, unless `MULTICORE_DIAGNOSTICS=off`.
    pub(crate) fn report_once(self, kept: &mut Vec<Diagnostic>) {
        static QUIET: std::sync::LazyLock<bool> =
            std::sync::LazyLock::new(|| std::env::var("MULTICORE_DIAGNOSTICS").is_ok_and(|v| v == "off"));
        if kept.len() < KEPT && !kept.contains(&self) {
            kept.push(self);
            if !*QUIET {
                eprintln!("multicore: {self}");
            }
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Diagnostic::Hazard(Hazard { conflict, earlier, later }) => {
                let what = match conflict {
                    Conflict::ReadAfterWrite => "reads what",
                    Conflict::WriteAfterRead => "overwrites what is read by",
                    Conflict::WriteAfterWrite => "overwrites what is written by",
                };
                let writes = if *conflict == Conflict::ReadAfterWrite { " writes" } else { "" };
                write!(
                    f,
                    "{later} {what} {earlier}{writes}, and nothing ordered them: the runtime made it wait\nhelp: record \
                     an event on stream {} after the first, and let stream {} wait for it before the second",
                    earlier.stream, later.stream
                )
            }
            Diagnostic::WaitForUnrecorded { stream, at } => {
                write!(f, "stream {stream} waits for an event that was never recorded ({at}): this orders nothing")
            }
            Diagnostic::WaitForItself { stream, at } => {
                write!(f, "stream {stream} waits for itself ({at}): this orders nothing")
            }
        }
    }
}
