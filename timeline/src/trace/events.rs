//! The events of a trace, one text each, in the order in which they are written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use super::Options;
use super::json::{Micros, Object};
use crate::cores::{self, CoreSum};
use crate::lanes::{Item, Lane, Lanes, first_free, numbered};
use crate::{Capture, Mark, MarkKind, Origin, Row, Sync, SyncKind};

/// The first `pid`; see the rule about digits in the parent module. Two a device follow.
const FIRST_PID: u64 = 10_000;

/// Where an event stands: by time, then by number, then by part.
type Position = (u64, usize, u8);

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

    let mut events: Vec<(Position, Event)> = Vec::with_capacity(lanes.items.len());
    for (number, &(lane, item)) in lanes.items.iter().enumerate() {
        events.push(((item.start_ns(), number + 1, 0), Event::Slice(lane, item)));
    }
    flows(&lanes, &mut events);
    for sum in cores::core_sums(capture, options.cores) {
        events.push(((sum.start_ns, usize::MAX, 0), Event::Cores(sum)));
    }
    for (index, mark) in options.marks.iter().enumerate() {
        events.push(((mark.start_ns.max(origin_ns), usize::MAX, 1), Event::Mark(index, mark)));
    }
    events.sort_by_key(|(position, _)| *position);

    let writer = Writer { capture, places: &places, origin_ns };
    for ((ts, ..), event) in &events {
        put(&writer.event(*ts, event))?;
        // One reader skips counters at time 0.
        if let (Event::Cores(_), true) = (event, *ts == origin_ns) {
            put(&writer.event(origin_ns + 1, event))?;
        }
    }
    Ok(())
}

enum Event<'a> {
    Slice(usize, Item<'a>),
    /// An arrow leaves (`s`) or arrives (`f`) on a lane.
    Flow {
        phase: char,
        lane: usize,
        number: usize,
    },
    Cores(CoreSum),
    Mark(usize, &'a Mark),
}

/// An arrow from each record to each wait for it.
///
/// A reader ties `s` and `f` to the slice that is open on their lane when they come, so they follow their slice at the
/// same time, or come before whatever else starts at that time.
fn flows<'a>(lanes: &Lanes<'a>, events: &mut Vec<(Position, Event<'a>)>) {
    let mut records = HashMap::new();
    for (number, &(lane, item)) in lanes.items.iter().enumerate() {
        if let Item::Sync(Sync { kind: SyncKind::Record, event: Some(event), device_id, .. }) = item {
            records.insert((*device_id, *event), (number, lane, item.start_ns()));
        }
    }
    let mut count = 0;
    for (number, &(lane, item)) in lanes.items.iter().enumerate() {
        let Item::Sync(wait @ Sync { kind: SyncKind::Wait, event: Some(event), .. }) = item else { continue };
        let Some(&(record, record_lane, recorded_ns)) = records.get(&(wait.device_id, *event)) else { continue };
        let arrives_ns = wait.end_ns();
        // A wait that was over before the record was for something else.
        if recorded_ns > arrives_ns {
            continue;
        }
        count += 1;
        // After those of the two slices that start at the very moment the arrow arrives.
        let after = [(wait.start_ns, number + 1), (recorded_ns, record + 1)];
        let after = after.iter().filter(|(at, _)| *at == arrives_ns).map(|(_, number)| *number).max().unwrap_or(0);
        events.push((
            (recorded_ns, record + 1, 1),
            Event::Flow { phase: 's', lane: record_lane, number: count },
        ));
        events.push(((arrives_ns, after, 2), Event::Flow { phase: 'f', lane, number: count }));
    }
}

/// The `pid` and `tid` of lanes and marks.
struct Places<'a> {
    lanes: &'a [Lane],
    /// By lane.
    tids: Vec<u64>,
    devices: Vec<u32>,
    /// The lane of each mark: several of a kind at one time take several.
    mark_lanes: BTreeMap<(u32, MarkKind), usize>,
    mark_extra: Vec<usize>,
}

impl<'a> Places<'a> {
    fn of(lanes: &'a [Lane], marks: &[Mark]) -> Places<'a> {
        let streams = lanes.iter().filter_map(|lane| lane.stream).map(u64::from);
        let mut spare = streams.max().unwrap_or(0);
        let mut next = || {
            spare += 1;
            spare
        };
        let own = |lane: &Lane| lane.stream.filter(|_| lane.extra == 0).map(u64::from);
        let tids = lanes.iter().map(|lane| own(lane).unwrap_or_else(&mut next)).collect();

        let mut free: BTreeMap<(u32, MarkKind), Vec<u64>> = BTreeMap::new();
        let mut by_start: Vec<usize> = (0..marks.len()).collect();
        by_start.sort_by_key(|&mark| marks[mark].start_ns);
        let mut mark_extra = vec![0; marks.len()];
        for index in by_start {
            let mark = &marks[index];
            let ends = free.entry((mark.device, mark.kind)).or_default();
            mark_extra[index] = first_free(ends, mark.start_ns, mark.end_ns());
        }
        let mark_lanes = free.into_iter().map(|(key, ends)| (key, ends.len())).collect();
        let devices = lanes.iter().map(|lane| lane.device).chain(marks.iter().map(|mark| mark.device));
        Places { lanes, tids, devices: devices.collect::<BTreeSet<_>>().into_iter().collect(), mark_lanes, mark_extra }
    }

    fn hardware(&self, device: u32) -> u64 {
        FIRST_PID + 2 * self.devices.binary_search(&device).unwrap_or(0) as u64
    }

    fn verdicts(&self, device: u32) -> u64 {
        self.hardware(device) + 1
    }

    /// The `tid` of a mark: kinds in their order, room for further lanes between them.
    fn mark_tid(kind: MarkKind, extra: usize) -> u64 {
        kind as u64 * 1_000 + extra as u64
    }

    /// Names and order of processes and threads.
    fn metadata(&self) -> Vec<String> {
        let mut events = Vec::new();
        for &device in &self.devices {
            let label = format!("NPU {device}");
            let pid = self.hardware(device);
            process(&mut events, pid, "Ascend Hardware", &label);
            for ((sort, lane), &tid) in self.lanes.iter().enumerate().zip(&self.tids) {
                if lane.device == device {
                    thread(&mut events, pid, tid, &lane.name(), sort as u64);
                }
            }
            let marks: Vec<_> = self.mark_lanes.iter().filter(|((of, _), _)| *of == device).collect();
            if !marks.is_empty() {
                process(&mut events, self.verdicts(device), "Overlap verdict", &label);
            }
            for (&(_, kind), &count) in marks {
                for extra in 0..count {
                    let name = numbered(kind.lane(), extra as u32);
                    let tid = Places::mark_tid(kind, extra);
                    thread(&mut events, self.verdicts(device), tid, &name, tid);
                }
            }
        }
        events
    }
}

fn process(events: &mut Vec<String>, pid: u64, name: &str, label: &str) {
    events.push(metadata("process_name", pid, 0, Object::new().text("name", name)));
    events.push(metadata("process_labels", pid, 0, Object::new().text("labels", label)));
    events.push(metadata("process_sort_index", pid, 0, Object::new().with("sort_index", pid)));
}

fn thread(events: &mut Vec<String>, pid: u64, tid: u64, name: &str, sort: u64) {
    events.push(metadata("thread_name", pid, tid, Object::new().text("name", name)));
    events.push(metadata("thread_sort_index", pid, tid, Object::new().with("sort_index", sort)));
}

fn metadata(name: &str, pid: u64, tid: u64, args: Object) -> String {
    let event = Object::new().text("name", name).with("pid", pid).with("tid", tid).with("args", args.end());
    event.text("ph", "M").end()
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
            Event::Flow { phase, lane, number } => {
                let event = Object::new().text("name", "event").text("cat", "event").with("id", number);
                let mut event = event.with("pid", self.pid(lane)).with("tid", self.places.tids[lane]).with("ts", ts);
                if phase == 'f' {
                    event = event.text("bp", "e");
                }
                event.text("ph", phase.encode_utf8(&mut [0; 4])).end()
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
                let event = event.with("tid", Places::mark_tid(mark.kind, self.places.mark_extra[index]));
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
            Item::Sync(sync) => (task_type(sync.kind), "sync", sync_args(sync)),
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
const fn task_type(kind: SyncKind) -> &'static str {
    match kind {
        SyncKind::Record => "EVENT_RECORD",
        SyncKind::Wait => "EVENT_WAIT",
    }
}

fn sync_args(sync: &Sync) -> String {
    let mut args = Object::new().text("Task Type", task_type(sync.kind)).with("Stream Id", sync.stream_id);
    args.put_some("Event Id", sync.event);
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
        Origin::Hazard => "hazard",
        Origin::Device => "device",
    }
}
