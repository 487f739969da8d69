//! Which column of a CSV file says what: a header in, positions and units out.
//!
//! One table of titles covers `kernel_details.csv` (`Name`, `Start Time(us)`), `op_summary*.csv` (`Op Name`,
//! `Task Start Time(us)`), files with some titles of each, and `task_time*.csv` (`kernel_name`, `task_start(us)`), with
//! and without `Step Id` and `Device_id`, with `Block Dim` (until CANN 8.5) or `Block Num`.

use std::path::Path;

use super::number::{NotANumber, scaled};
use super::table::Cells;
use crate::{Error, Result};

/// What a column says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Field {
    Device,
    Step,
    Stream,
    Task,
    Name,
    OpType,
    Core,
    Start,
    Duration,
    Blocks,
    MixBlocks,
    InputShapes,
    InputTypes,
    OutputShapes,
    OutputTypes,
    AicoreTime,
    AivTime,
}

/// Titles as [`plain`] leaves them.
const TITLES: [(Field, &[&str]); 17] = [
    (Field::Device, &["deviceid"]),
    (Field::Step, &["stepid", "step"]),
    (Field::Stream, &["streamid"]),
    (Field::Task, &["taskid"]),
    (Field::Name, &["name", "opname", "kernelname"]),
    (Field::OpType, &["type", "optype"]),
    (Field::Core, &["acceleratorcore", "tasktype", "kerneltype"]),
    (Field::Start, &["starttime", "taskstarttime", "taskstart"]),
    (Field::Duration, &["duration", "taskduration", "tasktime"]),
    (Field::Blocks, &["blockdim", "blocknum"]),
    (Field::MixBlocks, &["mixblockdim", "mixblocknum"]),
    (Field::InputShapes, &["inputshapes"]),
    (Field::InputTypes, &["inputdatatypes"]),
    (Field::OutputShapes, &["outputshapes"]),
    (Field::OutputTypes, &["outputdatatypes"]),
    (Field::AicoreTime, &["aicoretime"]),
    (Field::AivTime, &["aivtime"]),
];

/// Where a field is.
#[derive(Clone, Copy)]
struct Column {
    index: usize,
    /// A value times ten to this power is nanoseconds.
    to_ns: i32,
}

/// The header of a file.
pub(crate) struct Columns {
    /// What kind of file has it.
    pub(crate) format: &'static str,
    at: [Option<Column>; TITLES.len()],
    titles: Vec<String>,
    /// Titles of fields that the header has twice.
    pub(crate) twice: Vec<String>,
}

impl Columns {
    /// # Errors
    ///
    /// [`Error::Format`] if it is not the header of a file with operators; [`Error::Unsuitable`] if it has no streams.
    pub(crate) fn of(header: &Cells<'_>, path: &Path) -> Result<Columns> {
        let titles = titles(header);
        let mut columns = Columns { format: "", at: [None; TITLES.len()], titles, twice: Vec::new() };
        for (index, title) in columns.titles.iter().enumerate() {
            let (plain, to_ns) = plain(title);
            let Some((field, _)) = TITLES.iter().find(|(_, titles)| titles.contains(&plain.as_str())) else { continue };
            match &mut columns.at[*field as usize] {
                Some(_) => columns.twice.push(title.clone()),
                none => *none = Some(Column { index, to_ns }),
            }
        }
        columns.check(path)?;
        columns.format = columns.family();
        Ok(columns)
    }

    fn check(&self, path: &Path) -> Result<()> {
        let needed = [(Field::Name, "Name"), (Field::Start, "Start Time(us)"), (Field::Duration, "Duration(us)")];
        let missing: Vec<_> = needed.iter().filter(|(field, _)| !self.has(*field)).map(|(_, title)| *title).collect();
        if !missing.is_empty() {
            let what = if missing.len() == needed.len() { "no profile of operators" } else { "an incomplete header" };
            let why = format!("{what}: line 1 has no column {}", missing.join(", "));
            return Err(Error::format(
                path,
                why + "; give a kernel_details.csv, op_summary*.csv, a trace, or their folder",
            ));
        }
        if !self.has(Field::Stream) {
            return Err(Error::unsuitable(
                path,
                "collected at level 0: no column Stream ID; collect at level 1 or above to see streams",
            ));
        }
        Ok(())
    }

    /// The kind of file that spells the start time so.
    fn family(&self) -> &'static str {
        match plain(self.title(Field::Start)).0.as_str() {
            "starttime" => "kernel_details.csv",
            "taskstart" => "task_time.csv",
            // Some exporters mix the titles of the two.
            _ if plain(self.title(Field::Name)).0 == "name" => "kernel_details.csv",
            _ => "op_summary.csv",
        }
    }

    /// Cells of a whole row.
    pub(crate) fn count(&self) -> usize {
        self.titles.len()
    }

    pub(crate) fn has(&self, field: Field) -> bool {
        self.at[field as usize].is_some()
    }

    /// The title of a field's column; empty if there is none.
    pub(crate) fn title(&self, field: Field) -> &str {
        self.at[field as usize].map_or("", |column| &self.titles[column.index])
    }

    /// Where a field's cell is; past every row if there is none.
    pub(crate) fn index(&self, field: Field) -> usize {
        self.at[field as usize].map_or(usize::MAX, |column| column.index)
    }

    /// The bytes of a field; empty if the file has no such column.
    pub(crate) fn cell<'a>(&self, row: &Cells<'a>, field: Field) -> &'a [u8] {
        row.get(self.index(field))
    }

    /// A field that is a time, in ns.
    pub(crate) fn time(&self, row: &Cells<'_>, field: Field) -> Result<u64, NotANumber> {
        match self.at[field as usize] {
            Some(column) => scaled(row.get(column.index), column.to_ns),
            None => Err(NotANumber::Unknown),
        }
    }

    /// Whether a row is the header once more, as in files that were concatenated.
    pub(crate) fn is_header(&self, row: &Cells<'_>) -> bool {
        row.len() == self.count() && (0..row.len()).all(|i| row.get(i) == self.titles[i].as_bytes())
    }
}

/// The cells of a header.
pub(crate) fn titles(header: &Cells<'_>) -> Vec<String> {
    (0..header.len()).map(|i| String::from_utf8_lossy(&header.plain(i)).trim().to_string()).collect()
}

/// A title without case, spaces, underscores and unit; and the power of ten from its unit to nanoseconds.
pub(crate) fn plain(title: &str) -> (String, i32) {
    let (name, unit) = title.split_once('(').unwrap_or((title, "us)"));
    let to_ns = match unit.trim_end_matches([')', ' ']).to_ascii_lowercase().as_str() {
        "ns" => 0,
        "ms" => 6,
        "s" => 9,
        _ => 3,
    };
    (name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect(), to_ns)
}
