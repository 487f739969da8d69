//! What is drawn over a run: windows, verdicts, layers.

/// A named stretch of time that the picture and the trace show beside the operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What it is, which decides where and how it is drawn.
    pub kind: MarkKind,
    /// The number of the device.
    pub device: u32,
    /// The stream it is about; `None` if it is about several.
    pub stream: Option<u32>,
    /// A few words: `side window: 95.7 % hidden`.
    pub text: String,
    /// Where it starts, in ns, on the capture's own clock.
    pub start_ns: u64,
    /// How long it is, in ns.
    pub duration_ns: u64,
}

impl Mark {
    /// Where it ends, in ns.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// What a [`Mark`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MarkKind {
    /// First start to last end of the side stream's work.
    SideWindow,
    /// The dominator of the main stream.
    MainWindow,
    /// Where both are; its text is the verdict.
    Overlap,
    /// An operator that made the main stream wait.
    Barrier,
}

impl MarkKind {
    /// The name of its lane.
    pub const fn lane(self) -> &'static str {
        match self {
            MarkKind::SideWindow => "side window",
            MarkKind::MainWindow => "main dominator",
            MarkKind::Overlap => "overlap",
            MarkKind::Barrier => "barrier",
        }
    }

    /// All of them, in the order of their lanes.
    pub const ALL: [MarkKind; 4] = [MarkKind::SideWindow, MarkKind::MainWindow, MarkKind::Overlap, MarkKind::Barrier];
}
