//! A plan as Markdown: what `#[multicore(explain)]` writes into the documentation of the function.
//!
//! A change here is a change in `macros/src/emit/explain.rs`, and a test compares the two.

use std::fmt::Write;

use super::Plan;

impl Plan {
    /// Counts, a table of the waits, and the diagram of [`to_mermaid`](Self::to_mermaid).
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# Plan\n\n{}.\n", self.counts());
        if !self.waits.is_empty() {
            text.push_str("\n| wait | line | variable | after the record |\n|---|---|---|---|\n");
        }
        for wait in self.waits {
            let records = self.records_of(wait).map(|record| format!("{}, line {}", code(record.stream), record.line));
            let records = records.collect::<Vec<_>>().join("; ");
            let (stream, variable) = (code(wait.stream), code(wait.variable));
            let _ = writeln!(text, "| {stream} | {} | {variable} | {records} |", wait.line);
        }
        if !self.blocks.is_empty() {
            let _ = write!(text, "\n```mermaid\n{}```\n", self.to_mermaid());
        }
        text
    }
}

/// Code in a cell of a table.
fn code(text: &str) -> String {
    let text = text.replace('|', "\\|").replace('\n', " ");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}
