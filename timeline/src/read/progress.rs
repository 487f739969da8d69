//! How far reading is: opens files, and tells somebody now and then.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::{Error, Result};

/// How far reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read so far.
    pub done: u64,
    /// Bytes to read in all.
    pub total: u64,
}

/// Bytes between two calls.
const STEP: u64 = 1 << 20;

/// Counts what is read of all files.
pub(crate) struct Meter<'a> {
    done: Cell<u64>,
    told: Cell<u64>,
    total: u64,
    tell: Option<&'a dyn Fn(Progress)>,
}

impl<'a> Meter<'a> {
    /// For files of `total` bytes.
    pub(crate) fn new(total: u64, tell: Option<&'a dyn Fn(Progress)>) -> Meter<'a> {
        Meter { done: Cell::new(0), told: Cell::new(0), total, tell }
    }

    /// A file, which counts as it is read.
    pub(crate) fn open(&self, path: &Path) -> Result<Counted<'_>> {
        Ok(Counted { file: File::open(path).map_err(Error::read(path))?, meter: self })
    }

    fn add(&self, bytes: u64) {
        self.done.set(self.done.get() + bytes);
        if let Some(tell) = self.tell
            && (bytes == 0 || self.done.get() - self.told.get() >= STEP)
        {
            self.told.set(self.done.get());
            tell(Progress { done: self.done.get().min(self.total), total: self.total });
        }
    }
}

/// A file that is read.
pub(crate) struct Counted<'m> {
    file: File,
    meter: &'m Meter<'m>,
}

impl Counted<'_> {
    /// The first bytes; they are read again after this.
    pub(crate) fn peek(&mut self, bytes: u64) -> io::Result<Vec<u8>> {
        let mut first = Vec::new();
        (&mut self.file).take(bytes).read_to_end(&mut first)?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(first)
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(to)?;
        self.meter.add(read as u64);
        Ok(read)
    }
}
