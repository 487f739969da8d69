//! Which row of a picture an operator is drawn on.
//!
//! In: spans of streams, by start. Out: for each, its lane: the stream's own, or one beside it where the stream's own is
//! still taken (collectives and their small tasks do run at the same time on one stream). Guaranteed: spans of one lane
//! never overlap and never nest.

use std::collections::BTreeMap;

use crate::capture::Row;
use crate::{Capture, Sync};

/// What has lanes of its own: a stream of a device, or what belongs to none of its streams.
pub(crate) type Track = (u32, Option<u32>);

/// One row of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) device: u32,
    pub(crate) stream: Option<u32>,
    /// 0 for the stream's own lane, 1 for the first beside it.
    pub(crate) extra: u32,
}

impl Lane {
    /// `Stream 4`, `Stream 4 #2`, `Communication (no stream)`.
    pub(crate) fn name(&self) -> String {
        let name = match self.stream {
            Some(stream) => format!("Stream {stream}"),
            None => "Communication (no stream)".into(),
        };
        numbered(&name, self.extra)
    }
}

/// The name of the lane `extra` places beside one.
pub(crate) fn numbered(name: &str, extra: u32) -> String {
    if extra == 0 { name.into() } else { format!("{name} #{}", extra + 1) }
}

/// Takes the first lane that is free at a start, given when each is, or a new one.
pub(crate) fn first_free(free: &mut Vec<u64>, start_ns: u64, end_ns: u64) -> usize {
    let lane = free.iter().position(|&at| at <= start_ns).unwrap_or_else(|| {
        free.push(0);
        free.len() - 1
    });
    free[lane] = end_ns;
    lane
}

/// An operator, a wait or a record, on its lane.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item<'a> {
    Row(&'a Row),
    Sync(&'a Sync),
}

impl Item<'_> {
    pub(crate) fn start_ns(self) -> u64 {
        match self {
            Item::Row(row) => row.start_ns,
            Item::Sync(sync) => sync.start_ns,
        }
    }

    pub(crate) fn end_ns(self) -> u64 {
        match self {
            Item::Row(row) => row.end_ns(),
            Item::Sync(sync) => sync.end_ns(),
        }
    }

    fn track(self) -> Track {
        match self {
            Item::Row(row) => (row.device, row.stream),
            Item::Sync(sync) => (sync.device_id, Some(sync.stream_id)),
        }
    }

    /// At one moment: what takes no time comes before what does, and records and waits before operators.
    fn order(self) -> (u64, u8) {
        let rank = match self {
            Item::Sync(sync) if sync.duration_ns == 0 => 0,
            Item::Row(row) if row.duration_ns == 0 => 1,
            Item::Sync(_) => 2,
            Item::Row(_) => 3,
        };
        (self.start_ns(), rank)
    }
}

/// The lanes of a capture, by device, then stream (what has none comes last), and everything on them by start.
#[derive(Debug, Default)]
pub(crate) struct Lanes<'a> {
    pub(crate) lanes: Vec<Lane>,
    /// Each with the index of its lane.
    pub(crate) items: Vec<(usize, Item<'a>)>,
}

impl<'a> Lanes<'a> {
    pub(crate) fn of(capture: &'a Capture) -> Lanes<'a> {
        let rows = capture.rows.iter().map(Item::Row);
        let mut items: Vec<Item> = rows.chain(capture.syncs.iter().map(Item::Sync)).collect();
        items.sort_by_key(|item| item.order());

        // When each lane of a track is free again.
        let mut free: BTreeMap<(u32, u64), Vec<u64>> = BTreeMap::new();
        let key = |(device, stream): Track| (device, stream.map_or(u64::MAX, u64::from));
        let mut placed = Vec::with_capacity(items.len());
        for item in items {
            let lanes = free.entry(key(item.track())).or_default();
            placed.push((item, first_free(lanes, item.start_ns(), item.end_ns())));
        }

        let mut lanes = Vec::new();
        let mut first = BTreeMap::new();
        for (&(device, stream), ends) in &free {
            first.insert((device, stream), lanes.len());
            let stream = u32::try_from(stream).ok();
            lanes.extend((0..ends.len() as u32).map(|extra| Lane { device, stream, extra }));
        }
        let items = placed.into_iter().map(|(item, extra)| (first[&key(item.track())] + extra, item)).collect();
        Lanes { lanes, items }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Capture, Core};

    fn capture(spans: &[(Option<u32>, u64, u64)]) -> Capture {
        let mut capture = Capture::default();
        let none = capture.strings.intern("");
        capture.rows = spans
            .iter()
            .map(|&(stream, start_ns, duration_ns)| Row {
                source: 0,
                line: 0,
                device: 0,
                step: None,
                stream,
                task: None,
                name: none,
                op_type: none,
                core: Core::AiCore,
                start_ns,
                duration_ns,
                blocks: None,
                mix_blocks: None,
                input_shapes: none,
                input_types: none,
                output_shapes: none,
                output_types: none,
                aicore_ns: None,
                aiv_ns: None,
            })
            .collect();
        capture
    }

    #[test]
    fn a_stream_that_overlaps_itself_gets_lanes_beside_its_own() {
        let capture = capture(&[(Some(4), 0, 10), (None, 0, 3), (Some(4), 5, 10), (Some(4), 10, 2), (Some(2), 1, 1)]);
        let lanes = Lanes::of(&capture);
        let names: Vec<_> = lanes.lanes.iter().map(Lane::name).collect();
        assert_eq!(names, ["Stream 2", "Stream 4", "Stream 4 #2", "Communication (no stream)"]);
        let placed: Vec<_> = lanes.items.iter().map(|(lane, item)| (*lane, item.start_ns())).collect();
        assert_eq!(placed, [(1, 0), (3, 0), (0, 1), (2, 5), (1, 10)]);
    }

    #[test]
    fn nested_spans_are_put_apart_and_touching_ones_are_not() {
        let capture = capture(&[(Some(1), 0, 100), (Some(1), 10, 5), (Some(1), 100, 0), (Some(1), 100, 5)]);
        let lanes: Vec<_> = Lanes::of(&capture).items.iter().map(|(lane, _)| *lane).collect();
        assert_eq!(lanes, [0, 1, 0, 0]);
    }
}
