//! What is known at one place of the function: which stream comes after what, and who touched each variable.
//!
//! The order on states is "less is known": clocks fall, accesses join. [`State::join`] goes down to the greatest state
//! below two; it is what branches and loops are made of.

use std::rc::Rc;

use crate::model::{Access, Mode, Model, MoveId, Point, PointId, Position, StreamId, VarId};
use crate::plan::Update;

/// For each stream, the position up to which all of it comes before; 0 if there is no number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(Rc<Vec<Position>>);

impl Clock {
    pub(crate) fn get(&self, stream: StreamId) -> Position {
        self.0.get(stream.index()).copied().unwrap_or(0)
    }

    fn at_least(&mut self, len: usize) -> &mut Vec<Position> {
        let row = Rc::make_mut(&mut self.0);
        if row.len() < len {
            row.resize(len, 0);
        }
        row
    }

    /// Comes after `stream` up to `position`, too.
    fn raise(&mut self, stream: StreamId, position: Position) {
        if self.get(stream) < position {
            self.at_least(stream.index() + 1)[stream.index()] = position;
        }
    }

    fn merge(&mut self, other: &Clock) {
        if Rc::ptr_eq(&self.0, &other.0)
            || other.0.iter().enumerate().all(|(s, &p)| self.0.get(s).is_some_and(|&m| m >= p))
        {
            return;
        }
        let row = self.at_least(other.0.len());
        row.iter_mut().zip(other.0.iter()).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }

    /// Down to what both say. True if that is less than before.
    fn meet(&mut self, other: &Clock) -> bool {
        if Rc::ptr_eq(&self.0, &other.0) || self.0.iter().enumerate().all(|(s, &p)| p <= other.get(StreamId(s as u32)))
        {
            return false;
        }
        let row = Rc::make_mut(&mut self.0);
        row.iter_mut().enumerate().for_each(|(s, mine)| *mine = (*mine).min(other.get(StreamId(s as u32))));
        true
    }
}

/// What a stream comes after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// By waits that are made if the data is touched.
    pub(crate) expected: Clock,
    /// By waits that are made anyway.
    pub(crate) certain: Clock,
}

impl Known {
    fn meet(&mut self, other: &Known) -> bool {
        self.expected.meet(&other.expected) | self.certain.meet(&other.certain)
    }
}

/// An access that later ones may have to wait for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) access: Access,
    /// Where it can be recorded, and for which variable.
    pub(crate) point: PointId,
    pub(crate) origin: VarId,
    pub(crate) update: Update,
    /// How its event came to this variable.
    pub(crate) moves: Rc<Vec<MoveId>>,
    /// `None`: a stream that was another one then.
    pub(crate) stream: Option<StreamId>,
    pub(crate) position: Position,
    /// What its stream came after, if it was executed on every path to here and not again since.
    pub(crate) known: Option<Clock>,
    /// This stream has overwritten it, if it did touch the data: only what the stream waits for anyway still asks for it.
    pub(crate) behind: Option<StreamId>,
}

impl Entry {
    fn is(&self, other: &Entry) -> bool {
        self.point == other.point
            && self.stream == other.stream
            && self.origin == other.origin
            && self.access == other.access
            && self.behind == other.behind
    }
}

/// What is known at one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// `None` for streams that are not the same wherever they are used, outside of their blocks.
    known: Vec<Option<Known>>,
    /// The last point of each stream.
    last: Vec<Position>,
    entries: Vec<Rc<Vec<Entry>>>,
    pending: Waiting,
}

/// What was touched since the last point, each access once. In a long function that may be hundreds, and a list without
/// duplicates must not take the square of that.
#[derive(Clone, Debug, Default)]
struct Waiting {
    list: Vec<Pending>,
    /// For each variable, one more than where it was put into the list last; 0 for those that are not in it.
    last: Vec<u32>,
}

impl Waiting {
    fn find(&mut self, access: &Access) -> Option<&mut Pending> {
        let at = self.last[access.var.index()].checked_sub(1)? as usize;
        if self.list[at].access == *access {
            return Some(&mut self.list[at]);
        }
        self.list.iter_mut().find(|pending| pending.access == *access)
    }

    fn push(&mut self, pending: Pending) {
        self.last[pending.access.var.index()] = self.list.len() as u32 + 1;
        self.list.push(pending);
    }

    fn take(&mut self) -> Vec<Pending> {
        for pending in &self.list {
            self.last[pending.access.var.index()] = 0;
        }
        std::mem::take(&mut self.list)
    }
}

/// An access that no point has recorded yet.
#[derive(Clone, Debug)]
struct Pending {
    access: Access,
    /// On every path to here.
    sure: bool,
    /// Its stream has waited for all that conflicts with it.
    ordered: bool,
}

impl State {
    pub(crate) fn new(model: &Model) -> State {
        State {
            known: model.streams.iter().map(|stream| (!stream.unknown).then(Known::default)).collect(),
            last: vec![0; model.streams.len()],
            entries: vec![Rc::default(); model.variables as usize],
            pending: Waiting { list: Vec::new(), last: vec![0; model.variables as usize] },
        }
    }

    pub(crate) fn entries(&self, var: VarId) -> &[Entry] {
        &self.entries[var.index()]
    }

    /// Does `stream` come after the entry?
    pub(crate) fn is_after(&self, stream: StreamId, entry: &Entry, anyway: bool) -> bool {
        let (Some(source), Some(known)) = (entry.stream, &self.known[stream.index()]) else { return false };
        let clock = if anyway { &known.certain } else { &known.expected };
        source == stream || clock.get(source) >= entry.position
    }

    pub(crate) fn declare(&mut self, var: VarId) {
        if !self.entries[var.index()].is_empty() {
            self.entries[var.index()] = Rc::default();
        }
    }

    pub(crate) fn begin(&mut self, stream: StreamId) {
        self.known[stream.index()] = Some(Known::default());
    }

    pub(crate) fn end(&mut self, stream: StreamId) {
        self.known[stream.index()] = None;
    }

    /// `stream` waits for an entry.
    pub(crate) fn wait(&mut self, stream: StreamId, entry: &Entry, anyway: bool) {
        let (Some(source), Some(known)) = (entry.stream, &entry.known) else { return };
        let Some(mine) = &mut self.known[stream.index()] else { return };
        mine.expected.merge(known);
        mine.expected.raise(source, entry.position);
        if anyway {
            // An event brings along what its stream should have waited for, made or not.
            mine.certain.merge(known);
            mine.certain.raise(source, entry.position);
        }
    }

    pub(crate) fn touch(&mut self, access: &Access, ordered: bool) {
        match self.pending.find(access) {
            Some(pending) => (pending.sure, pending.ordered) = (true, pending.ordered || ordered),
            None => self.pending.push(Pending { access: access.clone(), sure: true, ordered }),
        }
    }

    /// A point: what was touched can be recorded from here on. `has_barriers`: the stream waits for something anyway.
    pub(crate) fn commit(&mut self, point: &Point, has_barriers: bool) {
        let Point { id, stream, position, ref defines } = *point;
        let mut pending = self.pending.take();
        if pending.is_empty() && defines.is_empty() {
            return;
        }
        self.last[stream.index()] = position;
        let known = self.known[stream.index()].clone().unwrap_or_default();
        let touched = pending.len();
        pending.extend(defines.iter().map(|access| Pending { access: access.clone(), sure: true, ordered: true }));
        for (i, Pending { access, sure, ordered }) in pending.into_iter().enumerate() {
            let is_new_value = i >= touched;
            let entries = Rc::make_mut(&mut self.entries[access.var.index()]);
            let known_here = |e: &Entry| e.point == id && e.stream == Some(stream) && e.position == position;
            if !is_new_value && entries.iter().any(|e| known_here(e) && e.access.stands_for(&access)) {
                continue;
            }
            let mut alone = sure && access.is_everything();
            if sure {
                entries.retain_mut(|e| {
                    if e.stream == Some(stream) {
                        return !access.stands_for(&e.access) && !access.overwrites(&e.access);
                    }
                    if !access.overwrites(&e.access) {
                        return true;
                    }
                    let comes_after = |clock: &Clock| e.stream.is_some_and(|s| clock.get(s) >= e.position);
                    if !ordered && e.behind != Some(stream) && !comes_after(&known.expected) {
                        alone &= e.behind.is_some();
                        return true;
                    }
                    let by_another = e.behind.is_some_and(|other| other != stream);
                    if is_new_value || !has_barriers || by_another || comes_after(&known.certain) {
                        return false;
                    }
                    e.behind = Some(stream);
                    true
                });
            }
            let update = match access.mode {
                Mode::Read => Update::Read,
                // On the other paths, what others did since must stay.
                Mode::Write if alone => Update::Wrote,
                Mode::Write => Update::MayWrite,
            };
            let (origin, known) = (access.var, sure.then(|| known.expected.clone()));
            let (moves, stream) = (Rc::default(), Some(stream));
            entries.push(Entry { access, point: id, origin, update, moves, stream, position, known, behind: None });
        }
    }

    /// `to` takes over the entries of `from`.
    pub(crate) fn transfer(&mut self, id: MoveId, from: &Access, to: &Access, replaces: bool) {
        let taken: Vec<Entry> =
            self.entries[from.var.index()].iter().filter_map(|entry| moved(entry, id, from, to)).collect();
        let entries = Rc::make_mut(&mut self.entries[to.var.index()]);
        if replaces {
            let all = Access { mode: Mode::Write, ..to.clone() };
            entries.retain(|e| !all.overwrites(&e.access));
        }
        for entry in taken {
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
    }

    /// Where all paths meet at `here`: what a stream knew to be all of another's work so far, it knows to be all up to here.
    pub(crate) fn settle(&mut self, here: Position) {
        for clock in self.known.iter_mut().flatten().flat_map(|k| [&mut k.expected, &mut k.certain]) {
            let row = clock.at_least(self.last.len());
            row.iter_mut().zip(&self.last).filter(|(p, last)| **p >= **last).for_each(|(p, _)| *p = here);
        }
    }

    /// Goes round a loop whose iterations so far lie between `start` and `old`: what its body did was done by one of them,
    /// on streams that are others now if they are newer than the loop.
    pub(crate) fn go_round(&mut self, start: Position, old: Position, is_same: impl Fn(StreamId) -> bool) {
        for clock in self.known.iter_mut().flatten().flat_map(|k| [&mut k.expected, &mut k.certain]) {
            let row = clock.at_least(self.last.len());
            // All that a stream has done so far, or what was known before the loop.
            row.iter_mut().zip(&self.last).for_each(|(p, last)| *p = if *p >= *last { old } else { (*p).min(start) });
        }
        // A stream that is another one now has not waited for anything.
        let streams = (0..).map(StreamId).zip(&mut self.known);
        for (_, known) in streams.filter(|(stream, known)| known.is_some() && !is_same(*stream)) {
            *known = Some(Known::default());
        }
        self.last.iter_mut().for_each(|p| *p = (*p).min(old));
        for entries in &mut self.entries {
            if entries.iter().all(|e| e.position <= start) {
                continue;
            }
            let mut all: Vec<Entry> = Vec::with_capacity(entries.len());
            for entry in entries.iter() {
                let mut entry = entry.clone();
                if entry.position > start {
                    entry.position = old;
                    entry.known = None;
                    entry.stream = entry.stream.filter(|s| is_same(*s));
                    entry.behind = entry.behind.filter(|s| is_same(*s));
                }
                insert(&mut all, entry);
            }
            *entries = Rc::new(all);
        }
    }

    /// Down to what holds on both paths. True if that is less than this one knew.
    pub(crate) fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.known.iter_mut().zip(&other.known) {
            match (&mut *mine, theirs) {
                (Some(known), Some(theirs)) => changed |= known.meet(theirs),
                (Some(_), None) => *mine = None,
                (None, _) => {}
            }
        }
        for (mine, theirs) in self.last.iter_mut().zip(&other.last) {
            *mine = (*mine).max(*theirs);
        }
        for (mine, theirs) in self.entries.iter_mut().zip(&other.entries) {
            if !Rc::ptr_eq(mine, theirs) {
                changed |= join_entries(mine, theirs);
            }
        }
        for mine in &mut self.pending.list {
            let theirs = other.pending.list.iter().find(|theirs| theirs.access == mine.access);
            let sure = mine.sure && theirs.is_some_and(|theirs| theirs.sure);
            changed |= mine.sure && !sure;
            mine.sure = sure;
            mine.ordered &= theirs.is_none_or(|theirs| theirs.ordered);
        }
        for theirs in &other.pending.list {
            if self.pending.find(&theirs.access).is_none() {
                self.pending.push(Pending { sure: false, ..theirs.clone() });
                changed = true;
            }
        }
        changed
    }
}

fn moved(entry: &Entry, id: MoveId, from: &Access, to: &Access) -> Option<Entry> {
    let of = &entry.access;
    // What was done to a field of `from` was done to that field of `to`; what was done around `from`, to all of `to`.
    let rest = match (of.path.strip_prefix(&from.path[..]), from.path.starts_with(&of.path)) {
        (Some(rest), _) => rest,
        (None, true) => &[],
        (None, false) => return None,
    };
    // Round after round of `node.next = list; list = node` would be a field deeper: what lies deeper than this counts as
    // all that is around it.
    const DEPTH: usize = 8;
    let depth = to.path.len() + rest.len();
    let path = to.path.iter().chain(rest).copied().take(DEPTH).collect();
    let mut moves = (*entry.moves).clone();
    if let Err(at) = moves.binary_search(&id) {
        moves.insert(at, id);
    }
    let whole = of.whole && to.whole && depth <= DEPTH;
    let access = Access { var: to.var, path, mode: of.mode, whole, part: None };
    Some(Entry { access, moves: Rc::new(moves), ..entry.clone() })
}

/// Adds an entry to those of other paths.
fn insert(entries: &mut Vec<Entry>, entry: Entry) {
    match entries.iter_mut().find(|e| e.is(&entry)) {
        Some(same) => {
            merge_entry(same, &entry);
        }
        None => entries.push(entry),
    }
}

/// The same access on two paths. True if `mine` changed.
fn merge_entry(mine: &mut Entry, theirs: &Entry) -> bool {
    let mut changed = false;
    let known = match (&mine.known, &theirs.known) {
        (Some(a), Some(b)) if mine.position == theirs.position => {
            let mut known = a.clone();
            changed |= known.meet(b);
            Some(known)
        }
        (a, _) => {
            changed |= a.is_some();
            None
        }
    };
    if theirs.position > mine.position {
        mine.position = theirs.position;
        changed = true;
    }
    if mine.moves != theirs.moves {
        let mut moves: Vec<MoveId> = mine.moves.iter().chain(theirs.moves.iter()).copied().collect();
        moves.sort_unstable();
        moves.dedup();
        changed |= moves.len() != mine.moves.len();
        mine.moves = Rc::new(moves);
    }
    mine.known = known;
    changed
}

fn join_entries(mine: &mut Rc<Vec<Entry>>, theirs: &[Entry]) -> bool {
    let mut changed = false;
    let mut all = (**mine).clone();
    // On the other path it was not executed, or something has overwritten it.
    for entry in all.iter_mut().filter(|e| e.known.is_some() && !theirs.iter().any(|t| t.is(e))) {
        entry.known = None;
        changed = true;
    }
    for theirs in theirs {
        match all.iter_mut().find(|e| e.is(theirs)) {
            Some(same) => changed |= merge_entry(same, theirs),
            None => {
                all.push(Entry { known: None, ..theirs.clone() });
                changed = true;
            }
        }
    }
    if changed {
        *mine = Rc::new(all);
    }
    changed
}
