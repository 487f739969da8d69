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
        let file = File::open(path).map_err(Error::read(path))?;
        let size = file.metadata().map_err(Error::read(path))?.len();
        Ok(Counted { file, done: 0, gauge: Gauge { meter: self, before: self.done.get(), size } })
    }

    fn reach(&self, done: u64) {
        let done = done.min(self.total);
        self.done.set(done);
        if let Some(tell) = self.tell
            && (done == self.total || done >= self.told.get() + STEP)
        {
            self.told.set(done);
            tell(Progress { done, total: self.total });
        }
    }
}

/// How far one file is.
#[derive(Clone, Copy)]
pub(crate) struct Gauge<'m> {
    meter: &'m Meter<'m>,
    /// Bytes of the files before it.
    before: u64,
    size: u64,
}

impl Gauge<'_> {
    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// So many bytes of the file are read.
    pub(crate) fn reach(&self, bytes: u64) {
        self.meter.reach(self.before + bytes.min(self.size));
    }
}

/// A file that is read.
pub(crate) struct Counted<'m> {
    file: File,
    done: u64,
    gauge: Gauge<'m>,
}

impl<'m> Counted<'m> {
    /// The first bytes; they are read again after this.
    pub(crate) fn peek(&mut self, bytes: u64) -> io::Result<Vec<u8>> {
        let mut first = Vec::new();
        (&mut self.file).take(bytes).read_to_end(&mut first)?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(first)
    }

    /// What shows how far the file is, for whoever reads it in another way.
    pub(crate) fn gauge(&self) -> Gauge<'m> {
        self.gauge
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(to)?;
        self.done += read as u64;
        self.gauge.reach(self.done);
        Ok(read)
    }
}
