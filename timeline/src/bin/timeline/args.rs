//! What can be asked, and how.

use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};
use multicore_timeline::analysis::{Cores, Role};

/// Did the streams really overlap, and if not, what stopped them?
///
/// Reads profiles of Ascend runs (kernel_details.csv, op_summary, task_time, trace_view.json, msprof.json, or a folder of
/// them) and kernel traces of CUDA runs.
#[derive(Debug, Parser)]
#[command(name = "timeline", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 below --fail-under, 2 wrong options, 3 no operators in the profile or the \
part asked for, 4 no profile or a broken one, 5 a profile that lacks what the question needs (no Stream ID), 6 the answer \
cannot be written.
Times in answers are relative to the first start. `timeline explain FIELD` says what a number means.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Everything worth knowing, the most important first, on one screen
    Report(Gated),
    /// Did the side stream run beside the main one: the published check, what it misses, and what stood in the way
    Overlap(Gated),
    /// Which streams there are, what each is for, and how long each pair was busy at once
    Streams(StreamsArgs),
    /// Which operators made a stream wait, for what, and where that stands in the source
    Barriers(Asked),
    /// Which operators held their stream while they waited for cores
    Starved(Asked),
    /// Two captures, operator by operator: did a change help?
    Compare(CompareArgs),
    /// Draw the streams over time: an SVG for a page, or an HTML page to zoom and point at
    Gantt(DrawArgs),
    /// Write a trace_view.json that Perfetto and MindStudio Insight open, with windows and verdict
    Trace(DrawArgs),
    /// What a field of an answer means, and which way is good
    Explain(ExplainArgs),
}

/// A profile, and which part of it.
#[derive(Debug, Group)]
pub(crate) struct Part {
    /// A profile, or a folder of them
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) range: Range,
    #[command(flatten)]
    pub(crate) roles: Roles,
}

#[derive(Debug, Group)]
pub(crate) struct Range {
    /// The rank of a folder with several, or the device of a file with several
    #[arg(long, value_name = "N")]
    pub(crate) rank: Option<u32>,
    /// Only this step
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<u32>,
    /// Only operators that start at or after this, counted from the first start: 1500us, 1.5ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<u64>,
    /// Only operators that start before this, counted from the first start
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) to: Option<u64>,
}

#[derive(Debug, Group)]
pub(crate) struct Roles {
    /// The side stream, instead of a guess; several ids if it was renumbered: 216,12
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) side: Vec<u32>,
    /// The main stream, instead of a guess
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) main: Vec<u32>,
    /// The operator that should hide the side, by name or type, instead of the one that takes longest; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) dominator: Vec<String>,
    /// What a stream is for, instead of a guess: 215=communication (main, side, communication, copy, minor, control)
    #[arg(long, value_name = "ID=ROLE", value_parser = role)]
    pub(crate) role: Vec<(u32, Role)>,
    /// Cube and vector cores of the chip, instead of the most that an operator asked for: 24,48
    #[arg(long, value_name = "CUBE,VECTOR", value_parser = cores)]
    pub(crate) cores: Option<Cores>,
}

/// How to answer.
#[derive(Debug, Group)]
pub(crate) struct Output {
    /// Answer with one JSON object (fields: docs/timeline.md)
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Answer with a table
    #[arg(long)]
    pub(crate) csv: bool,
    /// Colours in text
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

/// When text has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// In a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Group)]
pub(crate) struct Asked {
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Group)]
pub(crate) struct Gated {
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) output: Output,
    /// End with exit code 1 if overlap_pct is below this share (0 to 1); a side that is starved of cores, or missing,
    /// counts as 0
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) fail_under: Option<f64>,
}

#[derive(Debug, Group)]
pub(crate) struct StreamsArgs {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// With --csv: the pairs of streams instead of the streams
    #[arg(long)]
    pub(crate) pairs: bool,
}

#[derive(Debug, Group)]
pub(crate) struct CompareArgs {
    /// The profile before the change
    pub(crate) before: PathBuf,
    /// The profile after it
    pub(crate) after: PathBuf,
    #[command(flatten)]
    pub(crate) range: Range,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Operators to show
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) top: usize,
}

#[derive(Debug, Group)]
pub(crate) struct DrawArgs {
    #[command(flatten)]
    pub(crate) part: Part,
    /// Where to write: .svg or .html for gantt, trace_view.json for trace; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The heading of a picture, instead of the path
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

#[derive(Debug, Group)]
pub(crate) struct ExplainArgs {
    /// The field; without it, all of them are listed
    pub(crate) field: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A length of time with its unit, exact to the nanosecond: `1.5ms`.
fn time(text: &str) -> Result<u64, String> {
    let wrong = || "write a number and its unit: 1500ns, 1.5us, 2ms or 1s".to_owned();
    let digits = text.find(|char: char| !char.is_ascii_digit() && char != '.').ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let places = match unit.trim() {
        "ns" => 0,
        "us" | "µs" => 3,
        "ms" => 6,
        "s" => 9,
        _ => return Err(wrong()),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > places || (whole.is_empty() && part.is_empty()) {
        return Err(wrong());
    }
    format!("{whole}{part:0<places$}").parse().map_err(|_| wrong())
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("write a share between 0 and 1: 0.5".into()),
    }
}

fn cores(text: &str) -> Result<Cores, String> {
    let pair = text.split_once(',').and_then(|(cube, vector)| {
        Some(Cores { cube: cube.trim().parse().ok()?, vector: vector.trim().parse().ok()? })
    });
    pair.ok_or_else(|| "write cube and vector cores: 24,48".into())
}

fn role(text: &str) -> Result<(u32, Role), String> {
    let roles = [Role::Main, Role::Side, Role::Communication, Role::Copy, Role::Minor, Role::Control];
    let pair = text
        .split_once('=')
        .and_then(|(id, name)| Some((id.trim().parse().ok()?, *roles.iter().find(|role| role.name() == name.trim())?)));
    pair.ok_or_else(|| {
        format!("write a stream and its role, one of {}: 215=communication", roles.map(Role::name).join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(time("1.5ms"), Ok(1_500_000));
        assert_eq!(time("0.001us"), Ok(1));
        assert_eq!(time("7 ns"), Ok(7));
        assert_eq!(time("2s"), Ok(2_000_000_000));
        for wrong in ["", "5", "us", "1.2345us", "1.5", "-1us", "1..2us", "1e3us", "99999999999s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }
}
