//! What ordered streams: events recorded and waited for, as plain data.

use std::borrow::Cow;

/// Whether an event was recorded or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SyncKind {
    /// The stream recorded an event: complete when everything before it on the stream is.
    Record,
    /// The stream waited for an event.
    Wait,
}

/// What was recorded or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Via {
    /// An event, which orders streams of one device: `EVENT_RECORD`, `EVENT_WAIT`, `cudaStreamWaitEvent`.
    Event,
    /// A notification, which orders devices too, mostly inside collectives: `NOTIFY_RECORD`, `NOTIFY_WAIT`.
    Notify,
}

/// Who made a record or a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Origin {
    /// The plan of a `#[multicore]` function.
    Plan,
    /// A call written by hand.
    Hand,
    /// The runtime, because two launches conflicted and nothing ordered them.
    Hazard,
    /// The entry or the exit of a `#[multicore]` function, which looks from outside as if all it does ran on one stream.
    Function,
    /// The runtime, because a buffer got memory that others had used.
    Memory,
    /// A task in a device's profile, which does not say who made it.
    Device,
}

/// Where in the source a record or a wait stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The function whose plan has it; empty for calls by hand.
    pub function: Cow<'static, str>,
    /// The source file.
    pub file: Cow<'static, str>,
    /// The line, from 1.
    pub line: u32,
    /// The variables it is for, joined by `, `; empty if none is known.
    pub variables: Cow<'static, str>,
    /// Its number among the records, or among the waits, of the plan.
    pub index: u32,
}

/// A record or a wait that a stream came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sync {
    /// Record or wait.
    pub kind: SyncKind,
    /// By event or by notification.
    pub via: Via,
    /// Who made it.
    pub origin: Origin,
    /// The number of the device.
    pub device_id: u32,
    /// The stream that recorded or waited.
    pub stream_id: u32,
    /// When the stream came to it, in ns, on the clock of the operators' starts.
    pub start_ns: u64,
    /// How long the stream stood there, in ns; 0 for a record.
    pub duration_ns: u64,
    /// The event: the same number in a record and in each wait for what it recorded. `None` where a profile does not
    /// say.
    pub event: Option<u64>,
    /// The position in launch order on the stream, as in [`Row::task`](crate::capture::Row::task).
    pub task: Option<u64>,
    /// For a wait, the stream that recorded, where the profile says so itself (CUDA does, Ascend does not).
    pub of_stream: Option<u32>,
    /// Where it stands in the source; `None` where a profile does not say.
    pub site: Option<Site>,
}

impl Sync {
    /// When the stream went on, in ns.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}
