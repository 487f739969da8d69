//! `step_trace_time.csv`: what the profiler itself says of each step; a check, no rows.

use std::io::Read;
use std::path::Path;

use super::builder::Builder;
use super::number::{scaled, whole_u32};
use super::table::{Cells, Table};
use crate::capture::StepTime;
use crate::{Error, Result};

/// Reads the file into `to`.
pub(crate) fn read(from: impl Read, path: &Path, to: &mut Builder) -> Result<()> {
    let mut table = Table::new(from);
    let Some(header) = table.next().map_err(Error::read(path))? else {
        return Err(Error::no_data(path, "is empty"));
    };
    let columns = Columns::of(&header);
    to.source(path, "step_trace_time.csv");
    while let Some(row) = table.next().map_err(Error::read(path))? {
        match columns.step_time(&row) {
            Ok(step) => to.step_time(step),
            Err(why) => to.drop_row(row.line, why),
        }
    }
    Ok(())
}

/// The titles of the header, in lower case letters and digits.
struct Columns(Vec<String>);

impl Columns {
    fn of(header: &Cells<'_>) -> Columns {
        let plain = |title: &str| title.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
        Columns((0..header.len()).map(|i| plain(&String::from_utf8_lossy(&header.plain(i)))).collect())
    }

    fn cell<'a>(&self, row: &Cells<'a>, title: &str) -> &'a [u8] {
        self.0.iter().position(|known| known == title).map_or(&[], |index| row.get(index))
    }

    fn step_time(&self, row: &Cells<'_>) -> Result<StepTime, String> {
        // The profiler adds up floats; the noise behind the third decimal is no time.
        let time = |title: &str| {
            let cell = self.cell(row, title);
            scaled(cell, 3)
                .map_err(|why| format!("column {title}: `{}` {why}: left out", String::from_utf8_lossy(cell)))
        };
        Ok(StepTime {
            device: whole_u32(self.cell(row, "deviceid")).ok(),
            step: whole_u32(self.cell(row, "step")).ok(),
            computing_ns: time("computing")?,
            communication_ns: time("communication")?,
            overlapped_ns: time("overlapped")?,
            exposed_ns: time("communicationnotoverlapped")?,
            free_ns: time("free")?,
            stage_ns: time("stage")?,
        })
    }
}
