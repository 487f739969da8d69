//! Rows of `kernel_details.csv`, `op_summary*.csv` and `task_time*.csv`: a table in, operators, records and waits out.
//!
//! Guaranteed: a row that cannot be taken over is listed with the column and the value that are wrong; a cell that can
//! be done without costs a note, not the row.

use std::io::Read;
use std::path::Path;

use super::builder::Builder;
use super::columns::{Columns, Field};
use super::kind::Task;
use super::number::{NotANumber, is_unknown, trim, whole, whole_u32};
use super::parallel;
use super::progress::Counted;
use super::table::{Cells, Table};
use crate::capture::{NoteKind, Row, Symbol};
use crate::{Core, Error, Origin, Result, Sync, SyncKind, Via};

/// Reads a file of operators into `to`.
pub(crate) fn read(from: Counted<'_>, path: &Path, to: &mut Builder) -> Result<()> {
    let gauge = from.gauge();
    let mut table = Table::new(from);
    let header = table.next().map_err(Error::read(path))?;
    let Some(header) = header else {
        return Err(Error::no_data(path, "is empty: no header and no rows; was the profile exported to its end?"));
    };
    let columns = Columns::of(&header, path)?;
    to.source(path, columns.format);
    for column in &columns.twice {
        to.note(header.line, NoteKind::SameTitle { column: column.clone() });
    }
    if !parallel::read(path, (table.offset(), table.lines()), &columns, to, &gauge)? {
        rows(&mut table, &columns, path, to)?;
    }
    Ok(())
}

/// Reads rows into `to`. Says whether all quotes were closed.
pub(crate) fn rows(table: &mut Table<impl Read>, columns: &Columns, path: &Path, to: &mut Builder) -> Result<bool> {
    let mut closed = true;
    let mut parser = Parser { columns, to };
    while let Some(row) = table.next().map_err(Error::read(path))? {
        closed &= !row.open_quote;
        if let Err(why) = parser.row(&row) {
            parser.to.drop_row(row.line, why);
        }
    }
    Ok(closed)
}

struct Parser<'a> {
    columns: &'a Columns,
    to: &'a mut Builder,
}

/// A wait or a record as a device's profile has it, which says no more.
pub(crate) fn device_sync(
    kind: SyncKind,
    via: Via,
    device_id: u32,
    stream_id: u32,
    start_ns: u64,
    duration_ns: u64,
) -> Sync {
    let (origin, event, task, of_stream, site) = (Origin::Device, None, None, None, None);
    Sync { kind, via, origin, device_id, stream_id, start_ns, duration_ns, event, task, of_stream, site }
}

/// Why a row cannot be taken over.
type Why = String;

impl Parser<'_> {
    fn row(&mut self, row: &Cells<'_>) -> Result<(), Why> {
        self.shape(row)?;
        let start_ns = self.needed_time(row, Field::Start)?;
        let duration_ns = self.needed_time(row, Field::Duration)?;
        let stream = self.stream(row)?;
        match Task::of(trim(self.columns.cell(row, Field::Core))) {
            Task::Control => self.to.skip(),
            Task::Work(core) => {
                let row = self.operator(row, core, start_ns, duration_ns, stream);
                self.to.row(row)?;
            }
            Task::Sync(kind, via) => {
                let Some(stream_id) = stream else {
                    return Err(format!("{} of no stream", self.columns.title(Field::Stream)));
                };
                let device = self.number_u32(row, Field::Device).unwrap_or(0);
                let task = self.number(row, Field::Task);
                self.to.sync(Sync { task, ..device_sync(kind, via, device, stream_id, start_ns, duration_ns) });
            }
        }
        Ok(())
    }

    /// Whether the row is one at all.
    fn shape(&self, row: &Cells<'_>) -> Result<(), Why> {
        if row.open_quote {
            return Err("a quote is not closed: left out".into());
        }
        let (cells, titles) = (row.len(), self.columns.count());
        let surplus = (titles..cells).any(|i| !row.get(i).is_empty());
        if cells < titles || surplus {
            return Err(format!("{cells} cells under a header of {titles}: left out"));
        }
        if cells == titles && self.columns.is_header(row) {
            return Err("the header again: left out".into());
        }
        Ok(())
    }

    fn operator(&mut self, row: &Cells<'_>, core: Core, start_ns: u64, duration_ns: u64, stream: Option<u32>) -> Row {
        let count = |count: Option<u32>| count.filter(|&count| count > 0);
        Row {
            source: self.to.source_index(),
            line: row.line,
            device: self.number_u32(row, Field::Device).unwrap_or(0),
            step: self.number_u32(row, Field::Step),
            stream,
            task: self.number(row, Field::Task),
            name: self.text(row, Field::Name),
            op_type: self.text(row, Field::OpType),
            core,
            start_ns,
            duration_ns,
            blocks: count(self.number_u32(row, Field::Blocks)),
            mix_blocks: count(self.number_u32(row, Field::MixBlocks)),
            input_shapes: self.text(row, Field::InputShapes),
            input_types: self.text(row, Field::InputTypes),
            output_shapes: self.text(row, Field::OutputShapes),
            output_types: self.text(row, Field::OutputTypes),
            aicore_ns: self.time(row, Field::AicoreTime),
            aiv_ns: self.time(row, Field::AivTime),
        }
    }

    fn needed_time(&self, row: &Cells<'_>, field: Field) -> Result<u64, Why> {
        self.columns.time(row, field).map_err(|why| self.complaint(row, field, why))
    }

    fn complaint(&self, row: &Cells<'_>, field: Field, why: NotANumber) -> Why {
        let value = String::from_utf8_lossy(self.columns.cell(row, field));
        format!("column {}: `{}` {why}: left out", self.columns.title(field), value.trim())
    }

    /// `None` for rows of no stream: the cell says `N/A`, or the number that stands for none.
    fn stream(&self, row: &Cells<'_>) -> Result<Option<u32>, Why> {
        match whole_u32(self.columns.cell(row, Field::Stream)) {
            Ok(u32::MAX) | Err(NotANumber::Unknown) => Ok(None),
            Ok(stream) => Ok(Some(stream)),
            Err(why) => Err(self.complaint(row, Field::Stream, why)),
        }
    }

    fn number(&mut self, row: &Cells<'_>, field: Field) -> Option<u64> {
        let value = whole(self.columns.cell(row, field));
        self.optional(row, field, value)
    }

    fn number_u32(&mut self, row: &Cells<'_>, field: Field) -> Option<u32> {
        let value = whole_u32(self.columns.cell(row, field));
        self.optional(row, field, value)
    }

    fn time(&mut self, row: &Cells<'_>, field: Field) -> Option<u64> {
        let value = self.columns.time(row, field);
        self.optional(row, field, value)
    }

    fn optional<T>(&mut self, row: &Cells<'_>, field: Field, value: Result<T, NotANumber>) -> Option<T> {
        if let Err(why) = &value
            && *why != NotANumber::Unknown
        {
            let value = String::from_utf8_lossy(self.columns.cell(row, field)).trim().to_string();
            self.to.note(row.line, NoteKind::Cell { column: self.columns.title(field).to_string(), value });
        }
        value.ok()
    }

    fn text(&mut self, row: &Cells<'_>, field: Field) -> Symbol {
        let index = self.columns.index(field);
        let text = match field {
            Field::InputShapes | Field::OutputShapes => row.shapes(index),
            _ => row.plain(index),
        };
        if is_unknown(&text) { self.to.nothing() } else { self.to.intern_bytes(&text) }
    }
}
