//! The events of a trace, one text each, in the order in which they are written.

use std::io;

use super::Options;
use super::json::{Micros, Object};
use super::places::Places;
use crate::arrows::{arrows, levels};
use crate::capture::Row;
use crate::cores::{self, CoreSum};
use crate::lanes::{Item, Lanes};
use crate::{Capture, Mark, Origin, Sync, SyncKind, Via};

/// Where an event stands: by time; then by the level of its lane at that time, see [`arrows`](crate::arrows); then by number; then by
/// part.
type Position = (u64, usize, usize, u8);

/// Gives each event to `put`, metadata first, then by time.
pub(super) fn each(
    capture: &Capture,
    options: &Options,
    origin_ns: u64,
    mut put: impl FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let lanes = Lanes::of(capture);
    let places = Places::of(&lanes.lanes, &options.marks);
    for event in places.metadata() {
        put(&event)?;
    }

    let arrows = arrows(&lanes);
    let levels = levels(&arrows, lanes.lanes.len());
    let level = |at: u64, lane: usize| levels.get(&(at, lane)).copied().unwrap_or(0);
    let mut events: Vec<(Position, Event)> = Vec::with_capacity(lanes.items.len());
    for (number, &(lane, item)) in lanes.items.iter().enumerate() {
        let at = item.start_ns();
        events.push(((at, level(at, lane), number + 1, 0), Event::Slice(lane, item)));
    }
    for (id, arrow) in (1..).zip(&arrows) {
        let (leaves, arrives) = (level(arrow.leaves_ns, arrow.from), level(arrow.arrives_ns, arrow.to));
        // Streams that tell each other something at one moment, round in a circle: no order shows all of it.
        if arrow.at_once() && leaves >= arrives {
            continue;
        }
        let flow = |phase, lane| Event::Flow { phase, lane, id };
        events.push(((arrow.leaves_ns, leaves, arrow.record + 1, 1), flow("s", arrow.from)));
        // Before whatever else comes on the lane then, unless the wait itself does.
        let after = if arrow.held_up { 0 } else { arrow.wait + 1 };
        events.push(((arrow.arrives_ns, arrives, after, 2), flow("f", arrow.to)));
    }
    for sum in cores::core_sums(capture, options.cores) {
        events.push(((sum.start_ns, usize::MAX, 0, 0), Event::Cores(sum)));
        // One reader skips counters at time 0.
        if sum.start_ns == origin_ns {
            events.push(((origin_ns + 1, 0, 0, 0), Event::Cores(sum)));
        }
    }
    for (index, mark) in options.marks.iter().enumerate() {
        events.push(((mark.start_ns.max(origin_ns), usize::MAX, 0, 1), Event::Mark(index, mark)));
    }
    events.sort_by_key(|(position, _)| *position);

    let writer = Writer { capture, places: &places, origin_ns };
    for ((ts, ..), event) in &events {
        put(&writer.event(*ts, event))?;
    }
    Ok(())
}

enum Event<'a> {
    Slice(usize, Item<'a>),
    /// An arrow leaves (`s`) or arrives (`f`) on a lane.
    Flow {
        phase: &'static str,
        lane: usize,
        id: usize,
    },
    Cores(CoreSum),
    Mark(usize, &'a Mark),
}

/// Turns events into text.
struct Writer<'a> {
    capture: &'a Capture,
    places: &'a Places<'a>,
    origin_ns: u64,
}

impl Writer<'_> {
    fn event(&self, ts_ns: u64, event: &Event) -> String {
        let ts = Micros(ts_ns - self.origin_ns);
        match *event {
            Event::Slice(lane, item) => self.slice(lane, item),
            Event::Flow { phase, lane, id } => {
                let event = Object::new().text("name", "event").text("cat", "event").with("id", id);
                let mut event = event.with("pid", self.pid(lane)).with("tid", self.places.tids[lane]).with("ts", ts);
                if phase == "f" {
                    event = event.text("bp", "e");
                }
                event.text("ph", phase).end()
            }
            Event::Cores(sum) => {
                let args = Object::new().with("cube", sum.cube).with("vector", sum.vector).end();
                let event = Object::new().text("name", "Blocks running").with("pid", self.places.hardware(sum.device));
                event.with("tid", 0).with("ts", ts).with("args", args).text("ph", "C").end()
            }
            Event::Mark(index, mark) => {
                let args = Object::new().text("what", mark.kind.lane()).end();
                let event = Object::new().text("name", &mark.text).text("cat", "verdict");
                let event = event.with("pid", self.places.verdicts(mark.device));
                let event = event.with("tid", self.places.mark(index, mark.kind));
                event.with("ts", ts).with("dur", Micros(mark.duration_ns)).with("args", args).text("ph", "X").end()
            }
        }
    }

    fn pid(&self, lane: usize) -> u64 {
        self.places.hardware(self.places.lanes[lane].device)
    }

    fn slice(&self, lane: usize, item: Item) -> String {
        let (name, category, args) = match item {
            Item::Row(row) => (self.capture.strings.text(row.name), row.core.name(), self.row_args(row)),
            Item::Sync(sync) => (task_type(sync), "sync", sync_args(sync)),
        };
        let (start, end) = (item.start_ns(), item.end_ns());
        let event = Object::new().text("name", name).text("cat", category).with("pid", self.pid(lane));
        let event = event.with("tid", self.places.tids[lane]).with("ts", Micros(start - self.origin_ns));
        event.with("dur", Micros(end - start)).with("args", args).text("ph", "X").end()
    }

    fn row_args(&self, row: &Row) -> String {
        let text = |symbol| self.capture.strings.text(symbol);
        let mut args = Object::new().text("Task Type", row.core.name());
        args.put_some("Stream Id", row.stream);
        args.put_some("Task Id", row.task);
        args.put_some("Step Id", row.step);
        args.put_text("Type", text(row.op_type));
        args.put_some("Block Num", row.blocks);
        args.put_some("Mix Block Num", row.mix_blocks);
        args.put_text("Input Shapes", text(row.input_shapes));
        args.put_text("Input Data Types", text(row.input_types));
        args.put_text("Output Shapes", text(row.output_shapes));
        args.put_text("Output Data Types", text(row.output_types));
        args.put_some("aicore_time(us)", row.aicore_ns.map(Micros));
        args.put_some("aiv_time(us)", row.aiv_ns.map(Micros));
        if row.line > 0 {
            args.put("Line", row.line);
        }
        args.end()
    }
}

/// What CANN calls the task.
const fn task_type(sync: &Sync) -> &'static str {
    match (sync.via, sync.kind) {
        (Via::Event, SyncKind::Record) => "EVENT_RECORD",
        (Via::Event, SyncKind::Wait) => "EVENT_WAIT",
        (Via::Notify, SyncKind::Record) => "NOTIFY_RECORD",
        (Via::Notify, SyncKind::Wait) => "NOTIFY_WAIT",
    }
}

fn sync_args(sync: &Sync) -> String {
    let mut args = Object::new().text("Task Type", task_type(sync)).with("Stream Id", sync.stream_id);
    args.put_some("Task Id", sync.task);
    args.put_some("Event Id", sync.event);
    args.put_some("Recorded on Stream Id", sync.of_stream);
    args.put_text("Origin", origin(sync.origin));
    if let Some(site) = &sync.site {
        args.put_text("Function", &site.function);
        args.put_text("File", &site.file);
        args.put("Line", site.line);
        args.put_text("Variables", &site.variables);
        args.put("Index", site.index);
    }
    args.end()
}

/// Who made it, in a word.
const fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Plan => "plan",
        Origin::Hand => "hand",
        Origin::Function => "function",
        Origin::Hazard => "hazard",
        Origin::Memory => "memory",
        Origin::Device => "device",
    }
}
