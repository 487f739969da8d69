//! A run as the analysis sees it: every operator as a small row of numbers, in order of start.
//!
//! Guaranteed by whoever makes a [`Capture`]: `rows` and `syncs` are sorted by start (then by source and line), every
//! [`Symbol`] comes from `strings`, and whatever was not taken over is listed in `dropped`.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::{Core, Sync};

/// A text, by number: rows that say the same share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(u32);

/// The texts of a capture.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Strings {
    /// The symbol of a text.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(&number) = self.numbers.get(text) {
            return Symbol(number);
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        Symbol(number)
    }

    /// The symbol of a text that some row has.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.numbers.get(text).map(|&number| Symbol(number))
    }

    /// The text of a symbol.
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// What kind of file it is, in a few words: `kernel_details.csv`.
    pub format: &'static str,
    /// Rows or events taken over from it.
    pub rows: u64,
}

/// A row that was not taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The file, as an index into [`Capture::sources`].
    pub source: u16,
    /// The line, from 1; for files without lines, the number of the event.
    pub line: u64,
    /// What was wrong with it, with the value.
    pub why: String,
}

/// One operator that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The file, as an index into [`Capture::sources`].
    pub source: u16,
    /// The line in it, from 1; for files without lines, the number of the event.
    pub line: u64,
    /// The number of the device.
    pub device: u32,
    /// The training or inference step; `None` outside every step.
    pub step: Option<u32>,
    /// The logical stream; `None` for rows that belong to no stream (collectives as a whole).
    pub stream: Option<u32>,
    /// The position in launch order on the stream, where the profile gives one.
    pub task: Option<u64>,
    /// The name of this operator.
    pub name: Symbol,
    /// The kind of operator: `MatMulV2`.
    pub op_type: Symbol,
    /// Where it ran.
    pub core: Core,
    /// When it started, in ns, on the capture's own clock (absolute, as in the file).
    pub start_ns: u64,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Blocks it was launched with; may be above the number of cores. `None` where the profile does not say.
    pub blocks: Option<u32>,
    /// Blocks on the other kind of core, for `MIX_AIC` and `MIX_AIV`.
    pub mix_blocks: Option<u32>,
    /// Shapes of the inputs as the file writes them, without quotes: `4096,7168;1`.
    pub input_shapes: Symbol,
    /// Types of the inputs: `DT_BF16;INT32`.
    pub input_types: Symbol,
    /// Shapes of the outputs.
    pub output_shapes: Symbol,
    /// Types of the outputs.
    pub output_types: Symbol,
    /// Time that the cube cores worked on it, in ns, where it was measured.
    pub aicore_ns: Option<u64>,
    /// Time that the vector cores worked on it, in ns, where it was measured.
    pub aiv_ns: Option<u64>,
}

impl Row {
    /// When it ended, in ns.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// A run: its operators and what ordered them.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The texts of all rows.
    pub strings: Strings,
    /// The files it comes from; empty for a run of this process.
    pub sources: Vec<Source>,
    /// The operators, by start.
    pub rows: Vec<Row>,
    /// Records and waits, by start; empty if the profile has none (a `kernel_details.csv` alone never has).
    pub syncs: Vec<Sync>,
    /// What was not taken over.
    pub dropped: Vec<Dropped>,
}
