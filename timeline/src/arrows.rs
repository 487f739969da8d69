//! An arrow from each record to each wait for it on another stream.
//!
//! A reader ties an arrow to the slice that is open on its lane when the arrow comes. So an arrow leaves right behind its
//! record, and arrives when its wait ends, before whatever comes on that lane at the same time. Where an event is
//! recorded at the very moment at which the wait for it ends, as on devices that count in virtual time, the lane of the
//! record has to come first: [`levels`].

use std::collections::HashMap;

use crate::SyncKind;
use crate::lanes::{Item, Lanes};

/// An arrow.
pub(crate) struct Arrow {
    /// The index of the record among the items, and of its lane.
    pub(crate) record: usize,
    pub(crate) from: usize,
    /// The same of the wait.
    pub(crate) wait: usize,
    pub(crate) to: usize,
    pub(crate) leaves_ns: u64,
    pub(crate) arrives_ns: u64,
    /// Whether the wait took any time.
    pub(crate) held_up: bool,
    /// Whether the wait was still for this record, rather than over with it before it began.
    pub(crate) released: bool,
}

impl Arrow {
    pub(crate) fn at_once(&self) -> bool {
        self.leaves_ns == self.arrives_ns
    }
}

/// The arrows of everything on some lanes, by wait.
pub(crate) fn arrows(lanes: &Lanes) -> Vec<Arrow> {
    let syncs = || {
        lanes.items.iter().enumerate().filter_map(|(number, &(lane, item))| match item {
            Item::Sync(sync) => Some((number, lane, sync)),
            Item::Row(_) => None,
        })
    };
    let mut records = HashMap::new();
    for (number, lane, record) in syncs().filter(|(.., sync)| sync.kind == SyncKind::Record) {
        if let Some(event) = record.event {
            records.insert((record.device_id, event), (number, lane, record));
        }
    }
    let mut arrows = Vec::new();
    for (wait_number, to, wait) in syncs().filter(|(.., sync)| sync.kind == SyncKind::Wait) {
        let Some(event) = wait.event else { continue };
        let Some(&(record_number, from, record)) = records.get(&(wait.device_id, event)) else { continue };
        // A wait that was over before the record was for something else, and a stream is in order with itself.
        if record.start_ns <= wait.end_ns() && record.stream_id != wait.stream_id {
            arrows.push(Arrow {
                record: record_number,
                from,
                wait: wait_number,
                to,
                leaves_ns: record.start_ns,
                arrives_ns: wait.end_ns(),
                held_up: wait.duration_ns > 0,
                released: wait.duration_ns > 0 && record.start_ns >= wait.start_ns,
            });
        }
    }
    arrows
}

/// In which order lanes come at a time, by time and lane: behind those that they wait for at that very time. Lanes that
/// are not mentioned have level 0. Where lanes wait for each other in a circle, some arrow goes against the levels.
pub(crate) fn levels(arrows: &[Arrow], lanes: usize) -> HashMap<(u64, usize), usize> {
    let mut levels = HashMap::new();
    for _ in 0..lanes {
        let mut settled = true;
        for arrow in arrows.iter().filter(|arrow| arrow.at_once()) {
            let before = levels.get(&(arrow.leaves_ns, arrow.from)).copied().unwrap_or(0);
            let level = levels.entry((arrow.arrives_ns, arrow.to)).or_insert(0);
            if *level <= before {
                *level = before + 1;
                settled = false;
            }
        }
        if settled {
            break;
        }
    }
    levels
}
