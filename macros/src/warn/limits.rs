//! Limits that no launch can have, and limits that launches at the same time share a device with.

use std::collections::BTreeMap;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprForLoop, Macro};

use super::Warning;
use crate::access::Seen;
use crate::args::Args;
use crate::cores::literal;
use crate::emit::text;
use crate::model::{Op, StreamId};
use crate::overlap::Overlaps;
use crate::parse::StreamBlock;

/// A kind of cores: the key of its limit, and who has one.
struct Kind {
    key: &'static str,
    limit: fn(&StreamBlock) -> Option<&Expr>,
}

const KINDS: [Kind; 2] = [
    Kind { key: "cube", limit: |block| block.cube.as_ref() },
    Kind { key: "vector", limit: |block| block.vector.as_ref() },
];

/// Limits that no launch can have. A launch has the limit of the innermost block around it that is on its stream and sets its
/// kind; so a limit is out of reach if whatever the block launches stands in blocks inside it that set the kind themselves,
/// or that are on another stream. Two streams are another only if both are declared in the attribute: any other two
/// expressions may give the same stream. A `for` loop may launch something whatever it goes through.
pub(super) fn unreachable(args: &Args, seen: &Seen, found: &mut Vec<Warning>) {
    let mut launching = vec![false; seen.blocks.len()];
    nodes(&seen.model.body, &mut |node| {
        if let Some(block) = seen.nodes[node].block {
            launching[block] = true;
        }
    });
    for (block, launching) in seen.blocks.iter().zip(&mut launching) {
        *launching |= block.as_ref().is_some_and(has_for_loop);
    }
    let streams = Streams { args, seen };
    for kind in &KINDS {
        let mut reached = vec![false; seen.blocks.len()];
        (0..seen.blocks.len())
            .filter(|&block| launching[block])
            .for_each(|block| streams.reach(kind, block, &mut reached));
        for (at, block) in seen.blocks.iter().enumerate().filter(|(at, _)| !reached[*at]) {
            let Some(limit) = block.as_ref().and_then(kind.limit) else { continue };
            let key = kind.key;
            let why = if seen.nesting.iter().any(|nested| nested.outer == Some(at)) {
                format!(
                    "all that this block launches stands in blocks inside it that set `{key}` or are on another stream"
                )
            } else {
                "this block launches nothing".to_owned()
            };
            let text = format!("no launch can have this limit: {why}\nhelp: leave `{key} = {}` out", text::of(limit));
            found.push(Warning { name: "limit_out_of_reach", text, span: limit.span(), block: Some(at) });
        }
    }
}

struct Streams<'a> {
    args: &'a Args,
    seen: &'a Seen,
}

impl Streams<'_> {
    /// Marks the blocks whose limit a launch in `block` may have.
    fn reach(&self, kind: &Kind, block: usize, reached: &mut [bool]) {
        if std::mem::replace(&mut reached[block], true) {
            return;
        }
        if self.seen.blocks[block].as_ref().is_some_and(|block| (kind.limit)(block).is_some()) {
            return;
        }
        let nesting = &self.seen.nesting;
        let mut outer = nesting[block].outer;
        while let Some(at) = outer {
            let (inner, around) = (nesting[block].stream, nesting[at].stream);
            if !self.differ(inner, around) {
                self.reach(kind, at, reached);
            }
            if inner == around {
                return;
            }
            outer = nesting[at].outer;
        }
    }

    fn differ(&self, a: StreamId, b: StreamId) -> bool {
        a != b && !self.args.serial && self.is_declared(a) && self.is_declared(b)
    }

    /// Declared in the attribute, and its name never used for anything else.
    fn is_declared(&self, stream: StreamId) -> bool {
        let name = &self.seen.model.streams[stream.index()].text;
        let variables = (0..self.seen.model.variables).map(crate::model::VarId);
        self.args.streams.iter().any(|declared| declared == name)
            && variables.filter(|&var| self.seen.scopes.facts(var).name == *name).count() == 1
    }
}

/// All nodes that may launch.
fn nodes(seq: &[Op], f: &mut impl FnMut(usize)) {
    for op in seq {
        match op {
            Op::Launch(node) if !node.barrier => f(node.id.index()),
            Op::Branch { arms, .. } => arms.iter().for_each(|arm| nodes(arm, f)),
            Op::Loop { body, .. } | Op::Labelled { body, .. } => nodes(body, f),
            _ => {}
        }
    }
}

fn has_for_loop(block: &StreamBlock) -> bool {
    struct Find(bool);
    impl<'a> Visit<'a> for Find {
        fn visit_expr_for_loop(&mut self, _: &'a ExprForLoop) {
            self.0 = true;
        }
        // Blocks inside are looked at by themselves.
        fn visit_macro(&mut self, _: &'a Macro) {}
    }
    let mut find = Find(false);
    visit::visit_block(&mut find, &block.block);
    find.0
}

/// A block and how many cores it asks for.
#[derive(Clone, Copy)]
struct Asking {
    block: usize,
    /// Where it says so.
    stated: usize,
    stream: StreamId,
    cores: u32,
    span: Span,
}

/// Blocks that may run together and ask for more cores than the stated device has: the first such set for each set of streams.
pub(super) fn together(args: &Args, seen: &Seen, overlaps: &Overlaps, found: &mut Vec<Warning>) {
    for (kind, available) in KINDS.iter().zip([args.device.cube, args.device.vector]) {
        let Some(available) = available else { continue };
        let asking: Vec<Asking> = (0..seen.blocks.len()).filter_map(|block| asking(seen, kind, block)).collect();
        if most(&asking) <= available {
            continue;
        }
        let mut search = Search { overlaps, asking: &asking, available, sets: Vec::new(), steps: 0 };
        search.extend(&mut Vec::new(), 0, 0);
        for set in search.sets {
            let total: u32 = set.iter().map(|one| one.cores).sum();
            let key = kind.key;
            let streams: Vec<&str> =
                set.iter().map(|one| seen.model.streams[one.stream.index()].text.as_str()).collect();
            for (i, one) in set.iter().enumerate() {
                let text = format!(
                    "streams {} may run together and ask for {total} {key} cores; the device has {available} ({}/{})\n\
                    help: limits may share cores, but kernels that need all of theirs at once can then wait for each other for \
                    ever: ask for {available} together, or order one block `after` another",
                    list(&streams),
                    i + 1,
                    set.len()
                );
                found.push(Warning { name: "cores_exceed_device", text, span: one.span, block: Some(one.stated) });
            }
        }
    }
}

/// `a`, `b` and `c`.
fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// What the launches of a block ask for, as far as it is written out: by the block, or by the next one around on its stream.
fn asking(seen: &Seen, kind: &Kind, block: usize) -> Option<Asking> {
    let stream = seen.nesting[block].stream;
    let mut stated = block;
    let limit = loop {
        match (kind.limit)(seen.blocks[stated].as_ref()?) {
            Some(limit) => break limit,
            None => stated = seen.nesting[stated].outer?,
        }
        while seen.nesting[stated].stream != stream {
            stated = seen.nesting[stated].outer?;
        }
    };
    let (cores, span) = literal(limit)?;
    Some(Asking { block, stated, stream, cores, span })
}

/// What all streams ask for at most, whenever that is.
fn most(asking: &[Asking]) -> u32 {
    let mut most: BTreeMap<StreamId, u32> = BTreeMap::new();
    for one in asking {
        let cores = most.entry(one.stream).or_default();
        *cores = one.cores.max(*cores);
    }
    most.into_values().fold(0, u32::saturating_add)
}

/// The search for sets of blocks of which every two may run together. Two launches that nothing orders can run at the same
/// time, and so can any number of which no two are ordered.
struct Search<'a> {
    overlaps: &'a Overlaps,
    asking: &'a [Asking],
    available: u32,
    sets: Vec<Vec<Asking>>,
    steps: u32,
}

impl Search<'_> {
    /// Tries to add one more block to `set`, from `next` on.
    fn extend(&mut self, set: &mut Vec<Asking>, total: u32, next: usize) {
        /// Functions with more sets than this are told of those that were found.
        const STEPS: u32 = 100_000;
        for at in next..self.asking.len() {
            self.steps += 1;
            if self.steps > STEPS {
                return;
            }
            let one = self.asking[at];
            let beside = |other: &Asking| self.overlaps.groups(other.block, one.block) && other.stream != one.stream;
            if !set.iter().all(beside) {
                continue;
            }
            set.push(one);
            let total = total.saturating_add(one.cores);
            if total > self.available {
                self.add(set);
            } else {
                self.extend(set, total, at + 1);
            }
            set.pop();
        }
    }

    fn add(&mut self, set: &[Asking]) {
        let streams = |set: &[Asking]| {
            let mut streams: Vec<StreamId> = set.iter().map(|one| one.stream).collect();
            streams.sort();
            streams
        };
        // A set that contains one that is too much already says nothing new.
        let new = streams(set);
        if !self.sets.iter().any(|known| streams(known).iter().all(|stream| new.contains(stream))) {
            self.sets.push(set.to_vec());
        }
    }
}
