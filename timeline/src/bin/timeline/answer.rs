//! An answer as text, JSON or CSV.
//!
//! JSON is one object: `schema` (the version of all fields), `command`, `files`, and the fields of the answer beside
//! them. CSV is one table with a header. Both are documented in docs/timeline.md, field by field.

use std::io::{self, Write};

use multicore_timeline::Capture;
use serde::Serialize;

use crate::args::Output;
use crate::failure::Result;
use crate::text::Text;

/// The version of the fields of JSON and CSV: goes up when one changes its meaning or disappears.
pub(crate) const SCHEMA: u32 = 1;

/// A table for CSV: a header, and rows of as many cells.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) header: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Something that a command answers.
pub(crate) trait Answer: Serialize {
    /// The command.
    const COMMAND: &'static str;

    /// For people.
    fn text(&self, to: &mut Text);

    /// For spreadsheets.
    fn table(&self) -> Table;
}

/// Where an answer comes from.
#[derive(Debug, Serialize)]
struct File {
    path: String,
    format: &'static str,
    rows: u64,
    syncs: u64,
    skipped: u64,
}

#[derive(Serialize)]
struct Envelope<'a, A> {
    schema: u32,
    command: &'static str,
    files: Vec<File>,
    #[serde(flatten)]
    answer: &'a A,
}

/// Writes an answer to standard output in the form that was asked for.
pub(crate) fn give<A: Answer>(answer: &A, captures: &[&Capture], output: &Output) -> Result<()> {
    let mut to = io::stdout().lock();
    if output.json {
        let sources = captures.iter().flat_map(|capture| &capture.sources);
        let files = sources.map(|source| File {
            path: source.path.display().to_string(),
            format: source.format,
            rows: source.rows,
            syncs: source.syncs,
            skipped: source.skipped,
        });
        let envelope = Envelope { schema: SCHEMA, command: A::COMMAND, files: files.collect(), answer };
        let text = serde_json::to_string_pretty(&envelope).map_err(io::Error::from)?;
        writeln!(to, "{text}")?;
    } else if output.csv {
        let table = answer.table();
        let mut csv = csv::Writer::from_writer(&mut to);
        csv.write_record(&table.header).map_err(io::Error::from)?;
        for row in &table.rows {
            csv.write_record(row).map_err(io::Error::from)?;
        }
        csv.flush()?;
    } else {
        let mut text = Text::new(output.color);
        answer.text(&mut text);
        to.write_all(text.finish().as_bytes())?;
    }
    to.flush()?;
    Ok(())
}

/// A number, or nothing, as a cell.
pub(crate) fn some(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A share as a cell, with the digits that it is worth.
pub(crate) fn share(value: f64) -> String {
    format!("{value:.6}")
}
