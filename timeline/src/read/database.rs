//! The profiler's SQLite database: `ascend_pytorch_profiler*.db`, `msprof_*.db`.
//!
//! It has what table and trace have together: operators with their shapes, waits, copies, times in whole nanoseconds.
//! Columns that a version of the profiler does not write are taken as unknown. Times of the cores (`TASK_PMU_INFO`) are
//! not read: the database does not say their unit.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::builder::{Builder, Mark};
use super::kind::Task;
use super::number::{NotANumber, whole};
use super::operators::device_sync;
use crate::capture::{Row, Symbol};
use crate::{Core, Error, Result};

/// Reads a database into `to`.
pub(crate) fn read(path: &Path, to: &mut Builder) -> Result<()> {
    let failed = |error: rusqlite::Error| Error::format(path, format!("broken database: {error}"));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Database(Connection::open_with_flags(path, flags).map_err(failed)?);
    if !database.has("TASK", "startNs").map_err(failed)? || !database.has("STRING_IDS", "value").map_err(failed)? {
        return Err(Error::format(path, "a database, but no profile: it has no tables TASK and STRING_IDS"));
    }
    let mark = to.mark();
    to.source(path, "profiler database");
    database.tasks(to).map_err(failed)?;
    database.collectives(to, &mark).map_err(failed)?;
    database.steps(to, &mark).map_err(failed)
}

struct Database(Connection);

/// What the cells of a row say; asked for by place.
struct Cells<'a>(&'a rusqlite::Row<'a>);

impl Database {
    fn has(&self, table: &str, column: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2";
        self.0.query_row(sql, [table, column], |row| row.get::<_, i64>(0)).map(|count| count > 0)
    }

    /// `c.blockDim`, or `NULL` where there is no such column.
    fn column(&self, table: &str, alias: &str, column: &str) -> rusqlite::Result<String> {
        Ok(if self.has(table, column)? { format!("{alias}.{column}") } else { "NULL".into() })
    }

    /// The text of a column that has a number of `STRING_IDS`.
    fn text_column(&self, table: &str, alias: &str, column: &str) -> rusqlite::Result<String> {
        let number = self.column(table, alias, column)?;
        Ok(format!("(SELECT value FROM STRING_IDS WHERE id = {number})"))
    }

    fn tasks(&self, to: &mut Builder) -> rusqlite::Result<()> {
        let mut columns = vec!["t.rowid".to_string()];
        for column in ["startNs", "endNs", "deviceId", "streamId", "taskId"] {
            columns.push(self.column("TASK", "t", column)?);
        }
        columns.push(self.text_column("TASK", "t", "taskType")?);
        for column in ["blockDim", "mixBlockDim"] {
            columns.push(self.column("COMPUTE_TASK_INFO", "c", column)?);
        }
        for column in ["taskType", "name", "opType", "inputShapes", "inputDataTypes", "outputShapes", "outputDataTypes"]
        {
            columns.push(self.text_column("COMPUTE_TASK_INFO", "c", column)?);
        }
        let inner = self.has("COMMUNICATION_TASK_INFO", "globalTaskId")?;
        columns.push(match inner {
            true => "t.globalTaskId IN (SELECT globalTaskId FROM COMMUNICATION_TASK_INFO)".into(),
            false => "0".into(),
        });
        let join = match self.has("COMPUTE_TASK_INFO", "globalTaskId")? {
            true => "LEFT JOIN COMPUTE_TASK_INFO c ON c.globalTaskId = t.globalTaskId",
            false => "",
        };
        let sql = format!("SELECT {} FROM TASK t {join} ORDER BY t.startNs", columns.join(", "));
        let mut statement = self.0.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cells = Cells(row);
            let number = cells.number(0).unwrap_or(0);
            if let Err(why) = cells.task(number, to) {
                to.drop_row(number, format!("row {number} of TASK: {why}: left out"));
            }
        }
        Ok(())
    }

    /// Collectives as a whole, on no stream.
    fn collectives(&self, to: &mut Builder, mark: &Mark) -> rusqlite::Result<()> {
        if !self.has("COMMUNICATION_OP", "startNs")? {
            return Ok(());
        }
        let device = to.rows().get(mark.rows).map_or(0, |row| row.device);
        let columns = [
            "o.rowid".to_string(),
            "o.startNs".into(),
            "o.endNs".into(),
            self.column("COMMUNICATION_OP", "o", "deviceId")?,
            self.text_column("COMMUNICATION_OP", "o", "opName")?,
            self.text_column("COMMUNICATION_OP", "o", "opType")?,
        ];
        let mut statement = self.0.prepare(&format!("SELECT {} FROM COMMUNICATION_OP o", columns.join(", ")))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cells = Cells(row);
            let number = cells.number(0).unwrap_or(0);
            let taken = cells.times(1).and_then(|(start_ns, duration_ns)| {
                let (name, op_type) = (cells.text(4, to), cells.text(5, to));
                let row = Row { op_type, device: cells.small(3).unwrap_or(device), ..to.bare_row(number, name) };
                to.row(Row { core: Core::Communication, start_ns, duration_ns, ..row })
            });
            if let Err(why) = taken {
                to.drop_row(number, format!("row {number} of COMMUNICATION_OP: {why}: left out"));
            }
        }
        Ok(())
    }

    /// Gives each row the step that it starts in.
    fn steps(&self, to: &mut Builder, mark: &Mark) -> rusqlite::Result<()> {
        if !self.has("STEP_TIME", "id")? {
            return Ok(());
        }
        let mut steps = Vec::new();
        let mut statement = self.0.prepare("SELECT id, startNs, endNs FROM STEP_TIME")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cells = Cells(row);
            if let (Ok(step), Ok((start_ns, duration_ns))) = (cells.small(0), cells.times(1)) {
                steps.push((start_ns, start_ns.saturating_add(duration_ns), step));
            }
        }
        to.assign_steps(mark, steps);
        Ok(())
    }
}

impl Cells<'_> {
    /// Takes a task; the places are those of the query in [`Database::tasks`].
    fn task(&self, line: u64, to: &mut Builder) -> Result<(), String> {
        let (start_ns, duration_ns) = self.times(1)?;
        let stream = match self.small(4) {
            Ok(u32::MAX) | Err(NotANumber::Unknown) => None,
            Ok(stream) => Some(stream),
            Err(why) => return Err(format!("streamId {why}")),
        };
        let device = self.small(3).unwrap_or(0);
        let task_type = self.bytes(6);
        match Task::of(task_type) {
            Task::Control => to.skip(),
            Task::Sync(kind, via) => {
                let stream = stream.ok_or("a wait or record of no stream")?;
                let sync = device_sync(kind, via, device, stream, start_ns, duration_ns);
                to.sync(crate::Sync { task: self.number(5).ok(), ..sync });
            }
            Task::Work(core) => {
                let inner = self.number(16) == Ok(1);
                // Copies inside of a collective are the collective's own.
                if inner && core == Core::Copy {
                    to.skip();
                    return Ok(());
                }
                let core = match Task::of(self.bytes(9)) {
                    _ if inner && core != Core::AiCpu => Core::Communication,
                    Task::Work(better) if better != Core::Unknown => better,
                    _ => core,
                };
                let name = if self.bytes(10).is_empty() { to.intern_bytes(task_type) } else { self.text(10, to) };
                let count = |place| self.small(place).ok().filter(|&count| count > 0);
                let row = Row {
                    device,
                    stream,
                    task: self.number(5).ok(),
                    core,
                    start_ns,
                    duration_ns,
                    ..to.bare_row(line, name)
                };
                let row = Row { op_type: self.text(11, to), blocks: count(7), mix_blocks: count(8), ..row };
                let row = Row { input_shapes: self.text(12, to), input_types: self.text(13, to), ..row };
                let row = Row { output_shapes: self.text(14, to), output_types: self.text(15, to), ..row };
                to.row(row)?;
            }
        }
        Ok(())
    }

    /// Start and duration, from the start at a place and the end behind it.
    fn times(&self, place: usize) -> Result<(u64, u64), String> {
        let start = self.number(place).map_err(|why| format!("startNs {why}"))?;
        let end = self.number(place + 1).map_err(|why| format!("endNs {why}"))?;
        let duration = end.checked_sub(start).ok_or_else(|| format!("ends at {end}, before it starts at {start}"))?;
        Ok((start, duration))
    }

    fn number(&self, place: usize) -> Result<u64, NotANumber> {
        match self.0.get_ref(place) {
            Ok(ValueRef::Integer(value)) => u64::try_from(value).map_err(|_| NotANumber::Negative),
            // Nanoseconds of today are beyond what a float resolves.
            Ok(ValueRef::Real(_)) => Err(NotANumber::Fraction),
            Ok(ValueRef::Text(text)) => whole(text),
            _ => Err(NotANumber::Unknown),
        }
    }

    fn small(&self, place: usize) -> Result<u32, NotANumber> {
        u32::try_from(self.number(place)?).map_err(|_| NotANumber::TooLarge)
    }

    /// A text; empty where there is none, or `N/A`.
    fn bytes(&self, place: usize) -> &[u8] {
        match self.0.get_ref(place) {
            Ok(ValueRef::Text(text)) if !super::number::is_unknown(text) => text,
            _ => &[],
        }
    }

    fn text(&self, place: usize, to: &mut Builder) -> Symbol {
        let text = self.bytes(place);
        // Shapes have quotes around them, as in tables.
        let text = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text);
        to.intern_bytes(text)
    }
}
