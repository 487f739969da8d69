//! Streams: which ids are one logical stream, what each is for, and how long each pair was busy at once.
//!
//! A *lane* is an id as the profile writes it, or the rows without one; copies count only on a lane that does nothing
//! else. A *stream* is one lane or several that continue
//! each other: B continues A if it starts working after A stopped for good, and the counts of its operator types are
//! like those of A (cosine at least [`CONTINUATION_LIKENESS`](super::thresholds::CONTINUATION_LIKENESS), at least
//! [`CONTINUATION_ROWS`](super::thresholds::CONTINUATION_ROWS) operators each). Replays of captured graphs renumber
//! streams in this way.
//!
//! Roles are guessed from durations: the stream with the most computing is main; a stream that mostly communicates or copies
//! is for that; of the other computing streams those with at least
//! [`MINOR_SHARE`](super::thresholds::MINOR_SHARE) of the main stream's time are side streams.
//!
//! Pairs compare lanes, raw (all rows) and as work.

use hashbrown::{HashMap, HashSet};
use serde::Serialize;

use super::Options;
use super::clean::{Class, Item};
use super::error::{Error, Result};
use super::intervals::{Spans, Window};
use super::kind::Kind;
use super::op::type_of;
use super::summary::share;
use super::thresholds::{CONTINUATION_LIKENESS, CONTINUATION_ROWS, FEW_OPERATORS, MANY_IDS, MINOR_SHARE};
use crate::Capture;
use crate::capture::Symbol;

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The main line of computing.
    Main,
    /// Computing that should run beside the main line.
    Side,
    /// Collectives and transfers.
    Communication,
    /// Copies.
    Copy,
    /// Computing too small to matter: sampling, random numbers, what runs outside a graph.
    Minor,
    /// Nothing that counts as work: AI_CPU shells, waits.
    Control,
}

impl Role {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Main => "main",
            Role::Side => "side",
            Role::Communication => "communication",
            Role::Copy => "copy",
            Role::Minor => "minor",
            Role::Control => "control",
        }
    }
}

/// An id, as the profile writes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lane {
    /// The id; `None` for rows without stream.
    pub id: Option<u32>,
    /// All rows on it.
    pub rows: usize,
    /// Rows that are work.
    pub work_rows: usize,
    /// Their durations added (all rows), in ns.
    pub sum_ns: u64,
    /// How long at least one row was active, in ns.
    pub busy_ns: u64,
    /// How long at least one row of work was active, in ns.
    pub work_ns: u64,
    /// From its first start to its last end.
    pub window_ns: Window,
    /// The stream it belongs to, as an index into [`Streams::streams`]; `None` without id.
    pub stream: Option<usize>,
}

/// One id that went on under another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Continuation {
    /// The id that stopped.
    pub from: u32,
    /// The id that went on.
    pub to: u32,
    /// The time between, in ns.
    pub gap_ns: u64,
    /// How alike the operators on both are, 0 to 1.
    pub likeness: f64,
}

/// A logical stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stream {
    /// Its ids in order of time, almost always one.
    pub ids: Vec<u32>,
    /// What it is for.
    pub role: Role,
    /// Whether the role was guessed, not given.
    pub guessed: bool,
    /// Operators of work on it.
    pub rows: usize,
    /// Their durations added, in ns.
    pub sum_ns: u64,
    /// How long at least one of them ran, in ns.
    pub busy_ns: u64,
    /// From the first start to the last end of its work; of all its rows if none is work.
    pub window_ns: Window,
    /// `busy_ns` over the window, 0 to 1; larger is better on the main stream.
    pub density: f64,
    /// Its most frequent operator types, at most four.
    pub types: Vec<String>,
    /// How its ids follow each other.
    pub continuations: Vec<Continuation>,
}

/// Two lanes that were busy at the same time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// One, as an index into [`Streams::lanes`].
    pub a: usize,
    /// The other, as an index into [`Streams::lanes`].
    pub b: usize,
    /// How long both had an active row, in ns.
    pub overlap_ns: u64,
    /// How long both worked, in ns; larger is better if they are meant to hide each other.
    pub work_overlap_ns: u64,
    /// `overlap_ns` over the busy time of `a`, 0 to 1.
    pub share_of_a: f64,
    /// `overlap_ns` over the busy time of `b`, 0 to 1.
    pub share_of_b: f64,
    /// Whether the common time is rows of one and the same collectives, so that it is no overlap.
    pub duplicates: bool,
}

/// All streams of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Streams {
    /// Logical streams: main first, then by role and busy time.
    pub streams: Vec<Stream>,
    /// Ids as the profile writes them, by number, the rows without stream last.
    pub lanes: Vec<Lane>,
    /// All pairs of lanes with `a < b`, by `a`, then `b`.
    pub pairs: Vec<Pair>,
    /// What a reader of the numbers should know, a sentence each.
    pub notes: Vec<String>,
}

impl Streams {
    /// The pair of two ids (`None` for the rows without stream), whichever comes first.
    pub fn pair(&self, a: Option<u32>, b: Option<u32>) -> Option<&Pair> {
        let at = |id| self.lanes.iter().position(|lane| lane.id == id);
        let (a, b) = (at(a)?, at(b)?);
        self.pairs.iter().find(|pair| (pair.a, pair.b) == (a.min(b), a.max(b)))
    }

    /// The stream that an id belongs to.
    pub fn of(&self, id: u32) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.ids.contains(&id))
    }

    /// The main stream.
    pub fn main(&self) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.role == Role::Main)
    }
}

/// What one lane does while streams are being found.
struct Found {
    id: Option<u32>,
    rows: Vec<u32>,
    work: Vec<u32>,
    raw: Spans,
    busy: Spans,
    window: Window,
    counts: HashMap<Symbol, f64>,
    /// Durations of work added, by what it does.
    computing_ns: u64,
    communication_ns: u64,
    copy_ns: u64,
}

/// Streams of the selected rows, and the work of each by start.
pub(super) fn find(
    capture: &Capture,
    items: &[Item],
    windows: &[Window],
    options: &Options,
) -> Result<(Streams, Vec<Vec<u32>>)> {
    let lanes = lanes(capture, items, windows);
    check(&lanes, options)?;
    let (groups, continuations) = group(&lanes, options);
    let mut streams: Vec<(Stream, Vec<u32>)> =
        groups.iter().map(|group| stream(capture, &lanes, group, &continuations)).collect();
    assign_roles(&mut streams, &lanes, options);
    streams.sort_by(|(a, _), (b, _)| (a.role, b.busy_ns, &a.ids).cmp(&(b.role, a.busy_ns, &b.ids)));

    let (streams, work): (Vec<Stream>, Vec<Vec<u32>>) = streams.into_iter().unzip();
    let pairs = pairs(&lanes, capture, items);
    let lanes = lanes.iter().map(|lane| shown(lane, capture, &streams)).collect();
    let notes = notes(&streams);
    Ok((Streams { streams, lanes, pairs, notes }, work))
}

fn lanes(capture: &Capture, items: &[Item], windows: &[Window]) -> Vec<Found> {
    let mut numbers: HashMap<Option<u32>, usize> = HashMap::new();
    let mut by_lane: Vec<(Option<u32>, Vec<&Item>)> = Vec::new();
    for item in items.iter().filter(|item| item.class != Class::Untimed) {
        let id = capture.rows[item.row as usize].stream;
        let number = *numbers.entry(id).or_insert_with(|| {
            by_lane.push((id, Vec::new()));
            by_lane.len() - 1
        });
        by_lane[number].1.push(item);
    }
    by_lane.sort_by_key(|&(id, _)| (id.is_none(), id));
    by_lane.into_iter().map(|(id, items)| lane(capture, id, &items, windows)).collect()
}

fn lane(capture: &Capture, id: Option<u32>, items: &[&Item], windows: &[Window]) -> Found {
    // On a stream that does nothing but copy, copies are what it does.
    let copies = items.iter().all(|item| item.class == Class::Copy);
    let does = if copies { Class::Copy } else { Class::Work };
    let rows: Vec<u32> = items.iter().filter(|item| copies || item.class.counts()).map(|item| item.row).collect();
    let mut work = Vec::with_capacity(rows.len());
    let mut counts: HashMap<Symbol, f64> = HashMap::new();
    let (mut computing_ns, mut communication_ns, mut copy_ns) = (0, 0, 0);
    for item in items.iter().filter(|item| item.class == does) {
        let row = &capture.rows[item.row as usize];
        work.push(item.row);
        *counts.entry(type_of(capture, row)).or_default() += 1.0;
        match item.kind {
            Kind::Communication => communication_ns += row.duration_ns,
            Kind::Copy => copy_ns += row.duration_ns,
            _ => computing_ns += row.duration_ns,
        }
    }
    let window = |&index: &u32| windows[index as usize];
    let busy = Spans::union(work.iter().map(window));
    let raw = if work.len() == rows.len() { busy.clone() } else { Spans::union(rows.iter().map(window)) };
    let about = if work.is_empty() { &rows } else { &work };
    let window = about.iter().map(window).reduce(|a, b| a.hull(&b)).unwrap_or_default();
    Found { id, rows, work, raw, busy, window, counts, computing_ns, communication_ns, copy_ns }
}

fn check(lanes: &[Found], options: &Options) -> Result<()> {
    let have: Vec<u32> = lanes.iter().filter_map(|lane| lane.id).collect();
    let asked = options.side.iter().chain(&options.main).chain(options.roles.iter().map(|(id, _)| id));
    if let Some(&stream) = asked.into_iter().find(|id| !have.contains(id)) {
        return Err(if have.is_empty() { Error::NoStreams } else { Error::NoStream { stream, have } });
    }
    match options.side.iter().find(|id| options.main.contains(id)) {
        Some(&both) => Err(Error::SameStream(both)),
        None => Ok(()),
    }
}

/// Lanes that are one stream each, and how they follow each other.
///
/// Every lane is offered to the stream that it is most like among those that stopped before it starts.
fn group(lanes: &[Found], options: &Options) -> (Vec<Vec<usize>>, Vec<Continuation>) {
    let mut order: Vec<usize> = (0..lanes.len()).filter(|&at| lanes[at].id.is_some()).collect();
    order.sort_by_key(|&at| (lanes[at].window, lanes[at].id));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut continuations = Vec::new();
    for at in order {
        let lane = &lanes[at];
        let mut best: Option<(usize, f64)> = None;
        for (number, group) in groups.iter().enumerate() {
            let last = &lanes[*group.last().expect("a group has a lane")];
            let follows = last.window.end_ns <= lane.window.start_ns;
            if !follows || last.work.len().min(lane.work.len()) < CONTINUATION_ROWS || apart(last, lane, options) {
                continue;
            }
            let alike = likeness(&last.counts, &lane.counts);
            if alike >= CONTINUATION_LIKENESS && best.is_none_or(|(_, before)| alike > before) {
                best = Some((number, alike));
            }
        }
        match best {
            Some((number, likeness)) => {
                let last = &lanes[*groups[number].last().expect("a group has a lane")];
                continuations.push(Continuation {
                    from: last.id.unwrap_or_default(),
                    to: lane.id.unwrap_or_default(),
                    gap_ns: lane.window.start_ns - last.window.end_ns,
                    likeness,
                });
                groups[number].push(at);
            }
            None => groups.push(vec![at]),
        }
    }
    (groups, continuations)
}

/// Whether the options give two lanes different roles.
fn apart(a: &Found, b: &Found, options: &Options) -> bool {
    let role = |lane: &Found| lane.id.and_then(|id| given(id, options));
    match (role(a), role(b)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    }
}

fn given(id: u32, options: &Options) -> Option<Role> {
    options.roles.iter().find(|(stream, _)| *stream == id).map(|(_, role)| *role)
}

/// The cosine of two counts, 0 to 1.
fn likeness(a: &HashMap<Symbol, f64>, b: &HashMap<Symbol, f64>) -> f64 {
    let square = |counts: &HashMap<Symbol, f64>| counts.values().map(|n| n * n).sum::<f64>();
    let product: f64 = a.iter().filter_map(|(op_type, n)| Some(n * b.get(op_type)?)).sum();
    if product == 0.0 { 0.0 } else { product / (square(a) * square(b)).sqrt() }
}

fn stream(capture: &Capture, lanes: &[Found], group: &[usize], continuations: &[Continuation]) -> (Stream, Vec<u32>) {
    let members = || group.iter().map(|&at| &lanes[at]);
    let ids: Vec<u32> = members().filter_map(|lane| lane.id).collect();
    let mut counts: HashMap<Symbol, f64> = HashMap::new();
    for lane in members() {
        lane.counts.iter().for_each(|(&op_type, n)| *counts.entry(op_type).or_default() += n);
    }
    let mut types: Vec<(f64, &str)> = counts.iter().map(|(&t, &n)| (n, capture.strings.text(t))).collect();
    types.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let window_ns = members().map(|lane| lane.window).reduce(|a, b| a.hull(&b)).unwrap_or_default();
    let busy_ns = members().map(|lane| lane.busy.total_ns()).sum();
    let work: Vec<u32> = members().flat_map(|lane| lane.work.iter().copied()).collect();
    let stream = Stream {
        role: Role::Minor,
        guessed: true,
        rows: work.len(),
        sum_ns: work.iter().map(|&index| capture.rows[index as usize].duration_ns).sum(),
        busy_ns,
        window_ns,
        density: share(busy_ns, window_ns.len_ns()),
        types: types.into_iter().take(4).map(|(_, text)| text.to_owned()).collect(),
        continuations: continuations.iter().filter(|c| ids.contains(&c.from) && ids.contains(&c.to)).cloned().collect(),
        ids,
    };
    (stream, work)
}

fn assign_roles(streams: &mut [(Stream, Vec<u32>)], lanes: &[Found], options: &Options) {
    let total = |stream: &Stream, part: fn(&Found) -> u64| -> u64 {
        lanes.iter().filter(|lane| lane.id.is_some_and(|id| stream.ids.contains(&id))).map(part).sum()
    };
    for (stream, _) in streams.iter_mut() {
        let computing = total(stream, |lane| lane.computing_ns);
        let (communication, copies) = (total(stream, |lane| lane.communication_ns), total(stream, |lane| lane.copy_ns));
        stream.role = if stream.rows == 0 {
            Role::Control
        } else if communication > computing.max(copies) {
            Role::Communication
        } else if copies > computing {
            Role::Copy
        } else {
            Role::Minor
        };
        let asked = |ids: &[u32]| stream.ids.iter().any(|id| ids.contains(id));
        let role = stream.ids.iter().find_map(|&id| given(id, options));
        // Two ids of one stream that are asked about as side and main keep the role of the main line.
        let role = role.or(asked(&options.main).then_some(Role::Main)).or(asked(&options.side).then_some(Role::Side));
        if let Some(role) = role {
            (stream.role, stream.guessed) = (role, false);
        }
    }
    let candidates = |streams: &[(Stream, Vec<u32>)]| -> Vec<(u64, usize)> {
        let open = |stream: &Stream| stream.guessed && stream.role == Role::Minor;
        let computing = |stream: &Stream| total(stream, |lane| lane.computing_ns);
        streams.iter().enumerate().filter(|(_, (s, _))| open(s)).map(|(at, (s, _))| (computing(s), at)).collect()
    };
    if !streams.iter().any(|(stream, _)| stream.role == Role::Main) {
        let busiest = candidates(streams).into_iter().max_by_key(|&(ns, at)| (ns, std::cmp::Reverse(at)));
        if let Some((_, at)) = busiest {
            streams[at].0.role = Role::Main;
        }
    }
    let main_ns: u64 = streams.iter().filter(|(s, _)| s.role == Role::Main).map(|(s, _)| s.busy_ns).sum();
    for (ns, at) in candidates(streams) {
        if ns as f64 >= MINOR_SHARE * main_ns as f64 {
            streams[at].0.role = Role::Side;
        }
    }
}

/// All pairs in one sweep over the ends of busy intervals: `O(n log n)` with few lanes busy at once.
fn pairs(lanes: &[Found], capture: &Capture, items: &[Item]) -> Vec<Pair> {
    let raw = common(&lanes.iter().map(|lane| &lane.raw).collect::<Vec<_>>());
    let work = common(&lanes.iter().map(|lane| &lane.busy).collect::<Vec<_>>());
    let mut duplicate_ns: HashMap<Option<u32>, u64> = HashMap::new();
    let twins: HashSet<(u64, u64)> = items
        .iter()
        .filter(|item| item.class == Class::Duplicate)
        .map(|item| &capture.rows[item.row as usize])
        .map(|row| (row.start_ns, row.duration_ns))
        .collect();
    if !twins.is_empty() {
        for row in items.iter().map(|item| &capture.rows[item.row as usize]).filter(|row| row.stream.is_some()) {
            if twins.contains(&(row.start_ns, row.duration_ns)) {
                *duplicate_ns.entry(row.stream).or_default() += row.duration_ns;
            }
        }
    }
    let mut pairs = Vec::new();
    for a in 0..lanes.len() {
        for b in a + 1..lanes.len() {
            let overlap_ns = raw.get(&(a, b)).copied().unwrap_or(0);
            let twins = if lanes[b].id.is_none() { duplicate_ns.get(&lanes[a].id).copied().unwrap_or(0) } else { 0 };
            pairs.push(Pair {
                a,
                b,
                overlap_ns,
                work_overlap_ns: work.get(&(a, b)).copied().unwrap_or(0),
                share_of_a: share(overlap_ns, lanes[a].raw.total_ns()),
                share_of_b: share(overlap_ns, lanes[b].raw.total_ns()),
                duplicates: overlap_ns > 0 && twins * 2 > overlap_ns,
            });
        }
    }
    pairs
}

fn common(lanes: &[&Spans]) -> HashMap<(usize, usize), u64> {
    let mut changes: Vec<(u64, bool, usize)> = Vec::new();
    for (at, lane) in lanes.iter().enumerate() {
        changes.extend(lane.windows().iter().flat_map(|w| [(w.start_ns, true, at), (w.end_ns, false, at)]));
    }
    // At one moment ends come before starts, so that what touches does not overlap. Each lane is a sorted run, which a
    // stable sort only merges.
    changes.sort();
    let mut active: Vec<(usize, u64)> = Vec::new();
    let mut common: HashMap<(usize, usize), u64> = HashMap::new();
    for (now, starts, lane) in changes {
        if starts {
            active.push((lane, now));
            continue;
        }
        let Some(at) = active.iter().position(|&(other, _)| other == lane) else { continue };
        let (_, since) = active.swap_remove(at);
        for &(other, started) in &active {
            let ns = now - since.max(started);
            if ns > 0 {
                *common.entry((lane.min(other), lane.max(other))).or_default() += ns;
            }
        }
    }
    common
}

fn shown(lane: &Found, capture: &Capture, streams: &[Stream]) -> Lane {
    Lane {
        id: lane.id,
        rows: lane.rows.len(),
        work_rows: lane.work.len(),
        sum_ns: lane.rows.iter().map(|&index| capture.rows[index as usize].duration_ns).sum(),
        busy_ns: lane.raw.total_ns(),
        work_ns: lane.busy.total_ns(),
        window_ns: lane.window,
        stream: lane.id.and_then(|id| streams.iter().position(|stream| stream.ids.contains(&id))),
    }
}

fn notes(streams: &[Stream]) -> Vec<String> {
    let mut notes = Vec::new();
    for stream in streams.iter().filter(|stream| stream.ids.len() > 1) {
        let (first, rest) = (stream.ids[0], &stream.ids[1..]);
        let each = stream.rows / stream.ids.len();
        if stream.role == Role::Side && stream.ids.len() >= MANY_IDS && each <= FEW_OPERATORS {
            notes.push(format!(
                "{} side streams with about {each} operators each do the same work in turn: use one, each switch costs",
                stream.ids.len()
            ));
        } else {
            notes.push(format!(
                "stream {first} continues as {}: one logical stream ({}), renumbered; if they were meant to run side by \
                 side, give them as --main and --side",
                rest.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
                stream.role.name()
            ));
        }
    }
    notes
}
