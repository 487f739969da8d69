//! What can go wrong when a profile is read or written.

use std::path::{Path, PathBuf};

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The destination did not take the text.
    #[error("cannot write the profile: {0}")]
    Write(#[from] std::io::Error),
    /// The system did not give us the file.
    #[error("{}: cannot be read: {error}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: std::io::Error,
    },
    /// The file is no profile that this crate reads, or a broken one.
    #[error("{}: {why}", path.display())]
    Format {
        /// The file or folder.
        path: PathBuf,
        /// What was expected and what is there.
        why: String,
    },
    /// The file is a profile, and no operator is in it.
    #[error("{}: {why}", path.display())]
    NoData {
        /// The file or folder.
        path: PathBuf,
        /// What is there instead.
        why: String,
    },
    /// The profile has operators, but not what an analysis of streams needs.
    #[error("{}: {why}", path.display())]
    Unsuitable {
        /// The file or folder.
        path: PathBuf,
        /// What is missing, and how to get it.
        why: String,
    },
}

/// What kind of failure an [`Error`] is, for whoever answers each in its own way (by exit code, say).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The result could not be written.
    Write,
    /// There is a profile, and no operator in it.
    NoData,
    /// There is no file, or none that is a profile.
    Unreadable,
    /// There are operators, but they lack what is needed.
    Unsuitable,
}

impl Error {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Write(_) => ErrorKind::Write,
            Error::Read { .. } | Error::Format { .. } => ErrorKind::Unreadable,
            Error::NoData { .. } => ErrorKind::NoData,
            Error::Unsuitable { .. } => ErrorKind::Unsuitable,
        }
    }

    /// The file or folder that it is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Error::Write(_) => None,
            Error::Read { path, .. }
            | Error::Format { path, .. }
            | Error::NoData { path, .. }
            | Error::Unsuitable { path, .. } => Some(path),
        }
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_path_buf();
        move |error| Error::Read { path, error }
    }

    pub(crate) fn format(path: &Path, why: impl Into<String>) -> Error {
        Error::Format { path: path.to_path_buf(), why: why.into() }
    }

    pub(crate) fn no_data(path: &Path, why: impl Into<String>) -> Error {
        Error::NoData { path: path.to_path_buf(), why: why.into() }
    }

    pub(crate) fn unsuitable(path: &Path, why: impl Into<String>) -> Error {
        Error::Unsuitable { path: path.to_path_buf(), why: why.into() }
    }
}

impl From<csv::Error> for Error {
    fn from(error: csv::Error) -> Error {
        Error::Write(error.into())
    }
}
