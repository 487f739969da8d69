//! Reads a large table on several threads: each takes a part of the file from one line end to another.
//!
//! The result is that of reading it on one, down to line numbers. A part cannot know whether it starts inside of quotes;
//! but then the part before it ends inside of quotes, which shows, and the file is read on one thread after all.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::thread;

use super::builder::Builder;
use super::columns::Columns;
use super::operators::rows;
use super::progress::Gauge;
use super::table::Table;
use crate::{Error, Result};

/// Bytes that are worth a thread.
const WORTH: u64 = 1 << 24;
const THREADS: u64 = 8;

/// What was read of a part.
struct Part {
    builder: Builder,
    lines: u64,
    /// All quotes were closed.
    closed: bool,
}

/// Reads the rows behind the header, which ends at a byte and a line. False if they must be read on one thread.
pub(crate) fn read(
    path: &Path,
    (start, mut line): (u64, u64),
    columns: &Columns,
    to: &mut Builder,
    gauge: &Gauge<'_>,
) -> Result<bool> {
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get() as u64).min(THREADS);
    let count = (gauge.size().saturating_sub(start) / WORTH).min(threads);
    if count < 2 {
        return Ok(false);
    }
    let ranges = split(path, start..gauge.size(), count).map_err(Error::read(path))?;
    let source = to.source_index();
    let parts = thread::scope(|scope| {
        let worker = |range: &Range<u64>| {
            let range = range.clone();
            scope.spawn(move || read_part(path, range, columns, source, |_| {}))
        };
        let workers: Vec<_> = ranges[1..].iter().map(worker).collect();
        // Parts are of one size: how far the first one is, is how far all are.
        let first = read_part(path, ranges[0].clone(), columns, source, |bytes| gauge.reach(start + bytes * count));
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(first).chain(workers.into_iter().map(join)).collect::<Result<Vec<Part>>>()
    })?;
    if parts.iter().any(|part| !part.closed) {
        return Ok(false);
    }
    for part in parts {
        to.absorb(part.builder, line);
        line += part.lines;
    }
    gauge.reach(gauge.size());
    Ok(true)
}

/// Cuts a range of a file into parts of about one size that start behind line ends.
fn split(path: &Path, range: Range<u64>, count: u64) -> io::Result<Vec<Range<u64>>> {
    let mut file = File::open(path)?;
    let mut starts = vec![range.start];
    for part in 1..count {
        let mut at = range.start + (range.end - range.start) / count * part;
        file.seek(SeekFrom::Start(at))?;
        let mut block = [0; 1 << 12];
        loop {
            let read = file.read(&mut block)?;
            match memchr::memchr(b'\n', &block[..read]) {
                Some(line_end) => break at += line_end as u64 + 1,
                None if read == 0 => break,
                None => at += read as u64,
            }
        }
        starts.push(at.min(range.end).max(starts[starts.len() - 1]));
    }
    let ends = starts[1..].iter().copied().chain([range.end]);
    Ok(starts.iter().zip(ends).map(|(&start, end)| start..end).collect())
}

fn read_part(path: &Path, range: Range<u64>, columns: &Columns, source: u16, tell: impl FnMut(u64)) -> Result<Part> {
    let mut file = File::open(path).map_err(Error::read(path))?;
    file.seek(SeekFrom::Start(range.start)).map_err(Error::read(path))?;
    let from = Told { from: file.take(range.end - range.start), done: 0, tell };
    let mut builder = Builder::part_of(source);
    let mut table = Table::behind_header(from, columns.count());
    let closed = rows(&mut table, columns, path, &mut builder)?;
    Ok(Part { builder, lines: table.lines(), closed })
}

/// A reader that tells how much was read.
struct Told<R, T> {
    from: R,
    done: u64,
    tell: T,
}

impl<R: Read, T: FnMut(u64)> Read for Told<R, T> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.done += read as u64;
        (self.tell)(self.done);
        Ok(read)
    }
}
