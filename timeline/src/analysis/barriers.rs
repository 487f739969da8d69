//! What made a stream wait.
//!
//! A barrier is *shown* if the profile has the wait itself (EVENT_WAIT, NOTIFY_WAIT): then the operator behind it is the
//! one that waited, and the record it followed is found by its event number, or by the stream that the wait names (CUDA
//! does), or else by time: the last record, and the
//! last operator, on another stream that ended at most [`FOLLOWS_NS`] before the wait did.
//!
//! Without waits in the profile a barrier is *inferred*, for a side that ran before its dominator: of the main operators
//! between the end of the side and the start of the dominator, the first that reads a shape which the side wrote, or
//! else the first of a cheap type that began because the side ended: it is the very first, or the main stream stood
//! still before it. Cheap operators behind it that read what the side or a barrier wrote belong to it. That is a guess,
//! and says so.

use hashbrown::{HashMap, HashSet};
use serde::Serialize;

use super::Analysis;
use super::intervals::Window;
use super::layers::{Layers, Part};
use super::op::{Op, micros};
use super::overlap::{Sides, Verdict};
use super::thresholds::{FOLLOWS_NS, WAITED_FLOOR_NS};
use crate::{Site, Sync, SyncKind};

/// How a barrier is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The wait is in the profile.
    Shown,
    /// Guessed from shapes, types and order.
    Inferred,
}

/// A wait in the profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waited {
    /// The stream that stood still.
    pub stream: u32,
    /// When, relative to the origin.
    pub window_ns: Window,
    /// The number of the event, where the profile says.
    pub event: Option<u64>,
    /// Where the wait stands in the source, where that is known: `function, file:line (variables)`.
    pub site: Option<String>,
}

/// What a wait followed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recorded {
    /// The stream that made the other wait; `None` for a collective without stream.
    pub stream: Option<u32>,
    /// When its record was done, in ns after the origin; `None` if the profile shows no record.
    pub record_ns: Option<u64>,
    /// The last operator before the record; `None` if there is none.
    pub after: Option<Op>,
    /// Whether the profile says so, by event number or stream, rather than the time.
    pub by_event: bool,
    /// Where the record stands in the source, where that is known.
    pub site: Option<String>,
}

/// An operator that made its stream wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Barrier {
    /// How it is known.
    pub evidence: Evidence,
    /// The operator that could not start.
    pub op: Op,
    /// How long its stream stood still before it, in ns; smaller is better.
    pub waited_ns: u64,
    /// The wait, if it is shown.
    pub wait: Option<Waited>,
    /// What it waited for: the record for a wait that is shown, the side operator whose output it reads otherwise.
    pub recorded: Option<Recorded>,
    /// Why this operator, a reason each.
    pub because: Vec<String>,
    /// What to do about it.
    pub advice: String,
    /// The layer it is in, from 1; `None` outside a check.
    pub layer: Option<usize>,
}

/// Operator types that do so little that they are moved before a dominator for free.
const CHEAP: [&str; 21] = [
    "Cast",
    "Reshape",
    "Swish",
    "SwiGlu",
    "Silu",
    "Sigmoid",
    "Mul",
    "Muls",
    "Add",
    "Sub",
    "Transpose",
    "TransData",
    "Slice",
    "StridedSlice",
    "StridedSliceD",
    "Squeeze",
    "Unsqueeze",
    "ExpandDims",
    "Identity",
    "TensorMove",
    "Fill",
];

impl Analysis<'_> {
    /// What made streams wait: every wait in the profile that held a stream up, the longest first; behind them what the
    /// overlap check inferred.
    pub fn barriers(&self) -> Vec<Barrier> {
        let mut barriers = self.shown(|_| true);
        barriers.sort_by(|a, b| b.waited_ns.cmp(&a.waited_ns).then(a.op.start_ns.cmp(&b.op.start_ns)));
        if let Ok(overlap) = self.overlap() {
            barriers.extend(overlap.barriers.into_iter().filter(|barrier| barrier.evidence == Evidence::Inferred));
        }
        barriers
    }

    /// The barriers of the layers that do not overlap: shown ones first, then inferred ones, each by layer.
    pub(super) fn barriers_of(&self, sides: &Sides, parts: &[Part], layers: &Layers, verdict: Verdict) -> Vec<Barrier> {
        let mut barriers = Vec::new();
        if verdict == Verdict::SameStream {
            return barriers;
        }
        let streams: HashSet<u32> = sides.side_ids.iter().chain(&sides.main_ids).copied().collect();
        let mut shown = self.shown(|sync| streams.contains(&sync.stream_id));
        let window = |barrier: &Barrier| barrier.wait.as_ref().map(|wait| wait.window_ns).unwrap_or_default();
        shown.sort_by_key(|barrier| window(barrier).start_ns);
        let mut shown = shown.into_iter().peekable();
        for (layer, part) in layers.layers.iter().zip(parts) {
            if !matches!(layer.verdict, Verdict::Serial | Verdict::Partial) {
                continue;
            }
            let hull = layer.figures.side_window_ns.hull(&layer.figures.main_window_ns);
            // Layers and waits are both by time, and a wait is told once, with the first layer that it lies in.
            let mut here = Vec::new();
            while let Some(barrier) = shown.next_if(|barrier| window(barrier).start_ns < hull.end_ns) {
                if window(&barrier).overlap_ns(&hull) > 0 {
                    here.push(barrier);
                }
            }
            let found = if here.is_empty() { self.inferred(sides, part) } else { here };
            barriers.extend(found.into_iter().map(|barrier| Barrier { layer: Some(layer.number), ..barrier }));
        }
        barriers.sort_by_key(|barrier| (barrier.evidence, barrier.layer));
        barriers
    }

    pub(super) fn relative(&self, sync: &Sync) -> Window {
        let since = |ns: u64| ns.saturating_sub(self.origin_ns);
        Window::new(since(sync.start_ns), since(sync.end_ns()))
    }

    fn shown(&self, wanted: impl Fn(&Sync) -> bool) -> Vec<Barrier> {
        let wall = self.wall();
        let held = |sync: &&Sync| {
            sync.kind == SyncKind::Wait
                && sync.device_id == self.device
                && sync.duration_ns >= WAITED_FLOOR_NS
                && self.relative(sync).overlap_ns(&wall) > 0
                && wanted(sync)
        };
        let records = Records::new(self);
        self.capture.syncs.iter().filter(held).filter_map(|sync| self.shown_barrier(sync, &records)).collect()
    }

    fn shown_barrier(&self, wait: &Sync, records: &Records<'_>) -> Option<Barrier> {
        let window = self.relative(wait);
        let waiter = self.first_on(wait.stream_id, window.end_ns)?;
        let recorded = self.recorded(wait, records);
        let op = self.op(waiter);
        let because = vec![match &recorded {
            Some(Recorded { stream, after: Some(after), .. }) => format!(
                "stream {} stood {} us in a wait that followed {after} on {}",
                wait.stream_id,
                micros(window.len_ns()),
                stream.map_or("the collective lane".to_owned(), |stream| format!("stream {stream}")),
            ),
            _ => format!("stream {} stood {} us in a wait", wait.stream_id, micros(window.len_ns())),
        }];
        let advice = match recorded.as_ref().and_then(|recorded| recorded.after.as_ref()) {
            Some(after) => format!(
                "move the join behind what does not need {after}, or start {after} earlier: {op} can only run after it"
            ),
            None => format!("move the wait before {op} to the first operator that needs the result"),
        };
        Some(Barrier {
            evidence: Evidence::Shown,
            waited_ns: window.len_ns(),
            wait: Some(Waited {
                stream: wait.stream_id,
                window_ns: window,
                event: wait.event,
                site: wait.site.as_ref().map(place),
            }),
            op,
            recorded,
            because,
            advice,
            layer: None,
        })
    }

    /// The first operator on a stream that starts at or after a time.
    fn first_on(&self, stream: u32, at_ns: u64) -> Option<u32> {
        let work =
            self.work.iter().zip(&self.streams.streams).find(|(_, s)| s.ids.contains(&stream)).map(|(w, _)| w)?;
        let from = work.partition_point(|&index| self.window(index).start_ns < at_ns);
        work[from..].iter().copied().find(|&index| self.row(index).stream == Some(stream))
    }

    /// What a wait followed.
    fn recorded(&self, wait: &Sync, records: &Records<'_>) -> Option<Recorded> {
        let end_ns = self.relative(wait).end_ns;
        if let Some(record) = wait.event.and_then(|event| records.of_event(event, wait.end_ns())) {
            let record_ns = self.relative(record).end_ns;
            return Some(Recorded {
                stream: Some(record.stream_id),
                record_ns: Some(record_ns),
                after: self.last_before(record_ns, |stream| stream == Some(record.stream_id)).map(|at| self.op(at)),
                by_event: true,
                site: record.site.as_ref().map(place),
            });
        }
        if let Some(stream) = wait.of_stream {
            return Some(Recorded {
                stream: Some(stream),
                record_ns: None,
                after: self.last_before(end_ns, |other| other == Some(stream)).map(|at| self.op(at)),
                by_event: true,
                site: None,
            });
        }
        let since_ns = end_ns.saturating_sub(FOLLOWS_NS);
        let after = self.last_before(end_ns, |stream| stream != Some(wait.stream_id));
        let after = after.filter(|&at| self.window(at).end_ns >= since_ns);
        let record = records.between(wait.end_ns().saturating_sub(FOLLOWS_NS), wait.end_ns(), wait.stream_id);
        if after.is_none() && record.is_none() {
            return None;
        }
        Some(Recorded {
            stream: after.map_or(record.map(|record| record.stream_id), |at| self.row(at).stream),
            record_ns: record.map(|record| self.relative(record).end_ns),
            after: after.map(|at| self.op(at)),
            by_event: false,
            site: record.and_then(|record| record.site.as_ref()).map(place),
        })
    }

    /// The operator that ended last at or before a time, among the streams wanted.
    fn last_before(&self, at_ns: u64, wanted: impl Fn(Option<u32>) -> bool) -> Option<u32> {
        let last = |work: &Vec<u32>| -> Option<u32> {
            let started = work.partition_point(|&index| self.window(index).start_ns <= at_ns);
            // One at a time runs on a stream, so the last that ended is at most a few back.
            let before = work[..started].iter().rev().take(8).copied();
            let ended = before.filter(|&at| self.window(at).end_ns <= at_ns && wanted(self.row(at).stream));
            ended.max_by_key(|&at| self.window(at).end_ns)
        };
        let lanes = self.work.iter().chain(std::iter::once(&self.strays));
        lanes.filter_map(last).max_by_key(|&at| (self.window(at).end_ns, self.row(at).stream))
    }

    fn inferred(&self, sides: &Sides, part: &Part) -> Vec<Barrier> {
        let (side, main) = (self.hull(&part.side), self.hull(&part.dominators));
        if side.end_ns > main.start_ns {
            return Vec::new();
        }
        let from = sides.main.partition_point(|&index| self.window(index).start_ns < side.end_ns);
        let to = sides.main.partition_point(|&index| self.window(index).start_ns < main.start_ns);
        let between = &sides.main[from..to.max(from)];
        let writes: Vec<(u32, Vec<Operand>)> = part.side.iter().map(|&index| (index, self.outputs(index))).collect();

        let reads = |index: u32| {
            let inputs = self.inputs(index);
            // The last writer of a shape is the likeliest.
            writes.iter().rev().find(|(_, outputs)| outputs.iter().any(|output| inputs.contains(output))).map(|w| w.0)
        };
        // Without shapes that match, only an operator that plainly began because the side ended.
        let held = |at: usize| at == 0 || self.idle_before(between[at], sides) >= WAITED_FLOOR_NS;
        let first = (between.iter().position(|&index| reads(index).is_some()))
            .or_else(|| (0..between.len()).find(|&at| self.is_cheap(between[at]) && held(at)));
        let Some(first) = first else { return Vec::new() };
        let mut barriers: Vec<(u32, Option<u32>)> = vec![(between[first], reads(between[first]))];
        for &index in &between[first + 1..] {
            let inputs = self.inputs(index);
            let follows = barriers.iter().any(|&(at, _)| self.outputs(at).iter().any(|output| inputs.contains(output)));
            if self.is_cheap(index) && (reads(index).is_some() || follows) {
                barriers.push((index, reads(index)));
            }
        }
        barriers.into_iter().map(|(index, source)| self.inferred_barrier(index, source, sides, part)).collect()
    }

    fn inferred_barrier(&self, index: u32, source: Option<u32>, sides: &Sides, part: &Part) -> Barrier {
        let op = self.op(index);
        let idle = self.idle_before(index, sides);
        let last = part.side.last().map(|&last| self.op(last));
        let dominator = part.dominators.first().map(|&dominator| self.op(dominator));
        let mut because = Vec::new();
        if let Some(source) = source {
            because.push(format!("it reads a shape that {} on the side stream wrote", self.op(source)));
        }
        if self.is_cheap(index) {
            because.push(format!("{} is a cheap operator that compilers move ahead", op.op_type));
        }
        if idle >= WAITED_FLOOR_NS {
            because.push(format!("the main stream stood still for {} us before it", micros(idle)));
        }
        if let Some(dominator) = &dominator {
            because.push(format!("it stands before {dominator} in the queue of the main stream"));
        }
        let recorded = source.or(part.side.last().copied()).map(|source| Recorded {
            stream: self.row(source).stream,
            record_ns: None,
            after: Some(self.op(source)),
            by_event: false,
            site: None,
        });
        let advice = match (&last, &dominator) {
            (Some(last), Some(dominator)) => {
                format!("write {op} inside the side block, behind {last}, or move the join behind {dominator}")
            }
            _ => format!("write {op} inside the side block"),
        };
        Barrier {
            evidence: Evidence::Inferred,
            op,
            waited_ns: idle,
            wait: None,
            recorded,
            because,
            advice,
            layer: None,
        }
    }

    /// How long the main stream stood still before one of its operators, in ns.
    fn idle_before(&self, index: u32, sides: &Sides) -> u64 {
        let start_ns = self.window(index).start_ns;
        let at = sides.main.partition_point(|&other| self.window(other).start_ns < start_ns);
        at.checked_sub(1).map_or(0, |before| start_ns.saturating_sub(self.window(sides.main[before]).end_ns))
    }

    fn is_cheap(&self, index: u32) -> bool {
        let op_type = self.text(self.row(index).op_type);
        CHEAP.iter().any(|cheap| op_type.eq_ignore_ascii_case(cheap))
    }

    fn inputs(&self, index: u32) -> Vec<Operand<'_>> {
        let row = self.row(index);
        operands(self.text(row.input_shapes), self.text(row.input_types))
    }

    fn outputs(&self, index: u32) -> Vec<Operand<'_>> {
        let row = self.row(index);
        operands(self.text(row.output_shapes), self.text(row.output_types))
    }
}

/// The records of a device, to be found by event or by time.
struct Records<'a> {
    by_end: Vec<&'a Sync>,
    by_event: HashMap<u64, Vec<&'a Sync>>,
}

impl<'a> Records<'a> {
    fn new(analysis: &Analysis<'a>) -> Records<'a> {
        let is = |sync: &&Sync| sync.kind == SyncKind::Record && sync.device_id == analysis.device;
        let mut by_end: Vec<&Sync> = analysis.capture.syncs.iter().filter(is).collect();
        by_end.sort_by_key(|sync| (sync.end_ns(), sync.stream_id));
        let mut by_event: HashMap<u64, Vec<&Sync>> = HashMap::new();
        for &sync in &by_end {
            if let Some(event) = sync.event {
                by_event.entry(event).or_default().push(sync);
            }
        }
        Records { by_end, by_event }
    }

    /// The last record of an event that was done by a time.
    fn of_event(&self, event: u64, by_ns: u64) -> Option<&'a Sync> {
        let records = self.by_event.get(&event)?;
        records.partition_point(|sync| sync.end_ns() <= by_ns).checked_sub(1).map(|at| records[at])
    }

    /// The last record done between two times on another stream.
    fn between(&self, since_ns: u64, by_ns: u64, except: u32) -> Option<&'a Sync> {
        let until = self.by_end.partition_point(|sync| sync.end_ns() <= by_ns);
        let recent = self.by_end[..until].iter().rev().take_while(|sync| sync.end_ns() >= since_ns);
        recent.copied().find(|sync| sync.stream_id != except)
    }
}

/// The shape and the type of a tensor.
type Operand<'t> = (&'t str, &'t str);

/// Tensors of a row. Scalars and single elements match everything and say nothing, so they are left out.
fn operands<'t>(shapes: &'t str, types: &'t str) -> Vec<Operand<'t>> {
    let mut types = types.split(';').map(str::trim);
    let operands = shapes.split(';').map(|shape| (shape.trim().trim_matches('"'), types.next().unwrap_or("")));
    operands.filter(|(shape, _)| shape.split(',').any(|size| size.parse::<u64>().is_ok_and(|n| n > 1))).collect()
}

fn place(site: &Site) -> String {
    let mut place = format!("{}:{}", site.file, site.line);
    if !site.function.is_empty() {
        place = format!("{}, {place}", site.function);
    }
    if !site.variables.is_empty() {
        place.push_str(&format!(" ({})", site.variables));
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_pair_shapes_with_types_and_leave_scalars_out() {
        assert_eq!(operands("4096,1024;1;;8", "DT_BF16;FLOAT;;INT32"), [("4096,1024", "DT_BF16"), ("8", "INT32")]);
        assert_eq!(operands("N/A", "N/A"), []);
        assert_eq!(operands("4,8;2", "FLOAT"), [("4,8", "FLOAT"), ("2", "")]);
    }
}
