//! What can go wrong when a profile is written.

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The destination did not take the text.
    #[error("cannot write the profile: {0}")]
    Write(#[from] std::io::Error),
}

impl From<csv::Error> for Error {
    fn from(error: csv::Error) -> Error {
        Error::Write(error.into())
    }
}
