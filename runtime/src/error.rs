//! What can go wrong, as one type. Every message says what was wrong, with what value, and what to write or do.

use std::panic::Location;
use std::sync::Arc;

use crate::dtype::DType;
use crate::limit::CoreKind;

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A device specification that cannot be read.
    #[error("cannot open device `{spec}`: {reason}")]
    DeviceSpec {
        /// The specification as given.
        spec: String,
        /// What is wrong with it, and what to write.
        reason: String,
    },
    /// A core limit of 0, or above what the chip has.
    #[error(
        "a limit of {asked} {} cores is out of range: write 1 to {available}, or leave the key out for no limit",
        kind.name()
    )]
    CoreLimit {
        /// Cube or vector.
        kind: CoreKind,
        /// The number asked for.
        asked: u32,
        /// What the chip has.
        available: u32,
    },
    /// An operator that needs all its blocks resident at once was granted fewer cores.
    #[error(
        "`{operator}` needs {needed} {} cores at once and was granted {granted}: raise the limit of its stream",
        kind.name()
    )]
    NotEnoughCores {
        /// The operator.
        operator: &'static str,
        /// The kind of its cores.
        kind: CoreKind,
        /// Cores it needs at the same time.
        needed: u32,
        /// Cores that the limit in force grants.
        granted: u32,
    },
    /// Two things that must be on one device are not.
    #[error("{what}: one is on device {left}, the other on device {right}")]
    DeviceMismatch {
        /// What was tried.
        what: &'static str,
        /// The first device.
        left: String,
        /// The second device.
        right: String,
    },
    /// Shapes that an operator cannot take.
    #[error("{operator}: {reason}")]
    Shape {
        /// The operator.
        operator: &'static str,
        /// The shapes, and what would fit.
        reason: String,
    },
    /// An element type that an operator, a kernel or a copy cannot take.
    #[error("{operator}: expected {expected}, found {found}")]
    DType {
        /// The operator.
        operator: &'static str,
        /// What would fit.
        expected: String,
        /// What was given.
        found: DType,
    },
    /// An operator that failed on the device, seen by whoever synchronised with it or used what it should have written.
    #[error(transparent)]
    Kernel(Arc<Fault>),
    /// The device has no memory left, even after freed blocks were reclaimed.
    #[error("out of device memory: {requested} bytes asked for, {in_use} of {capacity} in use")]
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
        /// Bytes held by living tensors.
        in_use: usize,
        /// Bytes the device has.
        capacity: usize,
    },
    /// The device has no streams left.
    #[error("out of streams: {in_use} of {capacity} in use; drop one, or take a named one from the pool")]
    StreamsExhausted {
        /// Streams alive.
        in_use: usize,
        /// Streams the device has.
        capacity: usize,
    },
    /// The time of an event that was never recorded.
    #[error("the {which} event was never recorded: call `record` on it first")]
    EventNotRecorded {
        /// `start` or `end`.
        which: &'static str,
    },
    /// The time of an event that does not take times.
    #[error("the {which} event takes no times: make it with `Event::with_timing`")]
    EventTimingOff {
        /// `start` or `end`.
        which: &'static str,
    },
    /// The time of an event that is not complete yet; try again after `synchronize`.
    #[error("the {which} event is not complete yet: call `synchronize` on it, or try again later")]
    EventNotComplete {
        /// `start` or `end`.
        which: &'static str,
    },
    /// A `#[multicore]` function called by the destructor of a thread's local variable, when the thread's own state is gone.
    #[error("a `#[multicore]` function cannot be called while its thread ends; call it before")]
    ThreadEnding,
    /// Operators that wait for each other, or for ranks of their collective that nobody launches: none of them will ever
    /// run. Only on devices whose time is computed, which find it; a real one would hang.
    #[error("deadlock: {}; limit the cores of one of them, or order them alike everywhere", circle.join(", and "))]
    Deadlock {
        /// Each with what it waits for, which the next one holds; the first one holds what the last one waits for.
        circle: Vec<String>,
    },
    /// The values of a tensor on a dry device, which computes nothing.
    #[error("`{call}` has no values to give: the device `{device}` is dry; open it without `dry`")]
    Dry {
        /// The call.
        call: &'static str,
        /// The device.
        device: String,
    },
    /// A `#[multicore]` function that was called to learn its plan; see [`Plan::of_call`](crate::Plan::of_call).
    #[error("a `#[multicore]` function told its plan and did nothing: call it outside of `Plan::of_call` to run it")]
    Planned,
    /// A blocking call from inside a kernel or a host callback, which would wait for itself.
    #[error("`{call}` cannot be called from inside a kernel or a host callback: the stream would wait for itself")]
    CalledFromStream {
        /// The call.
        call: &'static str,
    },
}

/// An operator that failed on the device.
#[derive(Debug)]
pub struct Fault {
    /// The operator.
    pub operator: &'static str,
    /// The id of the stream it ran on.
    pub stream: u32,
    /// The line that launched it.
    pub launched_at: &'static Location<'static>,
    /// What its kernel said, or the message of its panic.
    pub message: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Fault { operator, stream, launched_at, message } = self;
        write!(f, "operator `{operator}` failed on stream {stream} (launched at {launched_at}): {message}")
    }
}

impl std::error::Error for Fault {}

/// What a kernel's body may return as an error: anything that is an error, or a string.
pub type KernelError = Box<dyn std::error::Error + Send + Sync>;

/// The result of one tile of a kernel.
pub type KernelResult = std::result::Result<(), KernelError>;
