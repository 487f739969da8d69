//! Where everything goes: a capture in, shapes in units of the picture out, few enough to draw.

use std::collections::BTreeMap;

use super::{Kind, Options};
use crate::lanes::{Item, Lanes};
use crate::{Capture, Mark, MarkKind, Sync, SyncKind, cores};

/// The part of the time axis that is drawn, and how wide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// What the axis calls 0.
    pub(super) origin_ns: u64,
    pub(super) width: f64,
}

impl Scale {
    /// From the first start to the last end of anything.
    pub(super) fn of(capture: &Capture, options: &Options, width: f64) -> Scale {
        let rows = capture.rows.iter().map(|row| (row.start_ns, row.end_ns()));
        let spans = rows.chain(capture.syncs.iter().map(|sync| (sync.start_ns, sync.end_ns())));
        let (start_ns, end_ns) = spans.fold((u64::MAX, 0), |(start, end), span| (start.min(span.0), end.max(span.1)));
        // An empty capture has neither; a picture has some width of time.
        let start_ns = start_ns.min(end_ns);
        let origin_ns = options.origin_ns.unwrap_or(start_ns).min(start_ns);
        Scale { start_ns, end_ns: end_ns.max(start_ns + 1), origin_ns, width }
    }

    /// The place of a moment.
    pub(super) fn x(self, ns: u64) -> f64 {
        let (span, at) = (self.end_ns - self.start_ns, ns.clamp(self.start_ns, self.end_ns) - self.start_ns);
        at as f64 / span as f64 * self.width
    }

    /// Moments for ticks, from the origin: about one every 110 units, at multiples of 1, 2 or 5 of a power of ten.
    pub(super) fn ticks(self) -> (u64, Vec<u64>) {
        let wanted = ((self.end_ns - self.start_ns) as f64 / (self.width / 110.0)).max(1.0);
        let power = 10f64.powf(wanted.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].iter().map(|factor| factor * power).find(|step| *step >= wanted);
        let step = step.unwrap_or(power * 10.0).max(1.0) as u64;
        let (first, last) = ((self.start_ns - self.origin_ns).div_ceil(step), (self.end_ns - self.origin_ns) / step);
        (step, (first..=last).map(|tick| tick * step).collect())
    }
}

/// An operator or a wait that is wide enough to be seen.
#[derive(Debug)]
pub(super) struct Bar<'a> {
    pub(super) lane: usize,
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) kind: Kind,
    pub(super) item: Item<'a>,
}

/// Operators that are too narrow to be seen one by one.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) lane: usize,
    pub(super) x: f64,
    pub(super) width: f64,
    /// The kind that takes most of the time.
    pub(super) kind: Kind,
    /// Whether they leave more than half of the place empty.
    pub(super) thin: bool,
}

/// Everything that runs, as shapes.
#[derive(Debug, Default)]
pub(super) struct Shapes<'a> {
    pub(super) bars: Vec<Bar<'a>>,
    pub(super) merged: Vec<Merged>,
}

impl<'a> Shapes<'a> {
    pub(super) fn of(lanes: &Lanes<'a>, scale: Scale) -> Shapes<'a> {
        let mut shapes = Shapes::default();
        let mut open: Vec<Option<Cluster>> = Vec::new();
        open.resize_with(lanes.lanes.len(), || None);
        for &(lane, item) in &lanes.items {
            let Some(kind) = kind(item) else { continue };
            let (x, end) = (scale.x(item.start_ns()), scale.x(item.end_ns()));
            if end - x >= 1.0 {
                shapes.merged.extend(open[lane].take().map(|cluster| cluster.close(lane)));
                shapes.bars.push(Bar { lane, x, width: end - x, kind, item });
                continue;
            }
            if open[lane].as_ref().is_some_and(|cluster| end - cluster.x > 1.0) {
                shapes.merged.extend(open[lane].take().map(|cluster| cluster.close(lane)));
            }
            let cluster = open[lane].get_or_insert_with(|| Cluster { x, end, busy: BTreeMap::new() });
            cluster.end = cluster.end.max(end);
            *cluster.busy.entry(kind).or_default() += end - x;
        }
        for (lane, cluster) in open.into_iter().enumerate() {
            shapes.merged.extend(cluster.map(|cluster| cluster.close(lane)));
        }
        shapes
    }
}

/// What an item is drawn as; records are not, but for their arrows.
pub(super) fn kind(item: Item) -> Option<Kind> {
    match item {
        Item::Row(row) => Some(Kind::of(row.core)),
        Item::Sync(Sync { kind: SyncKind::Wait, duration_ns: 1.., .. }) => Some(Kind::Wait),
        Item::Sync(_) => None,
    }
}

/// Narrow operators in one unit of width.
struct Cluster {
    x: f64,
    end: f64,
    busy: BTreeMap<Kind, f64>,
}

impl Cluster {
    fn close(self, lane: usize) -> Merged {
        let busy: f64 = self.busy.values().sum();
        let most = self.busy.iter().max_by(|a, b| a.1.total_cmp(b.1)).map_or(Kind::Other, |(kind, _)| *kind);
        // Wide enough that one operator alone can be seen.
        let width = (self.end - self.x).max(0.6);
        Merged { lane, x: self.x, width, kind: most, thin: busy < width / 2.0 }
    }
}

/// Marks by kind and stream, each merged with the next where less than a unit is between them.
pub(super) fn marks(options: &Options, scale: Scale) -> Vec<(f64, f64, &Mark)> {
    let mut by_kind: Vec<&Mark> = options.marks.iter().collect();
    by_kind.sort_by_key(|mark| (mark.kind, mark.device, mark.start_ns));
    let mut merged: Vec<(f64, f64, &Mark)> = Vec::new();
    for mark in by_kind {
        let (x, end) = (scale.x(mark.start_ns), scale.x(mark.end_ns()));
        match merged.last_mut() {
            Some((_, last, of)) if (of.kind, of.device) == (mark.kind, mark.device) && x - *last < 1.0 => {
                *last = last.max(end);
            }
            _ => merged.push((x, end, mark)),
        }
    }
    merged
}

/// Whether any mark of a kind is there.
pub(super) fn has_mark(options: &Options, kind: MarkKind) -> bool {
    options.marks.iter().any(|mark| mark.kind == kind)
}

/// Cores in use at each unit of width, averaged over its time: cube and vector.
pub(super) fn occupancy(capture: &Capture, options: &Options, scale: Scale) -> Vec<(f64, f64)> {
    let columns = scale.width as usize;
    let mut sums = vec![(0.0, 0.0); columns];
    let changes = cores::core_sums(capture, options.cores);
    for (at, change) in changes.iter().enumerate() {
        // Devices come one after another, and each ends with nothing running.
        let until =
            changes.get(at + 1).filter(|next| next.device == change.device).map_or(change.start_ns, |n| n.start_ns);
        let (x, end) = (scale.x(change.start_ns), scale.x(until));
        let mut column = x as usize;
        while column < columns && (column as f64) < end {
            let part = (end.min(column as f64 + 1.0) - x.max(column as f64)).max(0.0);
            sums[column].0 += change.cube as f64 * part;
            sums[column].1 += change.vector as f64 * part;
            column += 1;
        }
    }
    sums
}
