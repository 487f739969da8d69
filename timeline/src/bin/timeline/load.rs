//! A path and options become a capture, and what to ask of it.

use std::io::IsTerminal;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use multicore_timeline::{Capture, analysis, read};

use crate::args::{Part, Range};
use crate::failure::Result;

/// Files from which on a progress bar is worth its flicker.
const LONG: u64 = 32 << 20;

/// Reads a profile; a long one with a progress bar, if somebody looks at the terminal.
pub(crate) fn capture(path: &Path, range: &Range) -> Result<Capture> {
    let bar = ProgressBar::hidden();
    let tell = |progress: read::Progress| {
        if progress.total >= LONG && bar.is_hidden() {
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    };
    let style = ProgressStyle::with_template("{msg} {bar:40} {bytes}/{total_bytes}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(path.display().to_string());
    let progress: Option<&dyn Fn(read::Progress)> = if std::io::stderr().is_terminal() { Some(&tell) } else { None };
    let capture = read::read(path, &read::Options { rank: range.rank, progress });
    bar.finish_and_clear();
    Ok(capture?)
}

/// What to ask of a capture.
pub(crate) fn options(capture: &Capture, part: &Part) -> analysis::Options {
    analysis::Options {
        side: part.roles.side.clone(),
        main: part.roles.main.clone(),
        dominators: part.roles.dominator.clone(),
        roles: part.roles.role.clone(),
        cores: part.roles.cores,
        ..range(capture, &part.range)
    }
}

/// Which part of a capture to look at.
pub(crate) fn range(capture: &Capture, range: &Range) -> analysis::Options {
    // The rank chooses among the folders of several ranks; where one file has several devices, among these.
    let device = range.rank.filter(|_| analysis::devices(capture).len() > 1);
    analysis::Options { device, step: range.step, from_ns: range.from, to_ns: range.to, ..analysis::Options::default() }
}
