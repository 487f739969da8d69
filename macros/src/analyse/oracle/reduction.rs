//! The truth about a straight-line model, by brute force: every two accesses are held against each other, order is
//! reachability in bit sets, and a wait is needed if no other path leads to it. No clocks, and nothing is pruned on the
//! way.
//!
//! The graph has a vertex for each node and for each point. Streams order their vertices one after another. Data flow
//! leads from the point behind an access, where an event can be recorded, to a later node that conflicts with it.
//!
//! Every node may launch something that touches all that it may touch; what the waits then give is the order. But a node
//! may launch nothing, and then its stream did not wait. `after`, `reads` and `writes` hold in any case, so only what is
//! *certain* makes one of their waits superfluous: what lies before a point that an `after` of the same stream waits for.
//! (An event that is waited for brings along all that its stream should have waited for, made or not.)

use std::collections::BTreeSet;

use crate::model::{Access, Mode, Model, NodeId, Op, PointId, StreamId};

/// A wait: of a node, for a point.
pub(super) type Edge = (PointId, NodeId);

/// What the source of a model asks for.
pub(super) struct Graph {
    /// The vertex before, on the same stream.
    previous: Vec<Option<usize>>,
    streams: Vec<StreamId>,
    flow: Vec<Flow>,
}

/// Data flow from one stream to another.
struct Flow {
    from: usize,
    to: usize,
    edge: Edge,
    barrier: bool,
}

/// For each vertex, those before it.
#[derive(PartialEq, Eq)]
pub(super) struct Order(Vec<Vec<u64>>);

impl Order {
    fn has(&self, before: usize, after: usize) -> bool {
        self.0[after][before / 64] >> (before % 64) & 1 == 1
    }
}

fn union(all: &mut [u64], more: &[u64]) {
    all.iter_mut().zip(more).for_each(|(a, b)| *a |= b);
}

/// An access that was made.
#[derive(Clone)]
struct Done {
    access: Access,
    stream: StreamId,
    /// The point where it is recorded, with its vertex; `None` until there is one.
    recorded: Option<(usize, PointId)>,
}

impl Graph {
    /// # Panics
    /// If the model is not straight.
    pub(super) fn of(model: &Model) -> Graph {
        let mut graph = Graph { previous: Vec::new(), streams: Vec::new(), flow: Vec::new() };
        let mut last: Vec<Option<usize>> = vec![None; model.streams.len()];
        let mut done: Vec<Vec<Done>> = vec![Vec::new(); model.variables as usize];
        // Of a touch only the next point knows the stream.
        let mut touched: Vec<Access> = Vec::new();
        for op in &model.body {
            let vertex = graph.previous.len();
            match op {
                Op::Launch(node) => {
                    graph.push(node.stream, &mut last);
                    for access in &node.accesses {
                        for before in &done[access.var.index()] {
                            if before.stream != node.stream && conflict(&before.access, access) {
                                let (from, point) =
                                    before.recorded.expect("a point comes before another stream's node");
                                let (edge, barrier) = ((point, node.id), node.barrier);
                                graph.flow.push(Flow { from, to: vertex, edge, barrier });
                            }
                        }
                    }
                    for access in node.accesses.iter().filter(|_| !node.barrier) {
                        let made = Done { access: access.clone(), stream: node.stream, recorded: None };
                        done[access.var.index()].push(made);
                    }
                }
                Op::Point(point) => {
                    graph.push(point.stream, &mut last);
                    let here = Some((vertex, point.id));
                    done.iter_mut().flatten().filter(|d| d.recorded.is_none()).for_each(|d| d.recorded = here);
                    let made = |access: Access| Done { access, stream: point.stream, recorded: here };
                    for access in touched.drain(..) {
                        done[access.var.index()].push(made(access));
                    }
                    for access in &point.defines {
                        replace(&mut done[access.var.index()], access);
                        done[access.var.index()].push(made(access.clone()));
                    }
                }
                Op::Move(moved) => {
                    let taken: Vec<Done> = done[moved.from.var.index()]
                        .iter()
                        .filter_map(|d| {
                            Some(Done { access: seen_through(&d.access, &moved.from, &moved.to)?, ..d.clone() })
                        })
                        .collect();
                    if moved.replaces {
                        replace(&mut done[moved.to.var.index()], &moved.to);
                    }
                    done[moved.to.var.index()].extend(taken);
                }
                Op::Touch(access) => touched.push(access.clone()),
                Op::Declare(var) => done[var.index()].clear(),
                Op::Begin(_) | Op::End(_) => {}
                Op::Branch { .. } | Op::Loop { .. } | Op::Labelled { .. } | Op::Exit(_) => {
                    panic!("not straight: {op:?}")
                }
            }
        }
        graph
    }

    fn push(&mut self, stream: StreamId, last: &mut [Option<usize>]) {
        self.previous.push(last[stream.index()].replace(self.streams.len()));
        self.streams.push(stream);
    }

    /// The order of streams and of some of the data flow.
    fn order(&self, counts: impl Fn(&Flow) -> bool) -> Order {
        let mut before: Vec<Vec<usize>> = self.previous.iter().map(|p| p.iter().copied().collect()).collect();
        for flow in self.flow.iter().filter(|flow| counts(flow)) {
            before[flow.to].push(flow.from);
        }
        let mut order: Vec<Vec<u64>> = Vec::with_capacity(before.len());
        for before in before {
            let mut all = vec![0; self.words()];
            for vertex in before {
                union(&mut all, &order[vertex]);
                all[vertex / 64] |= 1 << (vertex % 64);
            }
            order.push(all);
        }
        Order(order)
    }

    /// What every barrier comes after for certain, given the order that the waits give.
    fn certain(&self, order: &Order, counts: impl Fn(&Flow) -> bool) -> Vec<(usize, Vec<u64>)> {
        let mut of_stream: Vec<Vec<u64>> = vec![vec![0; self.words()]; self.previous.len()];
        for vertex in 0..self.previous.len() {
            if let Some(previous) = self.previous[vertex] {
                of_stream[vertex] = of_stream[previous].clone();
            }
            for flow in self.flow.iter().filter(|flow| flow.to == vertex && flow.barrier && counts(flow)) {
                union(&mut of_stream[vertex], &order.0[flow.from]);
                of_stream[vertex][flow.from / 64] |= 1 << (flow.from % 64);
            }
        }
        let barriers: BTreeSet<usize> = self.flow.iter().filter(|flow| flow.barrier).map(|flow| flow.to).collect();
        barriers.into_iter().map(|vertex| (vertex, std::mem::take(&mut of_stream[vertex]))).collect()
    }

    fn words(&self) -> usize {
        self.previous.len().div_ceil(64)
    }

    /// The waits of the best plan.
    pub(super) fn waits(&self) -> BTreeSet<Edge> {
        let order = self.order(|_| true);
        let mut before: Vec<Vec<usize>> = self.previous.iter().map(|p| p.iter().copied().collect()).collect();
        self.flow.iter().for_each(|flow| before[flow.to].push(flow.from));
        let implied = |flow: &&Flow| {
            if flow.barrier {
                self.is_certain(&order, flow)
            } else {
                before[flow.to].iter().any(|&via| order.has(flow.from, via))
            }
        };
        self.flow.iter().filter(|flow| !implied(flow)).map(|flow| flow.edge).collect()
    }

    /// Does another wait of the barrier, or one of an earlier barrier on the stream, bring this one along?
    fn is_certain(&self, order: &Order, flow: &Flow) -> bool {
        self.flow.iter().filter(|other| other.barrier).any(|other| {
            let earlier = order.has(other.to, flow.to) && self.streams[other.to] == self.streams[flow.to];
            earlier && other.from == flow.from || (earlier || other.to == flow.to) && order.has(flow.from, other.from)
        })
    }

    /// All data flow between streams, implied or not.
    pub(super) fn candidates(&self) -> BTreeSet<Edge> {
        self.flow.iter().map(|flow| flow.edge).collect()
    }

    /// By definition and without a formula: do these waits give the order and the certainty asked for, and does each of
    /// them have to be there?
    pub(super) fn judge(&self, waits: &BTreeSet<Edge>) -> Result<(), Fault> {
        if let Some(&wait) = waits.difference(&self.candidates()).next() {
            return Err(Fault::LostConcurrency(wait));
        }
        let wanted = self.order(|_| true);
        let certain = self.certain(&wanted, |_| true);
        let suffices = |waits: &BTreeSet<Edge>| {
            let order = self.order(|flow| waits.contains(&flow.edge));
            order == wanted && self.certain(&order, |flow| waits.contains(&flow.edge)) == certain
        };
        if !suffices(waits) {
            return Err(Fault::Hazard);
        }
        for wait in waits {
            let mut fewer = waits.clone();
            fewer.remove(wait);
            if suffices(&fewer) {
                return Err(Fault::Superfluous(*wait));
            }
        }
        Ok(())
    }
}

/// What is wrong with a set of waits.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Something that the source orders is not ordered.
    Hazard,
    /// The wait orders what the source does not.
    LostConcurrency(Edge),
    /// The others do without this wait.
    Superfluous(Edge),
}

/// Two places conflict when one is a prefix of the other and one of the two is written; the names of one pattern are apart.
fn conflict(a: &Access, b: &Access) -> bool {
    let apart = a.part.zip(b.part).is_some_and(|(a, b)| a.group == b.group && a.name != b.name);
    let common = a.path.len().min(b.path.len());
    let nested = a.var == b.var && a.path[..common] == b.path[..common];
    nested && !apart && (a.mode == Mode::Write || b.mode == Mode::Write)
}

/// A place gets another value: what was done to the old one, or to a field of it, does not matter any more.
fn replace(done: &mut Vec<Done>, place: &Access) {
    if place.whole {
        done.retain(|d| d.access.path.len() < place.path.len() || d.access.path[..place.path.len()] != place.path[..]);
    }
}

/// An access to what was at `from` and is at `to` now. What was done to a field of `from` was done to that field of `to`;
/// what was done to something around `from`, to all of `to`.
fn seen_through(access: &Access, from: &Access, to: &Access) -> Option<Access> {
    let common = access.path.len().min(from.path.len());
    if access.path[..common] != from.path[..common] {
        return None;
    }
    let mut path = to.path.clone();
    path.extend_from_slice(&access.path[common..]);
    Some(Access { var: to.var, path, mode: access.mode, whole: access.whole && to.whole, part: None })
}
