//! Did the streams really overlap, and if not, what stopped them?
//!
//! In: a [`Capture`] and [`Options`]. Out: plain results that say everything in whole nanoseconds and shares. One
//! [`Analysis`] looks at one device, or at one step or stretch of time of it:
//!
//! | question | call | answer |
//! |---|---|---|
//! | how long, how busy, how clean? | [`Analysis::summary`] | [`Summary`] |
//! | which streams, doing what, beside which others? | [`Analysis::streams`] | [`Streams`] |
//! | did the side stream overlap the main one? | [`Analysis::overlap`] | [`Overlap`] |
//! | which operators waited for cores? | [`Analysis::starved`] | [`Starvation`] |
//! | which operators made a stream wait? | [`Analysis::barriers`] | [`Barrier`] |
//! | computing, communication, and how much hid what? | [`Analysis::phases`] | [`Phases`] |
//! | did a change help? | [`compare`] | [`Comparison`] |
//!
//! # Definitions
//!
//! - Times in results are integer ns relative to the first start of the device in the capture, also if only a part of it
//!   is selected; shares are fractions, 1 being all.
//! - *Wall*: last end minus first start over all rows. *Sum*: all durations added. *Union* (busy time): how long at
//!   least one row was active; no ns counts twice. Copies by a DMA engine are no operators and in none of these: a
//!   table of operators, which has none, and a trace, which has, give the same figures.
//! - *Raw* figures take all rows, *cleaned* figures leave out duplicate collective rows, figures of *work* also leave out
//!   AI_CPU shells of collectives, waits, records and impossible durations; see [`Class`]. Streams, overlap and phases
//!   count work only.
//! - A row belongs to a step if the file says so, and to a stretch of time if it starts in it.
//! - Every result is the same for any order of the rows in the file.
//!
//! Every threshold stands in [`thresholds`], with its source. Every step is `O(n log n)` in the rows.

mod barriers;
mod causes;
mod clean;
mod compare;
mod error;
mod intervals;
mod kind;
mod layers;
mod op;
mod overlap;
mod phases;
mod record;
mod starved;
mod streams;
mod summary;
pub mod thresholds;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use serde::Serialize;

pub use barriers::{Barrier, Evidence, Recorded, Waited};
pub use causes::{Cause, Finding};
pub use clean::{Class, Suspect};
pub use compare::{Comparison, OperatorChange, OperatorVerdict, Spread, compare};
pub use error::{Error, Result};
pub use intervals::Window;
pub use kind::Kind;
pub use layers::{Layer, Layers};
pub use op::Op;
pub use overlap::{Figures, Overlap, Verdict};
pub use phases::{Phases, StepPhases};
pub use record::{Owed, Step};
pub use starved::{Reference, Starvation, Starved, StarvedGroup};
pub use streams::{Continuation, Lane, Pair, Role, Stream, Streams};
pub use summary::{KindTotal, Summary, TypeTotal};

use crate::Capture;
use crate::capture::{Row, Symbol};
use clean::Item;

/// Cores of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Cores {
    /// Cube cores.
    pub cube: u32,
    /// Vector cores.
    pub vector: u32,
}

/// What to look at, and what to take for granted instead of guessing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The device; may be left out if the capture has only one.
    pub device: Option<u32>,
    /// Only this step.
    pub step: Option<u32>,
    /// Only operators that start at or after this, in ns after the first start of the device.
    pub from_ns: Option<u64>,
    /// Only operators that start before this, in ns after the first start of the device.
    pub to_ns: Option<u64>,
    /// Roles of streams by id, instead of guesses.
    pub roles: Vec<(u32, Role)>,
    /// The streams that make up the side; empty to take the side stream with the most work.
    pub side: Vec<u32>,
    /// The streams that make up the main line; empty to take the stream that computes most.
    pub main: Vec<u32>,
    /// Names or types of the operators on the main stream that should hide the side; empty to take the type with the
    /// largest sum of durations.
    pub dominators: Vec<String>,
    /// Cores of the chip, instead of the largest number of blocks that any operator asked for.
    pub cores: Option<Cores>,
}

/// The devices that have operators in a capture, in order.
pub fn devices(capture: &Capture) -> Vec<u32> {
    let runs = capture.rows.chunk_by(|a, b| a.device == b.device);
    runs.map(|run| run[0].device).collect::<BTreeSet<_>>().into_iter().collect()
}

/// A device of a capture, or a part of what it did, ready to be asked.
#[derive(Debug)]
pub struct Analysis<'a> {
    capture: &'a Capture,
    options: Options,
    device: u32,
    /// The first start of the device, in ns on the clock of the capture: the zero of all results.
    origin_ns: u64,
    /// When each row of the capture ran, relative to the origin: most questions need nothing else of a row, and this is
    /// an eighth of it.
    windows: Vec<Window>,
    /// What is selected, in the order of the analysis.
    items: Vec<Item>,
    suspects: Vec<Suspect>,
    /// Work on streams, by stream.
    streams: Streams,
    /// For each stream of `streams`, what it did: indices into the rows of the capture, by start.
    work: Vec<Vec<u32>>,
    /// Work without stream: collectives of which the profile has only one row.
    strays: Vec<u32>,
    /// The overlap, once it was asked for.
    checked: OnceCell<Result<Overlap>>,
    /// The shortest operators of each kind, once they were asked for.
    shortest: OnceCell<starved::Shortest>,
    /// Given, or else guessed from the blocks asked for.
    cores: Option<Cores>,
}

impl<'a> Analysis<'a> {
    /// Selects what `options` ask for and classifies it.
    ///
    /// # Errors
    /// [`Error::Empty`] if nothing is left, [`Error::ManyDevices`] or [`Error::NoDevice`] if the device is not clear,
    /// [`Error::NoStream`] if an option names a stream that the capture does not have, [`Error::SameStream`] if one is
    /// both side and main. A profile without stream numbers is fine here: only what needs streams refuses it.
    pub fn new(capture: &'a Capture, options: &Options) -> Result<Analysis<'a>> {
        let device = device(capture, options)?;
        let all: Vec<u32> =
            (0..capture.rows.len() as u32).filter(|&i| capture.rows[i as usize].device == device).collect();
        let mut items = clean::classify(capture, all);
        let start = |item: &Item| capture.rows[item.row as usize].start_ns;
        let origin_ns = items.iter().filter(|item| item.class.counts()).map(start).min().unwrap_or(0);
        let suspects = clean::mark_suspects(capture, &mut items, origin_ns);
        let selected = |row: &Row| {
            let at = row.start_ns.saturating_sub(origin_ns);
            options.step.is_none_or(|step| row.step == Some(step))
                && options.from_ns.is_none_or(|from| at >= from)
                && options.to_ns.is_none_or(|to| at < to)
        };
        items.retain(|item| selected(&capture.rows[item.row as usize]));
        if !items.iter().any(|item| item.class.counts()) {
            return Err(Error::Empty { selection: selection(options) });
        }
        let cores = options.cores.or_else(|| starved::guess_cores(capture, &items));
        let windows: Vec<Window> = capture.rows.iter().map(|row| clean::window(row, origin_ns)).collect();
        let (streams, work) = streams::find(capture, &items, &windows, options)?;
        let stray = |item: &&Item| item.class == Class::Work && capture.rows[item.row as usize].stream.is_none();
        let strays = items.iter().filter(stray).map(|item| item.row).collect();
        let options = options.clone();
        let (checked, shortest) = (OnceCell::new(), OnceCell::new());
        Ok(Analysis {
            capture,
            options,
            device,
            origin_ns,
            windows,
            items,
            suspects,
            streams,
            work,
            strays,
            checked,
            shortest,
            cores,
        })
    }

    /// The device that is looked at.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// The zero of all times in results, in ns on the clock of the capture.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Cores of the chip: given, or the largest number of blocks that any operator asked for, or `None` if no operator
    /// says.
    pub fn cores(&self) -> Option<Cores> {
        self.cores
    }

    /// What is selected, in order, with its class: for whoever draws it.
    pub fn rows(&self) -> impl Iterator<Item = (&'a Row, Kind, Class)> + '_ {
        self.items.iter().map(|item| (&self.capture.rows[item.row as usize], item.kind, item.class))
    }

    /// Streams, their roles, and how much each pair overlapped.
    ///
    /// # Errors
    /// [`Error::NoStreams`] if no row has a stream.
    pub fn streams(&self) -> Result<&Streams> {
        if self.streams.streams.is_empty() { Err(Error::NoStreams) } else { Ok(&self.streams) }
    }

    fn row(&self, index: u32) -> &'a Row {
        &self.capture.rows[index as usize]
    }

    fn op(&self, index: u32) -> Op {
        Op::of(self.capture, self.row(index), self.origin_ns)
    }

    fn op_type(&self, row: &Row) -> Symbol {
        op::type_of(self.capture, row)
    }

    fn text(&self, symbol: Symbol) -> &'a str {
        self.capture.strings.text(symbol)
    }

    /// When a row ran, relative to the origin; a copy that began before it is cut.
    fn window(&self, index: u32) -> Window {
        self.windows[index as usize]
    }
}

fn device(capture: &Capture, options: &Options) -> Result<u32> {
    let have = devices(capture);
    match (options.device, have.as_slice()) {
        (_, []) => Err(Error::Empty { selection: String::new() }),
        (Some(device), _) if have.contains(&device) => Ok(device),
        (Some(device), _) => Err(Error::NoDevice { device, have }),
        (None, [one]) => Ok(*one),
        (None, _) => Err(Error::ManyDevices(have)),
    }
}

fn selection(options: &Options) -> String {
    let mut parts = Vec::new();
    if let Some(step) = options.step {
        parts.push(format!("step {step}"));
    }
    if options.from_ns.is_some() || options.to_ns.is_some() {
        let end = options.to_ns.map_or("the end".to_owned(), |to| format!("{to} ns"));
        parts.push(format!("the range from {} ns to {end}", options.from_ns.unwrap_or(0)));
    }
    parts.join(", ")
}
