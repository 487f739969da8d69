//! The plan as documentation of its function.
//!
//! The same text as `Plan::to_markdown` of the runtime, which this crate cannot call: a test compares the two.

use std::fmt::Write;

use proc_macro2::TokenStream;
use quote::quote;

use super::table::{Record, Table, Wait};

impl Table {
    /// The documentation, to stand behind what the author wrote.
    pub(crate) fn docs(&self) -> TokenStream {
        let text = self.markdown();
        let lines = text.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
        quote!(#[doc = ""] #(#[doc = #lines])*)
    }

    fn markdown(&self) -> String {
        let mut text = format!("# Plan\n\n{}.\n", self.counts());
        if !self.waits.is_empty() {
            text.push_str("\n| wait | line | variable | after the record |\n|---|---|---|---|\n");
        }
        for wait in &self.waits {
            let records = self.records_of(wait).map(|record| format!("{}, line {}", code(&record.stream), record.line));
            let records = records.collect::<Vec<_>>().join("; ");
            let (stream, variable) = (code(&wait.stream), code(&wait.variable));
            let _ = writeln!(text, "| {stream} | {} | {variable} | {records} |", wait.line);
        }
        if !self.blocks.is_empty() {
            let _ = write!(text, "\n```mermaid\n{}```\n", self.mermaid());
        }
        text
    }

    fn counts(&self) -> String {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut streams: Vec<&str> = self.blocks.iter().map(|block| &*block.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        let serial = if self.serial { "; serial: all blocks run on `main`" } else { "" };
        format!(
            "{} on {}, {}, {}{serial}",
            count(self.blocks.len(), "block"),
            count(streams.len(), "stream"),
            count(self.records.len(), "record"),
            count(self.waits.len(), "wait"),
        )
    }

    fn mermaid(&self) -> String {
        let streams = self.streams();
        let lane = |stream: &str| streams.iter().position(|known| *known == stream).unwrap_or(0);
        // Where a line has both, what the block waits for comes first.
        let mut rows: Vec<(usize, u8, String)> = Vec::new();
        for wait in &self.waits {
            rows.extend(self.records_of(wait).map(|record| {
                let (from, to) = (lane(&record.stream), lane(&wait.stream));
                let label = escaped(&format!("{} (line {} → {})", wait.variable, record.line, wait.line));
                (wait.line, 0, format!("s{from}->>s{to}: {label}"))
            }));
        }
        for block in &self.blocks {
            let cores = if block.cores.is_empty() { String::new() } else { format!(", cores({})", block.cores) };
            let label = escaped(&format!("line {}{cores}", block.line));
            rows.push((block.line, 1, format!("Note over s{}: {label}", lane(&block.stream))));
        }
        rows.sort_by_key(|&(line, order, _)| (line, order));
        let mut text = String::from("sequenceDiagram\n");
        for (i, stream) in streams.iter().enumerate() {
            let _ = writeln!(text, "    participant s{i} as {}", escaped(stream));
        }
        for (_, _, row) in rows {
            let _ = writeln!(text, "    {row}");
        }
        text
    }

    fn records_of(&self, wait: &Wait) -> impl Iterator<Item = &Record> {
        wait.records.iter().map(|&record| &self.records[record as usize])
    }

    /// The streams by their first appearance: those of blocks, then those of records and waits outside of blocks.
    fn streams(&self) -> Vec<&str> {
        let blocks = self.blocks.iter().map(|block| &*block.stream);
        let sites =
            self.records.iter().map(|record| &*record.stream).chain(self.waits.iter().map(|wait| &*wait.stream));
        let mut streams = Vec::new();
        for stream in blocks.chain(sites) {
            if !streams.contains(&stream) {
                streams.push(stream);
            }
        }
        streams
    }
}

/// Code in a cell of a table.
fn code(text: &str) -> String {
    let text = text.replace('|', "\\|").replace('\n', " ");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Text in which nothing ends a statement of Mermaid's or is markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '#' => escaped.push_str("#35;"),
            ';' => escaped.push_str("#59;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '\n' => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
