//! A run as the analysis sees it: every operator as a small row of numbers, in order of start.
//!
//! Guaranteed by whoever makes a [`Capture`]: `rows` and `syncs` are sorted by start, and rows of one start by what they
//! say, so that the order of a file's lines does not matter; every [`Symbol`] comes from `strings`; whatever was not
//! taken over is listed in `dropped`, whatever is odd about a row that was in `notes`.

use std::path::PathBuf;

pub use crate::strings::{Strings, Symbol};
use crate::{Core, Sync};

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// What kind of file it is, in a few words: `kernel_details.csv`.
    pub format: &'static str,
    /// Operators taken over from it.
    pub rows: u64,
    /// Records and waits taken over from it.
    pub syncs: u64,
    /// Entries that are no work of the device and belong in no analysis: metadata, host side, flows, counters, control
    /// tasks, the inner tasks of a collective that has a row of its own, and operators that another file of the same
    /// capture says more about.
    pub skipped: u64,
}

/// A row that was not taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The file, as an index into [`Capture::sources`].
    pub source: u16,
    /// The line, from 1; for files without lines, the number of the event; 0 for the whole file.
    pub line: u64,
    /// What was wrong with it, with the column and the value.
    pub why: String,
}

/// Something odd about a row that was taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file, as an index into [`Capture::sources`].
    pub source: u16,
    /// The line, from 1; for files without lines, the number of the event; 0 for the whole file.
    pub line: u64,
    /// What it is.
    pub kind: NoteKind,
}

/// What can be odd about a row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// It ends after the next row of its stream has started, by more than the profile's clock step. A stream runs one
    /// operator at a time: either the duration is wrong, or the stream id stands for several queues.
    Overrun {
        /// Line of the next row on the stream.
        next_line: u64,
        /// By how much.
        by_ns: u64,
    },
    /// It lasted no time.
    ZeroLength,
    /// A cell that says nothing readable in a column that can do without: taken as unknown.
    Cell {
        /// The title of the column.
        column: String,
        /// What it says.
        value: String,
    },
    /// A title that the header has twice: the first column of that title was read.
    SameTitle {
        /// The title.
        column: String,
    },
}

/// One operator that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The file, as an index into [`Capture::sources`].
    pub source: u16,
    /// The line in it, from 1; for files without lines, the number of the event.
    pub line: u64,
    /// The number of the device.
    pub device: u32,
    /// The training or inference step; `None` outside every step.
    pub step: Option<u32>,
    /// The logical stream; `None` for rows that belong to no stream (collectives as a whole).
    pub stream: Option<u32>,
    /// The position in launch order on the stream, where the profile gives one.
    pub task: Option<u64>,
    /// The name of this operator.
    pub name: Symbol,
    /// The kind of operator: `MatMulV2`.
    pub op_type: Symbol,
    /// Where it ran.
    pub core: Core,
    /// When it started, in ns, on the capture's own clock (absolute, as in the file).
    pub start_ns: u64,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Blocks it was launched with; may be above the number of cores. `None` where the profile does not say, or says 0
    /// (as it does for operators that are not CANN's own).
    pub blocks: Option<u32>,
    /// Blocks on the other kind of core, for `MIX_AIC` and `MIX_AIV`; `None` where there are none.
    pub mix_blocks: Option<u32>,
    /// Shapes of the inputs as the file writes them, without quotes: `4096,7168;1`; empty where the profile does not
    /// say, as are the next three.
    pub input_shapes: Symbol,
    /// Types of the inputs: `DT_BF16;INT32`.
    pub input_types: Symbol,
    /// Shapes of the outputs.
    pub output_shapes: Symbol,
    /// Types of the outputs.
    pub output_types: Symbol,
    /// Time that the cube cores worked on it, in ns, where it was measured.
    pub aicore_ns: Option<u64>,
    /// Time that the vector cores worked on it, in ns, where it was measured.
    pub aiv_ns: Option<u64>,
}

impl Row {
    /// When it ended, in ns.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// A step as the profiler itself sums it up, from `step_trace_time.csv`: a check for figures computed from rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// The device, where the file says.
    pub device: Option<u32>,
    /// The step; `None` where the file has no number for it.
    pub step: Option<u32>,
    /// Time with at least one computing operator, in ns.
    pub computing_ns: u64,
    /// Time with at least one collective, in ns.
    pub communication_ns: u64,
    /// Time with both, in ns.
    pub overlapped_ns: u64,
    /// Time with a collective and no computing operator, in ns.
    pub exposed_ns: u64,
    /// Time with neither, in ns.
    pub free_ns: u64,
    /// From the first start to the last end, in ns.
    pub stage_ns: u64,
}

/// A run: its operators and what ordered them.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The texts of all rows.
    pub strings: Strings,
    /// The files it comes from; empty for a run of this process.
    pub sources: Vec<Source>,
    /// The operators, by start.
    pub rows: Vec<Row>,
    /// Records and waits, by start; empty if the profile has none (a `kernel_details.csv` alone never has).
    pub syncs: Vec<Sync>,
    /// The profiler's own sums; empty if there are none.
    pub step_times: Vec<StepTime>,
    /// What was not taken over.
    pub dropped: Vec<Dropped>,
    /// What is odd about what was taken over.
    pub notes: Vec<Note>,
}
