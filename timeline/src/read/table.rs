//! Rows of a CSV file, one at a time: bytes in, cells out, with the line each row starts on.
//!
//! Guaranteed: no more than one block and one row are in memory; LF and CRLF, a byte order mark, quoted cells, doubled
//! quotes and line ends inside quotes are understood; empty lines are passed over, but counted. A quote that is never
//! closed costs the line it is on, not the rest of the file.
//!
//! This is the hot loop of reading a large profile, and copies nothing. It looks at 64 bytes at a time, see [`marks`](super::marks); the
//! crate `csv` copies every cell of all 46 columns, which costs more than everything else here together.

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;

use super::marks::Marks;

const BLOCK: usize = 1 << 18;
/// A row above this length is a quote that was not closed.
const LONGEST: usize = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The rows of a file.
pub(crate) struct Table<R> {
    from: R,
    block: Vec<u8>,
    /// Bytes of the file before `block`.
    before: u64,
    /// What of `block` is read from the file and not yet given out.
    start: usize,
    end: usize,
    at_end: bool,
    /// Lines given out so far.
    line: u64,
    /// Cells of the first row.
    width: Option<usize>,
    /// Where the cells of the row end.
    cells: Vec<u32>,
}

/// One row.
pub(crate) struct Cells<'a> {
    /// The line it starts on, from 1.
    pub(crate) line: u64,
    text: &'a [u8],
    ends: &'a [u32],
    /// A quote is not closed, or the row is too long for one.
    pub(crate) open_quote: bool,
}

impl<R: Read> Table<R> {
    pub(crate) fn new(from: R) -> Table<R> {
        Table {
            from,
            block: vec![0; BLOCK],
            before: 0,
            start: 0,
            end: 0,
            at_end: false,
            line: 0,
            width: None,
            cells: Vec::new(),
        }
    }

    /// Rows from the middle of a file with so many columns; lines count from there.
    pub(crate) fn behind_header(from: R, width: usize) -> Table<R> {
        Table { width: Some(width), ..Table::new(from) }
    }

    /// Lines given out so far.
    pub(crate) fn lines(&self) -> u64 {
        self.line
    }

    /// Bytes given out so far.
    pub(crate) fn offset(&self) -> u64 {
        self.before + self.start as u64
    }

    /// The next row; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<Cells<'_>>> {
        while let Some(row) = self.measure()? {
            let line = self.line + 1;
            let text = self.text(&row);
            self.start += row.end.next;
            self.line += row.lines;
            if !text.is_empty() {
                self.cells.push(text.len() as u32);
                self.width.get_or_insert(self.cells.len());
                return Ok(Some(Cells { line, text: &self.block[text], ends: &self.cells, open_quote: row.broken }));
            }
        }
        Ok(None)
    }

    /// Where the text of a row is, without line end.
    fn text(&self, row: &Measured) -> Range<usize> {
        let text = self.start..self.start + row.end.at;
        if self.block[text.clone()].ends_with(b"\r") { text.start..text.end - 1 } else { text }
    }

    /// Measures the next row and its cells, reading on as needed.
    fn measure(&mut self) -> io::Result<Option<Measured>> {
        loop {
            if self.line == 0 && self.block[self.start..self.end].starts_with(BYTE_ORDER_MARK) {
                self.start += BYTE_ORDER_MARK.len();
            }
            let rest = &self.block[self.start..self.end];
            let scanned = scan(rest, &mut self.cells);
            let whole = scanned.end.next > scanned.end.at;
            if !whole && !self.at_end && rest.len() <= LONGEST {
                self.fill()?;
                continue;
            }
            if rest.is_empty() {
                return Ok(None);
            }
            let first_line = scanned.first_line.unwrap_or(scanned.end);
            let lines = 1 + scanned.breaks;
            // Two quotes that were not closed, lines apart, look like one cell with all that is between.
            let odd = lines > 1 && self.width != Some(self.cells.len() + 1);
            if odd || scanned.in_quote || !whole && !self.at_end {
                self.cells.clear();
                return Ok(Some(Measured { end: first_line, lines: 1, broken: true }));
            }
            return Ok(Some(Measured { end: scanned.end, lines, broken: false }));
        }
    }

    /// Reads on, behind what is there.
    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.block.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.before += self.start as u64;
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

/// Where a line ends, and where the next one starts; the same place if there is none.
#[derive(Clone, Copy)]
struct Ended {
    at: usize,
    next: usize,
}

/// A row at the start of what is there.
struct Measured {
    end: Ended,
    lines: u64,
    broken: bool,
}

/// What a row looks like if all its quotes are meant.
struct Scanned {
    end: Ended,
    /// The end of its first line, if there are line ends inside quotes; and how many there are.
    first_line: Option<Ended>,
    breaks: u64,
    /// The text ends inside quotes.
    in_quote: bool,
}

/// Finds the end of the row at the start of `text`, and the commas between its cells.
fn scan(text: &[u8], commas: &mut Vec<u32>) -> Scanned {
    commas.clear();
    let mut scanned =
        Scanned { end: Ended { at: text.len(), next: text.len() }, first_line: None, breaks: 0, in_quote: false };
    for (chunk, at) in text.chunks(Marks::WIDTH).zip((0..).step_by(Marks::WIDTH)) {
        let marks = Marks::of(chunk);
        let quoted = marks.quoted(scanned.in_quote);
        let end = marks.line_ends & !quoted;
        let before_end = end ^ end.wrapping_sub(1);
        for comma in bits(marks.commas & !quoted & before_end) {
            commas.push(at as u32 + comma);
        }
        if marks.line_ends & quoted & before_end != 0 {
            for line_end in bits(marks.line_ends & quoted & before_end) {
                let line_end = at + line_end as usize;
                scanned.first_line.get_or_insert(Ended { at: line_end, next: line_end + 1 });
                scanned.breaks += 1;
            }
        }
        if end != 0 {
            let end = at + end.trailing_zeros() as usize;
            scanned.end = Ended { at: end, next: end + 1 };
            scanned.in_quote = false;
            return scanned;
        }
        scanned.in_quote ^= marks.quotes.count_ones() % 2 == 1;
    }
    scanned
}
/// The numbers of the bits that are set, from the lowest.
fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros());
        mask &= mask.wrapping_sub(1);
        bit
    })
}

impl<'a> Cells<'a> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of a cell, without the quotes around it; empty if there is no such cell.
    pub(crate) fn get(&self, index: usize) -> &'a [u8] {
        let Some(&end) = self.ends.get(index) else { return &[] };
        let start = if index == 0 { 0 } else { self.ends[index - 1] + 1 };
        match &self.text[start as usize..end as usize] {
            [b'"', inner @ .., b'"'] => inner,
            cell => cell,
        }
    }

    /// A cell without its doubled quotes.
    pub(crate) fn plain(&self, index: usize) -> Cow<'a, [u8]> {
        let cell = self.get(index);
        if memchr::memchr(b'"', cell).is_none() {
            return cell.into();
        }
        let mut plain = Vec::with_capacity(cell.len());
        let mut first_of_two = false;
        for &byte in cell {
            first_of_two = byte == b'"' && !first_of_two;
            if byte != b'"' || first_of_two {
                plain.push(byte);
            }
        }
        plain.into()
    }

    /// A cell without the quotes that profilers put around shapes, which CSV doubles.
    pub(crate) fn shapes(&self, index: usize) -> Cow<'a, [u8]> {
        match self.get(index) {
            [b'"', b'"', shapes @ .., b'"', b'"'] => shapes.into(),
            _ => self.plain(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All rows: the line, and the cells as text.
    fn rows(text: &[u8]) -> Vec<(u64, Vec<String>)> {
        let mut table = Table::new(text);
        let mut rows = Vec::new();
        while let Some(cells) = table.next().expect("bytes in memory can be read") {
            let texts = (0..cells.len()).map(|i| String::from_utf8_lossy(&cells.plain(i)).into_owned()).collect();
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
                row(1, &["\"4096,1024;1\"", "a,b", "say \"hi\""]),
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
        assert_eq!(rows(b"a,\"b"), [row(1, &["a,\"b"])]);
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
            assert_eq!((line, cells), row(i as u64 + 1, &[&i.to_string(), &format!("\"{i},{i}\"")]));
        }
    }
}
