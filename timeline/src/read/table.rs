//! Rows of a CSV file, one at a time: bytes in, cells out, with the line each row starts on.
//!
//! Guaranteed: no more than one block and one row are in memory; LF and CRLF, a byte order mark, quoted cells, doubled
//! quotes and line ends inside quotes are understood; empty lines are passed over, but counted. A quote that is never
//! closed costs the line it is on, not the rest of the file.
//!
//! This is the hot loop of reading a large profile. It finds commas and quotes with [`memchr`] and copies nothing; the
//! crate `csv` copies every cell of all 46 columns, which costs more than everything else here together.

use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr, memchr_iter};

const BLOCK: usize = 1 << 18;
/// A row above this length is a quote that was not closed.
const LONGEST: usize = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The rows of a file.
pub(crate) struct Table<R> {
    from: R,
    block: Vec<u8>,
    /// What of `block` is read from the file and not yet given out.
    start: usize,
    end: usize,
    at_end: bool,
    /// Lines given out so far.
    line: u64,
    /// Cells of the first row.
    width: Option<usize>,
    cells: Vec<Cell>,
}

/// Where a cell is in its row, without the quotes around it.
#[derive(Clone, Copy)]
struct Cell {
    start: u32,
    end: u32,
    /// It has doubled quotes inside.
    doubled: bool,
}

/// One row.
pub(crate) struct Cells<'a> {
    /// The line it starts on, from 1.
    pub(crate) line: u64,
    text: &'a [u8],
    cells: &'a [Cell],
    /// A quote is not closed, or the row is too long for one.
    pub(crate) open_quote: bool,
}

impl<R: Read> Table<R> {
    pub(crate) fn new(from: R) -> Table<R> {
        Table { from, block: vec![0; BLOCK], start: 0, end: 0, at_end: false, line: 0, width: None, cells: Vec::new() }
    }

    /// The next row; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<Cells<'_>>> {
        while let Some(row) = self.measure()? {
            let line = self.line + 1;
            let (text, row) = self.split(row);
            self.start += row.end.next;
            self.line += row.lines;
            if !text.is_empty() {
                self.width.get_or_insert(self.cells.len());
                return Ok(Some(Cells { line, text: &self.block[text], cells: &self.cells, open_quote: row.broken }));
            }
        }
        Ok(None)
    }

    /// Finds the cells of a row; gives where its text is, and the row itself, which may turn out to be one line only.
    fn split(&mut self, row: Measured) -> (Range<usize>, Measured) {
        let mut text = self.start..self.start + row.end.at;
        if self.line == 0 && self.block[text.clone()].starts_with(BYTE_ORDER_MARK) {
            text.start += BYTE_ORDER_MARK.len();
        }
        if self.block[text.clone()].ends_with(b"\r") {
            text.end -= 1;
        }
        split(&self.block[text.clone()], &mut self.cells, !row.broken);
        if row.lines > 1 && self.width != Some(self.cells.len()) {
            // Two quotes that were not closed, lines apart, look like one cell with all that is between.
            return self.split(Measured { end: row.first_line, lines: 1, broken: true, ..row });
        }
        (text, row)
    }

    /// Measures the next row, reading on as needed.
    fn measure(&mut self) -> io::Result<Option<Measured>> {
        let mut first_line = None;
        let (mut from, mut quotes, mut lines) = (0, 0, 0);
        loop {
            let rest = &self.block[self.start..self.end];
            let end = match memchr(b'\n', &rest[from..]) {
                Some(more) => Ended { at: from + more, next: from + more + 1 },
                None if !self.at_end && rest.len() <= LONGEST => {
                    self.fill()?;
                    continue;
                }
                None if rest.is_empty() => return Ok(None),
                None => Ended { at: rest.len(), next: rest.len() },
            };
            quotes += memchr_iter(b'"', &rest[from..end.at]).count();
            lines += 1;
            let first_line = *first_line.get_or_insert(end);
            let cut = end.at == end.next && !self.at_end;
            if quotes % 2 == 0 && !cut {
                return Ok(Some(Measured { end, first_line, lines, broken: false }));
            }
            if end.at == end.next || end.at > LONGEST {
                return Ok(Some(Measured { end: first_line, first_line, lines: 1, broken: true }));
            }
            from = end.next;
        }
    }

    /// Reads on, behind what is there.
    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.block.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.block.len() {
            self.block.resize(self.block.len() * 2, 0);
        }
        loop {
            match self.from.read(&mut self.block[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(more) => self.end += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

/// Where a line ends, and where the next one starts.
#[derive(Clone, Copy)]
struct Ended {
    at: usize,
    next: usize,
}

/// A row at the start of what is there.
struct Measured {
    end: Ended,
    /// The end of its first line; that is its own, unless there are line ends inside quotes.
    first_line: Ended,
    lines: u64,
    /// A quote is not closed.
    broken: bool,
}

/// Finds the cells of a row.
fn split(text: &[u8], cells: &mut Vec<Cell>, quotes: bool) {
    cells.clear();
    let mut start = 0;
    loop {
        let rest = &text[start..];
        let (cell, length) = match rest.first() {
            Some(b'"') if quotes => quoted(rest, start),
            _ => {
                let length = memchr(b',', rest).unwrap_or(rest.len());
                (Cell { start: start as u32, end: (start + length) as u32, doubled: false }, length)
            }
        };
        cells.push(cell);
        start += length + 1;
        if start > text.len() {
            return;
        }
    }
}

/// The cell that starts with a quote at the start of `rest`, and its length with quotes.
fn quoted(rest: &[u8], start: usize) -> (Cell, usize) {
    let mut doubled = false;
    let mut at = 1;
    while let Some(more) = memchr(b'"', &rest[at..]) {
        let quote = at + more;
        if rest.get(quote + 1) == Some(&b'"') {
            doubled = true;
            at = quote + 2;
            continue;
        }
        // Whatever stands between the closing quote and the comma belongs to no cell; writers put nothing there.
        let length = quote + 1 + memchr(b',', &rest[quote + 1..]).unwrap_or(rest.len() - quote - 1);
        return (Cell { start: (start + 1) as u32, end: (start + quote) as u32, doubled }, length);
    }
    (Cell { start: (start + 1) as u32, end: (start + rest.len()) as u32, doubled }, rest.len())
}

impl<'a> Cells<'a> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The bytes of a cell; empty if there is no such cell. Doubled quotes are still doubled.
    pub(crate) fn get(&self, index: usize) -> &'a [u8] {
        self.cells.get(index).map_or(&[], |cell| &self.text[cell.start as usize..cell.end as usize])
    }

    /// A cell as text, without the quotes that profilers put into cells with shapes, which CSV then doubles.
    pub(crate) fn text(&self, index: usize, buffer: &'a mut String) -> &'a str {
        let bytes = self.get(index);
        let doubled = self.cells.get(index).is_some_and(|cell| cell.doubled);
        match std::str::from_utf8(bytes) {
            Ok(text) if !doubled => text,
            Ok(text) => {
                let inner = text.strip_prefix("\"\"").and_then(|text| text.strip_suffix("\"\""));
                match inner {
                    Some(inner) if !inner.contains('"') => inner,
                    _ => replaced(buffer, &text.replace("\"\"", "\"")),
                }
            }
            Err(_) => replaced(buffer, &String::from_utf8_lossy(bytes).replace("\"\"", "\"")),
        }
    }
}

fn replaced<'a>(buffer: &'a mut String, text: &str) -> &'a str {
    buffer.clear();
    buffer.push_str(text);
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All rows: the line, and the cells as text.
    fn rows(text: &[u8]) -> Vec<(u64, Vec<String>)> {
        let mut table = Table::new(text);
        let mut rows = Vec::new();
        while let Some(cells) = table.next().expect("bytes in memory can be read") {
            let texts = (0..cells.len()).map(|i| cells.text(i, &mut String::new()).to_string()).collect();
            rows.push((cells.line, texts));
        }
        rows
    }

    fn row(line: u64, cells: &[&str]) -> (u64, Vec<String>) {
        (line, cells.iter().map(|cell| cell.to_string()).collect())
    }

    #[test]
    fn line_ends_marks_and_empty_lines() {
        let expected = [row(1, &["a", "b"]), row(3, &["1", ""]), row(4, &["", "2"])];
        assert_eq!(rows(b"a,b\n\n1,\n,2"), expected);
        assert_eq!(rows(b"\xEF\xBB\xBFa,b\r\n\r\n1,\r\n,2\r\n"), expected);
        assert_eq!(rows(b""), []);
        assert_eq!(rows(b"\n\r\n\n"), []);
    }

    #[test]
    fn quotes_hold_commas_quotes_and_line_ends() {
        assert_eq!(
            rows(b"\"\"\"4096,1024;1\"\"\",\"a,b\",\"say \"\"hi\"\"\"\n\"two\nlines\",x,\"\"\nlast,y,z\n"),
            [
                row(1, &["4096,1024;1", "a,b", "say \"hi\""]),
                row(2, &["two\nlines", "x", ""]),
                row(4, &["last", "y", "z"])
            ]
        );
    }

    #[test]
    fn an_open_quote_costs_its_line_alone() {
        let found = rows(b"a,b\n1,\"2\n3,4\n5,6");
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[2], row(3, &["3", "4"]));
        assert_eq!(rows(b"a,\"b"), [row(1, &["a", "\"b"])]);
    }

    #[test]
    fn an_endless_line_is_no_endless_memory() {
        let mut table = Table::new(std::io::repeat(b'x').take(64 << 20));
        let mut rows = 0;
        while let Some(cells) = table.next().expect("readable") {
            assert!(cells.open_quote || rows > 0);
            rows += 1;
            assert!(table.block.len() <= 4 * LONGEST);
        }
        assert!(rows > 1);
    }

    #[test]
    fn rows_may_straddle_blocks() {
        let text: String = (0..200_000).map(|i| format!("{i},\"\"\"{i},{i}\"\"\"\n")).collect();
        for (i, (line, cells)) in rows(text.as_bytes()).into_iter().enumerate() {
            assert_eq!((line, cells), row(i as u64 + 1, &[&i.to_string(), &format!("{i},{i}")]));
        }
    }
}
