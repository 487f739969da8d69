//! The plan of a `#[multicore]` function: every record and every wait, with the variable it is for and its lines.

/// The plan of a function, made at compile time.
#[derive(Debug)]
pub struct Plan {
    /// The function's name.
    pub function: &'static str,
    /// The file it is in.
    pub file: &'static str,
    /// The line of its name.
    pub line: u32,
    /// Every block runs on `main`.
    pub serial: bool,
    /// The `stream!` blocks in source order.
    pub blocks: &'static [PlanBlock],
    /// Where events are recorded.
    pub records: &'static [PlanRecord],
    /// Where they are waited for.
    pub waits: &'static [PlanWait],
}

/// A `stream!` block.
#[derive(Debug)]
pub struct PlanBlock {
    /// The stream as it is written in the source; `main` for the stream that was current at entry.
    pub stream: &'static str,
    /// The line of the block.
    pub line: u32,
}

/// An event: recorded right after the statement that needs it.
#[derive(Debug)]
pub struct PlanRecord {
    /// The stream as it is written in the source.
    pub stream: &'static str,
    /// The line of the statement.
    pub line: u32,
    /// The variables that the event is for.
    pub variables: &'static [&'static str],
}

/// A wait: made when the statement launches something that touches the variable.
#[derive(Debug)]
pub struct PlanWait {
    /// The stream that waits, as it is written in the source.
    pub stream: &'static str,
    /// The line of the statement.
    pub line: u32,
    /// The variable it is for.
    pub variable: &'static str,
    /// The records it may come after, as indices.
    pub records: &'static [u32],
}
