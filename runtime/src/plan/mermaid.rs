//! A plan as a Mermaid diagram.
//!
//! `#[multicore(explain)]` writes the same text into the documentation: a change here is a change in
//! `macros/src/emit/explain.rs`, and a test compares the two.

use std::fmt::Write;

use super::Plan;

impl Plan {
    /// A Mermaid sequence diagram: a lane for each stream, blocks in source order with their lines, and an arrow from
    /// each record to each wait for it, with the variable and both lines.
    pub fn to_mermaid(&self) -> String {
        let streams = self.streams();
        let lane = |stream: &str| streams.iter().position(|known| *known == stream).unwrap_or(0);
        // Where a line has both, what the block waits for comes first.
        let mut rows: Vec<(u32, u8, String)> = Vec::new();
        for wait in self.waits {
            rows.extend(self.records_of(wait).map(|record| {
                let (from, to) = (lane(record.stream), lane(wait.stream));
                let label = escaped(&format!("{} (line {} → {})", wait.variable, record.line, wait.line));
                (wait.line, 0, format!("s{from}->>s{to}: {label}"))
            }));
        }
        for block in self.blocks {
            let cores = if block.cores.is_empty() { String::new() } else { format!(", cores({})", block.cores) };
            let label = escaped(&format!("line {}{cores}", block.line));
            rows.push((block.line, 1, format!("Note over s{}: {label}", lane(block.stream))));
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
