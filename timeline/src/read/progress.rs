//! How far reading is: a reader in, the same reader out, which tells somebody now and then.

use std::io::{self, Read};

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

/// A reader that counts.
pub(crate) struct Counted<'a, R> {
    from: R,
    progress: Progress,
    told: u64,
    tell: Option<&'a dyn Fn(Progress)>,
}

impl<'a, R> Counted<'a, R> {
    pub(crate) fn new(from: R, total: u64, tell: Option<&'a dyn Fn(Progress)>) -> Counted<'a, R> {
        Counted { from, progress: Progress { done: 0, total }, told: 0, tell }
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.progress.done += read as u64;
        if let Some(tell) = self.tell
            && (read == 0 || self.progress.done - self.told >= STEP)
        {
            self.told = self.progress.done;
            tell(self.progress);
        }
        Ok(read)
    }
}
