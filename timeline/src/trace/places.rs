//! Which `pid` and `tid` lanes and marks have, and what they are called.

use std::collections::{BTreeMap, BTreeSet};

use super::json::Object;
use crate::lanes::{Lane, first_free, numbered};
use crate::{Mark, MarkKind};

/// The first `pid`; see the rule about digits in the parent module. Two a device follow.
const FIRST_PID: u64 = 10_000;

/// The `pid` and `tid` of lanes and marks.
pub(super) struct Places<'a> {
    pub(super) lanes: &'a [Lane],
    /// By lane.
    pub(super) tids: Vec<u64>,
    devices: Vec<u32>,
    /// The lane of each mark: several of a kind at one time take several.
    mark_lanes: BTreeMap<(u32, MarkKind), usize>,
    mark_extra: Vec<usize>,
}

impl<'a> Places<'a> {
    pub(super) fn of(lanes: &'a [Lane], marks: &[Mark]) -> Places<'a> {
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

    /// The `pid` of a device's operators.
    pub(super) fn hardware(&self, device: u32) -> u64 {
        FIRST_PID + 2 * self.devices.binary_search(&device).unwrap_or(0) as u64
    }

    /// The `pid` of a device's marks.
    pub(super) fn verdicts(&self, device: u32) -> u64 {
        self.hardware(device) + 1
    }

    /// The `tid` of the lane of a mark, given its number among the marks.
    pub(super) fn mark(&self, number: usize, kind: MarkKind) -> u64 {
        Places::mark_tid(kind, self.mark_extra[number])
    }

    /// Kinds in their order, room for further lanes between them.
    fn mark_tid(kind: MarkKind, extra: usize) -> u64 {
        kind as u64 * 1_000 + extra as u64
    }

    /// Names and order of processes and threads.
    pub(super) fn metadata(&self) -> Vec<String> {
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
