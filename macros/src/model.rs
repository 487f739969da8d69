//! A function as the analysis sees it: what touches which variable, on which stream, in which order. Pure data.
//!
//! Made by `access` from source, and by tests directly through [`Builder`]. A [`Node`] is one call, operator or macro that
//! may launch something; a [`Point`] is a place where an event may be recorded: the end of a statement, mostly. What a
//! node touches is recorded at the first point of its stream after it. A position counts points in source order, so the
//! points of one stream that a path executes have rising positions.

use std::fmt;

/// Where something stands in source order.
pub(crate) type Position = u32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub(crate) u32);

        impl $name {
            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A variable: one binding, not one name.
    VarId
    /// A stream that is known to be the same wherever it has this number.
    StreamId
    /// A potential launch.
    NodeId
    /// A place where an event may be recorded.
    PointId
    /// A place where a variable takes over another's events.
    MoveId
    /// A loop or labelled block, for `break` and `continue`.
    TargetId
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Mode {
    Read,
    /// Writes, and perhaps reads.
    Write,
}

/// A part of a variable that a borrow made by one pattern stands for, as the halves of `split_at_mut`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    /// The pattern.
    pub(crate) group: u32,
    /// The name in the pattern.
    pub(crate) name: u32,
}

/// What a node does with a place: a variable, or a field path in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) var: VarId,
    /// The fields, outermost first, as numbers of their names.
    pub(crate) path: Vec<u32>,
    pub(crate) mode: Mode,
    /// All of the place; false for an element of it.
    pub(crate) whole: bool,
    /// Through a borrow that may be a part of the place.
    pub(crate) part: Option<Part>,
}

impl Clone for Access {
    fn clone(&self) -> Access {
        Access { path: copied(&self.path), ..*self }
    }
}

/// A field path once more. Most are empty, and hundreds of thousands are copied in a build that is not optimised.
pub(crate) fn copied(path: &[u32]) -> Vec<u32> {
    if path.is_empty() { Vec::new() } else { path.to_vec() }
}

impl Access {
    pub(crate) fn new(var: VarId, mode: Mode) -> Access {
        Access { var, path: Vec::new(), mode, whole: true, part: None }
    }

    /// Do the two touch the same thing, one of them writing?
    pub(crate) fn conflicts(&self, other: &Access) -> bool {
        (self.mode == Mode::Write || other.mode == Mode::Write) && self.overlaps(other)
    }

    fn overlaps(&self, other: &Access) -> bool {
        let disjoint = matches!((self.part, other.part), (Some(a), Some(b)) if a.group == b.group && a.name != b.name);
        self.var == other.var && !disjoint && self.path.iter().zip(&other.path).all(|(a, b)| a == b)
    }

    /// Whatever conflicts with `other` conflicts with this as well.
    pub(crate) fn stands_for(&self, other: &Access) -> bool {
        self.mode >= other.mode && self.contains(other)
    }

    /// Does this write all that `other` touched?
    pub(crate) fn overwrites(&self, other: &Access) -> bool {
        self.mode == Mode::Write && self.whole && self.contains(other)
    }

    fn contains(&self, other: &Access) -> bool {
        self.var == other.var && other.path.starts_with(&self.path) && (self.part.is_none() || self.part == other.part)
    }

    /// Is nothing of the variable left out?
    pub(crate) fn is_everything(&self) -> bool {
        self.whole && self.path.is_empty() && self.part.is_none()
    }
}

/// A call, operator or macro that may launch something.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) stream: StreamId,
    pub(crate) accesses: Vec<Access>,
    /// Stands at the head of a block and orders all that follows on the stream, whether or not it touches the variables:
    /// `after`, `reads`, `writes`. It touches nothing itself.
    pub(crate) barrier: bool,
}

/// A place where an event may be recorded, with the variables that the stream has just given a value to.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) id: PointId,
    pub(crate) stream: StreamId,
    pub(crate) position: Position,
    pub(crate) defines: Vec<Access>,
}

/// `to` takes over the events of `from`, besides its own unless it is replaced.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) id: MoveId,
    pub(crate) from: Access,
    pub(crate) to: Access,
    pub(crate) replaces: bool,
}

/// How control leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Break(TargetId),
    Continue(TargetId),
    Return,
}

pub(crate) type Seq = Vec<Op>;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// A variable comes into being.
    Declare(VarId),
    /// A block begins on a stream of which nothing is known.
    Begin(StreamId),
    /// It ends; the next stream of this number is another.
    End(StreamId),
    Launch(Node),
    /// The stream has touched this in a way that no node shows; it is recorded with what the nodes touched.
    Touch(Access),
    Point(Point),
    Move(Move),
    /// One of the arms.
    Branch {
        arms: Vec<Seq>,
        end: Position,
    },
    /// Again and again, until something leaves.
    Loop {
        target: TargetId,
        start: Position,
        body: Seq,
        end: Position,
    },
    /// Once; `break` leaves it.
    Labelled {
        target: TargetId,
        body: Seq,
        end: Position,
    },
    Exit(Exit),
}

/// A stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamInfo {
    /// As it is written in the source.
    pub(crate) text: String,
    /// Since when it is the same: loops that began before get another each time round.
    pub(crate) since: Position,
    /// Only the block it is used in is known to be on it.
    pub(crate) unknown: bool,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) variables: u32,
    pub(crate) streams: Vec<StreamInfo>,
    pub(crate) nodes: u32,
    pub(crate) points: u32,
    /// From where to where.
    pub(crate) moves: Vec<[VarId; 2]>,
    pub(crate) targets: u32,
    pub(crate) body: Seq,
}

/// The stream that code outside of every block runs on.
pub(crate) const MAIN: StreamId = StreamId(0);

/// Builds a model in source order.
pub(crate) struct Builder {
    model: Model,
    open: Vec<Seq>,
    now: Position,
}

impl Default for Builder {
    fn default() -> Self {
        let mut builder = Builder { model: Model::default(), open: vec![Seq::new()], now: 0 };
        builder.stream("main".to_owned());
        builder
    }
}

impl Builder {
    pub(crate) fn finish(mut self) -> Model {
        self.model.body = self.open.pop().unwrap_or_default();
        self.model
    }

    fn push(&mut self, op: Op) {
        if let Some(seq) = self.open.last_mut() {
            seq.push(op);
        }
    }

    fn tick(&mut self) -> Position {
        self.now += 1;
        self.now
    }

    pub(crate) fn now(&self) -> Position {
        self.now
    }

    /// A stream that is the same from here on.
    pub(crate) fn stream(&mut self, text: String) -> StreamId {
        self.stream_since(text, self.now)
    }

    pub(crate) fn stream_since(&mut self, text: String, since: Position) -> StreamId {
        self.model.streams.push(StreamInfo { text, since, unknown: false });
        StreamId(self.model.streams.len() as u32 - 1)
    }

    /// A stream of which only the block it is used in is known: from here to [`Builder::end_unknown`].
    pub(crate) fn begin_unknown(&mut self, text: String) -> StreamId {
        let stream = StreamId(self.model.streams.len() as u32);
        let since = self.tick();
        self.model.streams.push(StreamInfo { text, since, unknown: true });
        self.push(Op::Begin(stream));
        stream
    }

    pub(crate) fn end_unknown(&mut self, stream: StreamId) {
        self.push(Op::End(stream));
    }

    pub(crate) fn var(&mut self) -> VarId {
        self.model.variables += 1;
        VarId(self.model.variables - 1)
    }

    pub(crate) fn declare(&mut self, var: VarId) {
        self.push(Op::Declare(var));
    }

    pub(crate) fn node(&mut self, stream: StreamId, accesses: Vec<Access>, barrier: bool) -> NodeId {
        let id = NodeId(self.model.nodes);
        self.model.nodes += 1;
        self.push(Op::Launch(Node { id, stream, accesses, barrier }));
        id
    }

    pub(crate) fn touch(&mut self, access: Access) {
        self.push(Op::Touch(access));
    }

    pub(crate) fn point(&mut self, stream: StreamId, defines: Vec<Access>) -> PointId {
        let id = PointId(self.model.points);
        self.model.points += 1;
        let position = self.tick();
        self.push(Op::Point(Point { id, stream, position, defines }));
        id
    }

    pub(crate) fn transfer(&mut self, from: Access, to: Access, replaces: bool) -> MoveId {
        let id = MoveId(self.model.moves.len() as u32);
        self.model.moves.push([from.var, to.var]);
        self.push(Op::Move(Move { id, from, to, replaces }));
        id
    }

    /// Begins a sequence of its own, which [`Builder::close`] ends.
    pub(crate) fn open(&mut self) {
        self.open.push(Seq::new());
    }

    pub(crate) fn close(&mut self) -> Seq {
        self.open.pop().unwrap_or_default()
    }

    pub(crate) fn branch(&mut self, arms: Vec<Seq>) {
        if arms.iter().any(|arm| !arm.is_empty()) {
            let end = self.tick();
            self.push(Op::Branch { arms, end });
        }
    }

    pub(crate) fn target(&mut self) -> TargetId {
        self.model.targets += 1;
        TargetId(self.model.targets - 1)
    }

    /// Begins the body of a loop, which [`Builder::close_loop`] ends.
    pub(crate) fn open_loop(&mut self) -> Position {
        self.open();
        let start = self.tick();
        // For what earlier iterations did; what the body does and declares is newer.
        self.tick();
        start
    }

    pub(crate) fn close_loop(&mut self, target: TargetId, start: Position) {
        let body = self.close();
        let end = self.tick();
        self.push(Op::Loop { target, start, body, end });
    }

    pub(crate) fn labelled(&mut self, target: TargetId, body: Seq) {
        let end = self.tick();
        self.push(Op::Labelled { target, body, end });
    }

    pub(crate) fn exit(&mut self, exit: Exit) {
        self.push(Op::Exit(exit));
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Mode::Write { "write" } else { "read" })
    }
}
