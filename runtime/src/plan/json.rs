//! A plan as JSON.

use std::fmt::Write;

use super::Plan;

impl Plan {
    /// One JSON object, on one line:
    ///
    /// | key | value |
    /// |---|---|
    /// | `function`, `file`, `line` | where the function is |
    /// | `serial` | true if every block runs on `main` |
    /// | `blocks` | objects with `stream`, `line`, `cores` (as in the source, empty without a limit) and `outer` (index of the block around, or null) |
    /// | `records` | objects with `block` (index, or null outside of all blocks), `stream`, `line` and `variables` (texts) |
    /// | `waits` | objects with `block` (as above), `stream`, `line`, `variable` and `records` (indices) |
    pub fn to_json(&self) -> String {
        let blocks = self.blocks.iter().map(|block| {
            let (stream, cores, outer) = (string(block.stream), string(block.cores), number(block.outer));
            format!("{{\"stream\":{stream},\"line\":{},\"cores\":{cores},\"outer\":{outer}}}", block.line)
        });
        let records = self.records.iter().map(|record| {
            let (block, stream) = (number(record.block), string(record.stream));
            let variables = list(record.variables.iter().map(|variable| string(variable)));
            format!("{{\"block\":{block},\"stream\":{stream},\"line\":{},\"variables\":{variables}}}", record.line)
        });
        let waits = self.waits.iter().map(|wait| {
            let (block, stream, variable) = (number(wait.block), string(wait.stream), string(wait.variable));
            let records = list(wait.records.iter().map(u32::to_string));
            let line = wait.line;
            format!(
                "{{\"block\":{block},\"stream\":{stream},\"line\":{line},\"variable\":{variable},\"records\":{records}}}"
            )
        });
        format!(
            "{{\"function\":{},\"file\":{},\"line\":{},\"serial\":{},\"blocks\":{},\"records\":{},\"waits\":{}}}",
            string(self.function),
            string(self.file),
            self.line,
            self.serial,
            list(blocks),
            list(records),
            list(waits),
        )
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn number(number: Option<u32>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
