//! What the analysis decides: where an event is recorded and for whom, and which node waits for which.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{MoveId, NodeId, PointId, VarId};

/// What a record does to the events of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Update {
    /// A reader more.
    Read,
    /// A writer more: of a part.
    MayWrite,
    /// The only writer, and no readers.
    Wrote,
}

/// How a node waits for a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitKind {
    /// If it touches the data.
    Expect,
    /// Anyway.
    Wait,
}

/// A wait of one node for one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) var: VarId,
    pub(crate) kind: WaitKind,
    /// For the readers, too.
    pub(crate) mutable: bool,
    /// What it may come after.
    pub(crate) points: BTreeSet<PointId>,
}

/// The records and waits of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) waits: BTreeMap<NodeId, Vec<Wait>>,
    pub(crate) records: BTreeMap<PointId, BTreeMap<VarId, BTreeSet<Update>>>,
    /// The moves that carry an event somebody waits for.
    pub(crate) moves: BTreeSet<MoveId>,
    /// The variables that have events.
    pub(crate) ready: BTreeSet<VarId>,
    /// Nodes of `after(x)` that nothing comes before, with the variable.
    pub(crate) pointless: Vec<(NodeId, VarId)>,
}
