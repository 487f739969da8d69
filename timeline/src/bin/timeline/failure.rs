//! What can go wrong, and which exit code says so.

use std::io::{self, ErrorKind as Io};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind as Clap;
use multicore_timeline::{Error, ErrorKind, analysis};

/// The result of a command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The answer is there, and the share that was asked for is not reached.
    Below(String),
    /// The command line is wrong.
    Usage(String),
    /// A profile without operators, or without any in the part that was asked for.
    NoData(String),
    /// No profile, or a broken one.
    Unreadable(String),
    /// A profile that lacks what the question needs.
    Unsuitable(String),
    /// The answer cannot be written.
    Write(String),
    /// Whoever reads the output has read enough.
    Closed,
    /// Help or the version was asked for.
    Help(clap::Error),
}

impl Failure {
    /// Says it on standard error and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (code, line) = match self {
            Failure::Below(line) => (1, line),
            Failure::Usage(line) => (2, line),
            Failure::NoData(line) => (3, line),
            Failure::Unreadable(line) => (4, line),
            Failure::Unsuitable(line) => (5, line),
            Failure::Write(line) => (6, line),
            Failure::Closed => return ExitCode::SUCCESS,
            Failure::Help(help) => {
                // Nothing can be said about a standard output that does not take the help.
                let _ = help.print();
                return ExitCode::SUCCESS;
            }
        };
        eprintln!("timeline: {line}");
        ExitCode::from(code)
    }

    /// The same failure, said of a file.
    pub(crate) fn about(self, path: &Path) -> Failure {
        let said = |line: String| format!("{}: {line}", path.display());
        match self {
            Failure::NoData(line) => Failure::NoData(said(line)),
            Failure::Unsuitable(line) => Failure::Unsuitable(said(line)),
            Failure::Usage(line) => Failure::Usage(said(line)),
            other => other,
        }
    }

    /// A failure to write to a file.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Failure {
        move |error| Failure::Write(format!("cannot write {}: {error}", path.display()))
    }
}

impl From<clap::Error> for Failure {
    /// Clap explains over several lines; the first paragraph says what is wrong.
    fn from(error: clap::Error) -> Failure {
        match error.kind() {
            Clap::DisplayHelp | Clap::DisplayVersion => return Failure::Help(error),
            Clap::DisplayHelpOnMissingArgumentOrSubcommand => {
                return Failure::Usage("say what to do: `timeline report PATH`, or see `timeline --help`".into());
            }
            _ => {}
        }
        let text = error.to_string();
        let paragraphs: Vec<String> = text
            .split("\n\n")
            .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|part| !part.is_empty() && !part.starts_with("Usage:") && !part.starts_with("For more information"))
            .collect();
        let line = paragraphs.join("; ");
        Failure::Usage(format!("{}; see --help", line.strip_prefix("error: ").unwrap_or(&line)))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let line = error.to_string();
        match error.kind() {
            ErrorKind::NoData => Failure::NoData(line),
            ErrorKind::Unreadable => Failure::Unreadable(line),
            ErrorKind::Unsuitable => Failure::Unsuitable(line),
            ErrorKind::Write => match error {
                Error::Write(error) => error.into(),
                _ => Failure::Write(line),
            },
        }
    }
}

impl From<analysis::Error> for Failure {
    fn from(error: analysis::Error) -> Failure {
        let line = error.to_string();
        match error {
            analysis::Error::Empty { .. } => Failure::NoData(line),
            analysis::Error::NoStreams => Failure::Unsuitable(line),
            _ => Failure::Usage(line),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            Io::BrokenPipe => Failure::Closed,
            _ => Failure::Write(format!("cannot write the answer: {error}")),
        }
    }
}
