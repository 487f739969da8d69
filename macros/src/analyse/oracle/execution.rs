//! A plan as the generated code carries it out: does a variable hold the events that are waited for through it?
//!
//! Each variable that has events holds the latest write and the latest read of each stream, as `Ready` of the runtime
//! does; records and moves change it as the generated code does.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::reduction::Edge;
use crate::model::{Model, Op, PointId, StreamId, VarId};
use crate::plan::{Plan, Update};

/// The events of a variable: of each stream the latest.
#[derive(Clone, Default)]
struct Ready {
    writes: BTreeMap<StreamId, PointId>,
    reads: BTreeMap<StreamId, PointId>,
}

fn add(events: &mut BTreeMap<StreamId, PointId>, stream: StreamId, point: PointId) {
    // Points are numbered in source order.
    let latest = events.entry(stream).or_insert(point);
    *latest = point.max(*latest);
}

impl Ready {
    fn update(&mut self, update: Update, stream: StreamId, point: PointId) {
        match update {
            Update::Read => add(&mut self.reads, stream, point),
            Update::MayWrite => add(&mut self.writes, stream, point),
            Update::Wrote => *self = Ready { writes: [(stream, point)].into(), reads: BTreeMap::new() },
        }
    }

    fn merge(&mut self, other: &Ready) {
        other.writes.iter().for_each(|(stream, point)| add(&mut self.writes, *stream, *point));
        other.reads.iter().for_each(|(stream, point)| add(&mut self.reads, *stream, *point));
    }
}

/// A wait of the plan whose event the variable does not hold when it is waited for.
pub(super) fn lost_event(model: &Model, plan: &Plan) -> Option<Edge> {
    let mut ready: HashMap<VarId, Ready> = HashMap::new();
    let mut known: Vec<BTreeSet<PointId>> = vec![BTreeSet::new(); model.streams.len()];
    let mut at: HashMap<PointId, BTreeSet<PointId>> = HashMap::new();
    for op in &model.body {
        match op {
            Op::Launch(node) => {
                for wait in plan.waits.get(&node.id).into_iter().flatten() {
                    let Ready { writes, reads } = ready.get(&wait.var).cloned().unwrap_or_default();
                    let events = writes.values().chain(reads.values().filter(|_| wait.mutable));
                    let held: BTreeSet<PointId> = events.flat_map(|point| &at[point]).copied().collect();
                    if let Some(&lost) = wait.points.difference(&held).next() {
                        return Some((lost, node.id));
                    }
                    let awaited = wait.points.iter().flat_map(|point| &at[point]);
                    known[node.stream.index()].extend(awaited);
                }
            }
            Op::Point(point) => {
                known[point.stream.index()].insert(point.id);
                for (var, updates) in plan.records.get(&point.id).into_iter().flatten() {
                    at.insert(point.id, known[point.stream.index()].clone());
                    let ready = ready.entry(*var).or_default();
                    updates.iter().for_each(|update| ready.update(*update, point.stream, point.id));
                }
            }
            Op::Move(moved) if plan.moves.contains(&moved.id) => {
                let from = ready.get(&moved.from.var).cloned().unwrap_or_default();
                let to = ready.entry(moved.to.var).or_default();
                if moved.replaces && moved.to.is_everything() { *to = from } else { to.merge(&from) }
            }
            Op::Declare(var) => {
                ready.insert(*var, Ready::default());
            }
            _ => {}
        }
    }
    None
}
