//! A plan as text for a terminal.

use std::fmt;

use super::{Plan, PlanBlock};

impl Plan {
    /// `4 blocks on 2 streams, 2 records, 2 waits`.
    pub(super) fn counts(&self) -> String {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut streams: Vec<&str> = self.blocks.iter().map(|block| block.stream).collect();
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

    /// In how many blocks a block stands.
    fn depth(&self, block: &PlanBlock) -> usize {
        std::iter::successors(block.outer, |&outer| self.blocks.get(outer as usize)?.outer).count()
    }
}

/// Blocks, nested ones indented, and waits with the records they come after.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "plan of `{}` ({}:{})", self.function, self.file, self.line)?;
        writeln!(f, "{}", self.counts())?;
        let blocks = self.blocks.iter().map(|block| {
            let stream = format!("{:indent$}{}", "", block.stream, indent = 2 * self.depth(block));
            [block.line.to_string(), stream, block.cores.to_owned()]
        });
        table(f, ["block", "stream", "cores"], blocks.collect())?;
        let waits = self.waits.iter().map(|wait| {
            let records = self.records_of(wait).map(|record| format!("`{}` at {}", record.stream, record.line));
            let after = records.collect::<Vec<_>>().join(", ");
            [wait.line.to_string(), wait.stream.to_owned(), wait.variable.to_owned(), after]
        });
        table(f, ["wait", "stream", "for", "after the record on"], waits.collect())
    }
}

/// Rows whose first column is a line. Nothing without rows.
fn table<const N: usize>(f: &mut fmt::Formatter<'_>, head: [&str; N], rows: Vec<[String; N]>) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].len()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    writeln!(f)?;
    for row in std::iter::once(head).chain(rows.iter().map(|row| std::array::from_fn(|i| row[i].as_str()))) {
        let cells = row.iter().zip(widths).enumerate().map(|(i, (cell, width))| match i {
            0 => format!("{cell:>width$}"),
            _ => format!("  {cell:<width$}"),
        });
        writeln!(f, "{}", cells.collect::<String>().trim_end())?;
    }
    Ok(())
}
