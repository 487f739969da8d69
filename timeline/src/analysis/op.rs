//! An operator as results name it.

use std::fmt;

use serde::Serialize;

use super::intervals::Window;
use crate::Capture;
use crate::capture::{Row, Symbol};

/// An operator, told apart well enough to be found in the file and in a timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Op {
    /// The file, as an index into the capture's sources.
    pub source: u16,
    /// The line in it, from 1; for files without lines, the number of the event.
    pub line: u64,
    /// The name of this operator.
    pub name: String,
    /// The kind of operator: `MatMulV2`; its name where the profile gives no type.
    pub op_type: String,
    /// The stream; `None` for rows that belong to none.
    pub stream: Option<u32>,
    /// The position in launch order, where the profile gives one.
    pub task: Option<u64>,
    /// When it started, in ns after the first start of the capture.
    pub start_ns: u64,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Shapes of the inputs as the file writes them.
    pub input_shapes: String,
}

impl Op {
    pub(crate) fn of(capture: &Capture, row: &Row, origin_ns: u64) -> Op {
        let text = |symbol| capture.strings.text(symbol).to_owned();
        Op {
            source: row.source,
            line: row.line,
            name: text(row.name),
            op_type: text(type_of(capture, row)),
            stream: row.stream,
            task: row.task,
            start_ns: row.start_ns.saturating_sub(origin_ns),
            duration_ns: row.duration_ns,
            input_shapes: text(row.input_shapes),
        }
    }

    /// When it ran, relative to the first start of the capture.
    pub fn window(&self) -> Window {
        Window::new(self.start_ns, self.start_ns + self.duration_ns)
    }
}

/// Its name and, where that says more, its type: `DispatchFFNCombine_1dd0 (DispatchFFNCombine)`.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name == self.op_type { f.write_str(&self.name) } else { write!(f, "{} ({})", self.name, self.op_type) }
    }
}

/// The type of an operator; its name where the profile gives no type (traces, CUDA).
pub(crate) fn type_of(capture: &Capture, row: &Row) -> Symbol {
    if is_untyped(capture.strings.text(row.op_type)) { row.name } else { row.op_type }
}

/// Whether a cell of the column of types says nothing.
pub(crate) fn is_untyped(op_type: &str) -> bool {
    matches!(op_type, "" | "N/A")
}

/// A time in microseconds, by integer arithmetic: `1615.250`.
pub(crate) fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}
