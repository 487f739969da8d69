//! What a launch costs: three task graphs on our device, and on rayon with one counter of open dependencies a task.
//!
//! All use two workers. Ours is given the tasks in order, with the fewest events and waits, as a `#[multicore]` function
//! issues them: once while the clock runs (`multicore`), once before it starts, behind a closed gate (`queued`). rayon
//! knows the whole graph before the clock starts, so `queued` is the one to hold beside it.
//!
//! - W1: 100,000 empty tasks on four streams, a cross-stream dependency every fourth row: ns a task.
//! - W2: stencils of width 4 and 2. METG50 is wall time x workers / tasks at the kernel length where half of it is useful.
//! - W3: 500 times four tasks of 10 us and a join: what a round takes above 20 us.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use benches::dag::{self, Dag, Plan, spin};
use benches::{Report, median_seconds};
use multicore::prelude::*;

const WORKERS: usize = 2;
const RUNS: usize = 7;
/// Kernel lengths of W2, in us.
const GRAINS: [f64; 10] = [100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.25, 0.1];

/// A system that runs task graphs.
trait Peer {
    const NAME: &'static str;
    /// What it knows of a graph before the clock starts.
    type Graph;
    /// A graph that is ready to run once.
    type Ready<'g>
    where
        Self: 'g;
    fn prepare(&self, dag: Dag) -> Self::Graph;
    /// What is done before the clock starts, each time.
    fn ready<'g>(&'g self, graph: &'g Self::Graph) -> Result<Self::Ready<'g>>;
    fn run(&self, ready: Self::Ready<'_>) -> Result<()>;
    fn seconds(&self, graph: &Self::Graph) -> Result<f64> {
        median_seconds(RUNS, || self.ready(graph), |ready| self.run(ready))
    }
}

/// Our device: one stream a column, events where the plan says.
struct Ours {
    device: Device,
    streams: Vec<Stream>,
}

/// A task's body.
struct Spin(u64);

impl Kernel for Spin {
    fn name(&self) -> &'static str {
        "Spin"
    }
    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }
    fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
        black_box(spin(self.0));
        Ok(())
    }
}

impl Ours {
    fn new() -> Result<Ours> {
        let device = Device::open(&format!("host,workers={WORKERS}"))?;
        let streams = (0..4).map(|_| device.new_stream()).collect::<Result<_>>()?;
        Ok(Ours { device, streams })
    }

    fn enqueue(&self, (dag, plan): &(Dag, Plan)) -> Result<()> {
        let mut events: Vec<Option<Event>> = vec![None; dag.tasks.len()];
        for (i, task) in dag.tasks.iter().enumerate() {
            let stream = &self.streams[task.stream];
            for event in plan.waits[i].iter().filter_map(|&w| events[w].as_ref()) {
                stream.wait(event)?;
            }
            let _on = stream.enter();
            Launch::new(Spin(task.length)).tiles(1).submit()?;
            if plan.records[i] {
                events[i] = Some(stream.record_event()?);
            }
        }
        Ok(())
    }
}

impl Peer for Ours {
    const NAME: &'static str = "multicore";
    type Graph = (Dag, Plan);
    type Ready<'g> = &'g (Dag, Plan);

    fn prepare(&self, dag: Dag) -> (Dag, Plan) {
        let plan = dag.plan();
        (dag, plan)
    }

    fn ready<'g>(&'g self, graph: &'g (Dag, Plan)) -> Result<&'g (Dag, Plan)> {
        Ok(graph)
    }

    fn run(&self, graph: &(Dag, Plan)) -> Result<()> {
        self.enqueue(graph)?;
        self.device.synchronize()
    }
}

/// Our device with everything in its queues before the clock starts.
struct Queued(Ours);

impl Peer for Queued {
    const NAME: &'static str = "queued";
    type Graph = (Dag, Plan);
    type Ready<'g> = Sender<()>;

    fn prepare(&self, dag: Dag) -> (Dag, Plan) {
        self.0.prepare(dag)
    }

    fn ready(&self, graph: &(Dag, Plan)) -> Result<Sender<()>> {
        let (open, gate) = channel();
        let gatekeeper = self.0.device.named_stream("gate")?;
        gatekeeper.launch_host(move || Ok(gate.recv()?))?;
        for stream in &self.0.streams {
            stream.wait_stream(&gatekeeper)?;
        }
        self.0.enqueue(graph)?;
        Ok(open)
    }

    fn run(&self, open: Sender<()>) -> Result<()> {
        open.send(()).expect("the gate waits");
        self.0.device.synchronize()
    }
}

/// rayon: a task is spawned by the last of its predecessors.
struct Rayon(rayon::ThreadPool);

impl Peer for Rayon {
    const NAME: &'static str = "rayon";
    type Graph = (Dag, Vec<Vec<usize>>);
    type Ready<'g> = &'g Self::Graph;

    fn prepare(&self, dag: Dag) -> Self::Graph {
        let successors = dag.successors();
        (dag, successors)
    }

    fn ready<'g>(&'g self, graph: &'g Self::Graph) -> Result<&'g Self::Graph> {
        Ok(graph)
    }

    fn run(&self, (dag, successors): &Self::Graph) -> Result<()> {
        fn go<'a>(i: usize, graph: (&'a Dag, &'a [Vec<usize>], &'a [AtomicUsize]), scope: &rayon::Scope<'a>) {
            let (dag, successors, open) = graph;
            black_box(spin(dag.tasks[i].length));
            for &next in &successors[i] {
                if open[next].fetch_sub(1, Ordering::AcqRel) == 1 {
                    scope.spawn(move |scope| go(next, graph, scope));
                }
            }
        }
        let open: Vec<AtomicUsize> = dag.tasks.iter().map(|task| task.after.len().into()).collect();
        let graph = (dag, successors.as_slice(), open.as_slice());
        self.0.scope(|scope| {
            for (i, _) in dag.tasks.iter().enumerate().filter(|(_, task)| task.after.is_empty()) {
                scope.spawn(move |scope| go(i, graph, scope));
            }
        });
        Ok(())
    }
}

/// Nanoseconds a task of W1.
fn w1<P: Peer>(peer: &P) -> Result<f64> {
    const TASKS: usize = 100_000;
    let graph = peer.prepare(dag::w1(TASKS));
    Ok(peer.seconds(&graph)? / TASKS as f64 * 1e9)
}

/// METG50 of a stencil, in us: between the two kernel lengths around an efficiency of a half, by their logarithms. The
/// sign says where it lies if not between two: less than the shortest, or more than the longest.
fn w2<P: Peer>(peer: &P, width: usize) -> Result<(&'static str, f64)> {
    let mut coarser: Option<(f64, f64)> = None;
    for grain in GRAINS {
        let steps = ((20_000.0 / grain / width as f64) as usize).clamp(100, 4000);
        let graph = peer.prepare(dag::w2(width, steps, grain));
        let seconds = peer.seconds(&graph)?;
        let efficiency = grain * 1e-6 * (width * steps) as f64 / (WORKERS as f64 * seconds);
        match coarser {
            _ if efficiency >= 0.5 => coarser = Some((grain, efficiency)),
            None => return Ok(("> ", 2.0 * grain)),
            Some((above_grain, above)) => {
                let f = (above - 0.5) / (above - efficiency);
                return Ok(("", 2.0 * (above_grain.ln() + f * (grain.ln() - above_grain.ln())).exp()));
            }
        }
    }
    Ok(("< ", 2.0 * GRAINS[GRAINS.len() - 1]))
}

/// Microseconds that a round of W3 takes above the 40 us of work that two workers share.
fn w3<P: Peer>(peer: &P) -> Result<f64> {
    const JOINS: usize = 500;
    let graph = peer.prepare(dag::w3(JOINS));
    Ok(peer.seconds(&graph)? / JOINS as f64 * 1e6 - 40.0 / WORKERS as f64)
}

fn measure<P: Peer>(peer: &P, report: &mut Report) -> Result<[f64; 4]> {
    let name = P::NAME;
    let launch = w1(peer)?;
    report.figure(&format!("{name}_w1_ns"), launch, format_args!("{name:<10} W1          {launch:8.0} ns a task"));
    let mut metg = [0.0; 2];
    for (metg, width) in metg.iter_mut().zip([4, 2]) {
        let (sign, us) = w2(peer, width)?;
        *metg = us;
        let key = format!("{name}_w2_width{width}_metg50_us");
        report.figure(&key, us, format_args!("{name:<10} W2 width {width}  {:>8} us METG50", format!("{sign}{us:.2}")));
    }
    let join = w3(peer)?;
    report.figure(&format!("{name}_w3_us"), join, format_args!("{name:<10} W3          {join:8.2} us overhead a join"));
    Ok([launch, metg[0], metg[1], join])
}

fn main() -> Result<()> {
    let mut report = Report::from_args();
    let ours = measure(&Ours::new()?, &mut report)?;
    let queued = measure(&Queued(Ours::new()?), &mut report)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(WORKERS).build().expect("two threads");
    let rayon = measure(&Rayon(pool), &mut report)?;
    for (i, name) in ["w1", "w2_width4", "w2_width2", "w3"].into_iter().enumerate() {
        for (who, figures) in [("multicore", ours), ("queued", queued)] {
            let ratio = figures[i] / rayon[i];
            let text = format_args!("{name:<10} {who} / rayon {ratio:6.2}");
            report.figure(&format!("{name}_{who}_ratio"), ratio, text);
        }
    }
    report.finish();
    Ok(())
}
