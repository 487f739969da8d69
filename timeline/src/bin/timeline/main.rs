//! The command `timeline`: a profile in, an answer out.
//!
//! | part | file |
//! |---|---|
//! | what can be asked, and how | `args` |
//! | a path and options become a capture and its analysis | `load` |
//! | an answer becomes text, JSON or CSV | `answer`, `text` |
//! | one answer each | `report`, `overlap`, `streams`, `barriers`, `starved`, `compare` |
//! | pictures and traces | `draw` |
//! | what the numbers mean | `explain`, `fields` |
//!
//! Guaranteed: one line on standard error for whatever goes wrong, an exit code by kind ([`Failure`]), and silence if
//! whoever reads the output stops reading.

mod answer;
mod args;
mod barriers;
mod compare;
mod draw;
mod explain;
mod failure;
mod fields;
mod load;
mod overlap;
mod report;
mod starved;
mod streams;
mod text;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::{Failure, Result};

fn main() -> ExitCode {
    let result = Args::try_parse().map_err(Failure::from).and_then(|args| run(&args.command));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Report(args) => report::run(args),
        Command::Overlap(args) => overlap::run(args),
        Command::Streams(args) => streams::run(args),
        Command::Barriers(args) => barriers::run(args),
        Command::Starved(args) => starved::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Gantt(args) => draw::gantt(args),
        Command::Trace(args) => draw::trace(args),
        Command::Explain(args) => explain::run(args),
    }
}
