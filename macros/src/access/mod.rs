//! From source to a [`Model`]: what each statement touches, on which stream, in evaluation order.
//!
//! The function is walked twice by the same code: once to see, which builds the model, and once to write, with the plan
//! that the analysis made of it. Both walks meet nodes, points and moves in the same order, which is what their numbers
//! are; so each of them is written exactly where it was seen.
//!
//! What counts as a use is a matter of syntax (`rules`, and the table in the documentation). Types are not known; but a use
//! too many is only a permission, and costs no concurrency.

mod block;
mod control;
mod place;
pub(crate) mod rules;
mod value;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::{Expr, Ident, ItemFn, Stmt, Token};

use crate::diag::Diagnostics;
use crate::emit::writer::Writer;
use crate::model::{Access, Builder, MAIN, Mode, Model, NodeId, Op, StreamId, TargetId, VarId, copied};
use crate::parse::{Blocks, StreamBlock};
use crate::resolve::{Alias, Bound, Reach, Scopes};

/// A node or a point in the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) stream: StreamId,
    pub(crate) span: Span,
    /// The innermost block it stands in.
    pub(crate) block: Option<usize>,
}

/// Where a block runs, and which block it stands in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nested {
    pub(crate) stream: StreamId,
    pub(crate) outer: Option<usize>,
}

/// What walking a function once found.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) model: Model,
    pub(crate) scopes: Scopes,
    /// The blocks in the order they are evaluated, and those that were not met yet.
    pub(crate) blocks: Vec<Option<StreamBlock>>,
    /// One for each block.
    pub(crate) nesting: Vec<Nested>,
    unread: Blocks,
    pub(crate) nodes: Vec<Site>,
    pub(crate) points: Vec<Site>,
    /// The nodes of `after(..)`, each with its place.
    pub(crate) after: Vec<(NodeId, syn::Expr)>,
}

/// Walks a function to see it. What the statements are stays as it is.
pub(crate) fn see(streams: &[Ident], function: &mut ItemFn, blocks: Blocks, diagnostics: &mut Diagnostics) -> Seen {
    let mut seen = Seen { unread: blocks, ..Seen::default() };
    loop {
        let mut walk = Walk::new(seen, None);
        walk.function(streams, function);
        let stale = walk.seen.scopes.stale;
        if !stale {
            walk.errors.into_iter().for_each(|error| diagnostics.push(error));
        }
        seen = walk.seen;
        seen.model = walk.model.finish();
        if !stale {
            return seen;
        }
    }
}

/// Walks a function again and writes the plan into it.
pub(crate) fn write(streams: &[Ident], function: &mut ItemFn, seen: Seen, writer: &mut Writer<'_>) -> Seen {
    let mut walk = Walk::new(seen, Some(writer));
    walk.function(streams, function);
    walk.seen
}

/// Where a variable is first written behind a node.
pub(crate) fn written_after(seen: &Seen, node: NodeId, var: VarId) -> Option<Span> {
    fn search(seq: &[Op], seen: &Seen, node: NodeId, var: VarId, passed: &mut bool) -> Option<Span> {
        let writes = |access: &Access| access.var == var && access.mode == Mode::Write;
        seq.iter().find_map(|op| match op {
            Op::Launch(launch) => {
                *passed |= launch.id == node;
                let found = *passed && !launch.barrier && launch.accesses.iter().any(writes);
                found.then(|| seen.nodes[launch.id.index()].span)
            }
            Op::Point(point) => {
                (*passed && point.defines.iter().any(writes)).then(|| seen.points[point.id.index()].span)
            }
            Op::Branch { arms, .. } => arms.iter().find_map(|arm| search(arm, seen, node, var, passed)),
            Op::Loop { body, .. } | Op::Labelled { body, .. } => search(body, seen, node, var, passed),
            _ => None,
        })
    }
    search(&seen.model.body, seen, node, var, &mut false)
}

/// A use of a place by an expression.
#[derive(Clone, Debug)]
struct Use {
    access: Access,
    /// The value may hold a borrow of the place, and is used as this says.
    lends: Option<Reach>,
    /// The value may be the place's own.
    moves: bool,
}

/// What is known about the value of an expression.
#[derive(Clone, Debug, Default)]
struct Value {
    /// Surely no data of a device.
    host: bool,
    /// Computed by the current stream, or a part of it.
    fresh: bool,
    /// An iterator or a closure: launches when it is used.
    lazy: bool,
    /// An iterator over pairs of an index and an element.
    indexed: bool,
    /// The places it was taken from.
    uses: Vec<Use>,
    /// What a computed value may still hold a borrow of.
    holds: Vec<Alias>,
    /// The places that it shares memory with.
    shares: Vec<Access>,
}

impl Value {
    fn host() -> Value {
        Value { host: true, ..Value::default() }
    }

    /// Of several parts.
    fn of(parts: Vec<Value>) -> Value {
        let mut all = Value::host();
        for part in parts {
            all.host &= part.host;
            all.fresh |= part.fresh;
            all.lazy |= part.lazy;
            all.uses.extend(part.uses);
            all.holds.extend(part.holds);
            all.shares.extend(part.shares);
        }
        all
    }

    /// What a value made of this one may hold.
    fn lent(&self) -> Vec<Alias> {
        let mut lent = Vec::with_capacity(self.uses.len() + self.holds.len());
        for used in &self.uses {
            if let Some(reach) = used.lends {
                let Access { var, ref path, part, .. } = used.access;
                lent.push(Alias { var, path: copied(path), part, reach });
            }
        }
        lent.extend_from_slice(&self.holds);
        lent
    }
}

/// Where a value goes.
#[derive(Clone, Debug)]
enum Dest {
    /// It is dropped.
    Discard,
    /// Somewhere the analysis need not know.
    Ignore,
    To(Vec<Access>),
    Tuple(Vec<Dest>),
}

impl Dest {
    fn of(bound: &Bound) -> Dest {
        let to = |vars: &[VarId]| Dest::To(vars.iter().map(|&var| Access::new(var, Mode::Write)).collect());
        match bound {
            Bound::Nothing => Dest::Ignore,
            Bound::One(var) => to(&[*var]),
            Bound::Many(vars) => to(vars),
            Bound::Tuple(parts) => Dest::Tuple(parts.iter().map(Dest::of).collect()),
        }
    }

    fn places(&self) -> Vec<&Access> {
        match self {
            Dest::Discard | Dest::Ignore => Vec::new(),
            Dest::To(places) => places.iter().collect(),
            Dest::Tuple(parts) => parts.iter().flat_map(Dest::places).collect(),
        }
    }
}

/// The statement being walked.
#[derive(Debug, Default)]
struct Statement {
    /// What is written before it.
    before: Vec<Stmt>,
    /// Something that may launch is evaluated already: what is written before the statement would come too early.
    launched: bool,
}

/// A loop or labelled block around.
struct Target {
    label: Option<Ident>,
    id: TargetId,
    is_loop: bool,
    dest: Dest,
    /// How many blocks lie around it.
    depth: usize,
}

struct Walk<'w, 'p> {
    seen: Seen,
    model: Builder,
    output: Option<&'w mut Writer<'p>>,
    errors: Vec<syn::Error>,
    fields: HashMap<String, u32>,
    streams: HashMap<(VarId, Vec<u32>), StreamId>,
    next_block: usize,
    /// The innermost block around.
    within: Option<usize>,
    on: StreamId,
    statement: Statement,
    /// How many nodes were met.
    launches: u32,
    /// Each tail of the value being walked has a point of its own, because another may be on another stream.
    splits: bool,
    /// For the next point: what was given a value, and what took one over.
    arrivals: Vec<Access>,
    moves: Vec<(Access, Access)>,
    /// Taken over since the statement began.
    moved: Vec<VarId>,
    targets: Vec<Target>,
    /// How many closures and `async` blocks lie around.
    captures: u32,
    /// `reads` and `writes` of the blocks around.
    effects: Vec<Vec<Access>>,
    met: Met,
}

/// Where in a list each variable stands. In a long function a value may be taken from hundreds, and a list without
/// duplicates must not take the square of that.
#[derive(Debug, Default)]
struct Met {
    /// In which round a variable was met last, and where in that round's list.
    at: Vec<(u32, usize)>,
    round: u32,
}

impl Met {
    /// Begins another list.
    fn clear(&mut self) {
        self.round += 1;
    }

    fn note(&mut self, var: VarId, at: usize) {
        if self.at.len() <= var.index() {
            self.at.resize(var.index() + 1, (0, 0));
        }
        self.at[var.index()] = (self.round, at);
    }

    /// Adds something of `var` to the list, unless it is there. True if it was added.
    fn insert<T: PartialEq>(&mut self, list: &mut Vec<T>, new: T, var: VarId) -> bool {
        if let Some(&(round, at)) = self.at.get(var.index())
            && round == self.round
            && (list[at] == new || list.contains(&new))
        {
            return false;
        }
        self.note(var, list.len());
        list.push(new);
        true
    }
}

impl<'w, 'p> Walk<'w, 'p> {
    fn new(mut seen: Seen, output: Option<&'w mut Writer<'p>>) -> Walk<'w, 'p> {
        seen.scopes.rewind();
        seen.nodes.clear();
        seen.points.clear();
        seen.nesting.clear();
        seen.after.clear();
        Walk {
            seen,
            model: Builder::default(),
            output,
            errors: Vec::new(),
            fields: HashMap::new(),
            streams: HashMap::new(),
            next_block: 0,
            within: None,
            on: MAIN,
            statement: Statement::default(),
            launches: 0,
            splits: false,
            arrivals: Vec::new(),
            moves: Vec::new(),
            moved: Vec::new(),
            targets: Vec::new(),
            captures: 0,
            effects: Vec::new(),
            met: Met::default(),
        }
    }

    fn function(&mut self, streams: &[Ident], function: &mut ItemFn) {
        self.seen.scopes.enter();
        let mut head = Vec::new();
        for argument in &function.sig.inputs {
            let vars = self.seen.scopes.parameter(argument);
            head.extend(self.declare(&vars));
            self.seen.scopes.reveal(&vars);
        }
        for name in streams {
            let var = self.seen.scopes.bind(name.unraw().to_string(), 0);
            self.seen.scopes.facts_mut(var).stated_host = true;
            self.declare(&[var]);
            self.seen.scopes.reveal(&[var]);
        }
        self.block(&mut function.block, &Dest::Ignore, false);
        self.seen.scopes.leave();
        if let Some(output) = &mut self.output {
            output.head = head;
        }
    }

    /// Is this the second walk? All that can be learned is known by then, and the model is made.
    fn is_writing(&self) -> bool {
        self.output.is_some()
    }

    /// New variables.
    fn declare(&mut self, vars: &[VarId]) -> Vec<TokenStream> {
        let mut written = Vec::new();
        for &var in vars {
            self.model.var();
            self.model.declare(var);
            written.extend(self.output.as_mut().and_then(|output| output.declare(var, &self.seen.scopes)));
        }
        written
    }

    /// Something that may launch. What it must expect is put before the statement if that is early enough, and returned
    /// otherwise.
    fn launch(&mut self, uses: Vec<Use>, span: Span) -> Vec<TokenStream> {
        let mut accesses: Vec<Access> = Vec::new();
        if !self.is_writing() || self.captures > 0 {
            accesses.reserve(uses.len());
            self.met.clear();
            for used in uses {
                let var = used.access.var;
                self.met.insert(&mut accesses, used.access, var);
            }
        }
        let node = self.node(accesses, span, false);
        let expects = self.output.as_mut().map(|output| output.expects(node)).unwrap_or_default();
        self.launches += 1;
        if std::mem::replace(&mut self.statement.launched, true) {
            return expects;
        }
        let statements =
            expects.into_iter().map(|expect| Stmt::Expr(Expr::Verbatim(expect), Some(<Token![;]>::default())));
        self.statement.before.extend(statements);
        Vec::new()
    }

    fn node(&mut self, accesses: Vec<Access>, span: Span, barrier: bool) -> NodeId {
        self.seen.nodes.push(Site { stream: self.on, span, block: self.within });
        self.model.node(self.on, accesses, barrier)
    }

    /// A place where an event may be recorded; what arrived before it is given to the variables.
    fn point(&mut self, span: Span) -> Vec<TokenStream> {
        let arrivals = std::mem::take(&mut self.arrivals);
        self.seen.points.push(Site { stream: self.on, span, block: self.within });
        let point = self.model.point(self.on, arrivals.clone());
        let mut written = self.output.as_mut().map(|output| output.record(point)).unwrap_or_default();
        let mut filled: Vec<VarId> = arrivals.iter().map(|access| access.var).collect();
        for (from, to) in std::mem::take(&mut self.moves) {
            let replaces = !filled.contains(&to.var) && !self.moved.contains(&to.var);
            filled.push(to.var);
            let id = self.model.transfer(from.clone(), to.clone(), replaces);
            let replaces = replaces && to.is_everything();
            written.extend(self.output.as_mut().and_then(|output| output.transfer(id, from.var, to.var, replaces)));
        }
        self.moved.extend(filled);
        written
    }

    /// A value reaches its destination. True if the current stream computed it, or a part: then it arrives at a point.
    fn deliver(&mut self, value: &Value, dest: &Dest) -> bool {
        if let (Dest::Tuple(parts), true) = (dest, value.indexed)
            && let [index, element] = &parts[..]
        {
            self.deliver(&Value::host(), index);
            return self.deliver(&Value { indexed: false, ..value.clone() }, element);
        }
        let places: Vec<Access> = dest.places().into_iter().cloned().collect();
        for to in places {
            self.learn(&to, value);
            let moved = value.uses.iter().filter(|used| used.moves && used.access.var != to.var);
            self.moves.extend(moved.map(|used| (used.access.clone(), to.clone())));
        }
        value.fresh
    }

    /// What was computed arrives at the next point.
    fn arrive(&mut self, dest: &Dest) {
        for to in dest.places() {
            let mixed = self.moved.contains(&to.var) || self.moves.iter().any(|(_, moved)| moved.var == to.var);
            if !self.seen.scopes.facts(to.var).is_host() {
                self.arrivals.push(Access { whole: to.whole && !mixed, ..to.clone() });
            }
        }
    }

    /// What a value tells about the variable that gets it.
    fn learn(&mut self, to: &Access, value: &Value) {
        if self.is_writing() {
            return;
        }
        let lent = value.lent();
        let scopes = &mut self.seen.scopes;
        let facts = scopes.facts_mut(to.var);
        let before = (facts.given, facts.is_host(), facts.exclusive, facts.lazy, facts.aliases.len());
        facts.given = true;
        facts.given_data |= !value.host;
        facts.lazy |= value.lazy;
        self.met.clear();
        facts.aliases.iter().enumerate().for_each(|(at, alias)| self.met.note(alias.var, at));
        for alias in lent {
            let (var, reach) = (alias.var, alias.reach);
            if var != to.var && self.met.insert(&mut facts.aliases, alias, var) {
                facts.exclusive |= reach == Reach::Same;
            }
        }
        // Until one of the two is written: whoever uses the one reads the other's memory, a first write to copy it.
        for shared in value.shares.iter().filter(|shared| shared.var != to.var) {
            let alias = Alias { var: to.var, path: to.path.clone(), part: None, reach: Reach::Read };
            let original = scopes.facts_mut(shared.var);
            if !original.aliases.contains(&alias) {
                original.aliases.push(alias);
                scopes.stale = true;
            }
        }
        let facts = scopes.facts(to.var);
        // A variable that has its first value cannot have been used.
        let after = (facts.given, facts.is_host(), facts.exclusive, facts.lazy, facts.aliases.len());
        scopes.stale |= before.0 && before != after;
    }
}
