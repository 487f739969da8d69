//! Why the streams did not overlap, or why overlap did not help, apart from waits.
//!
//! Each cause has a test on the times alone, so that it can be held against the timeline:
//!
//! | cause | test |
//! |---|---|
//! | split never happened | no side stream computes |
//! | same stream | side and main are one logical stream |
//! | profiler serialises | counters were read, and no two computing streams ever overlap |
//! | misaligned | partial: the side begins before the dominator, or ends after it |
//! | full chip | the second began when the first ended, and their blocks together exceed the cores |
//! | late join | the side began when the dominator ended, and a wait on the side stream was not seen |
//! | host-bound launches | nothing ran for more than [`FREE_SHARE`] of the wall |
//! | launch order | the second began when the first ended, the chip had room, and no wait is known |
//! | starved of cores, contention | durations against those of the same operators elsewhere |
//! | many side streams | one side stream in many ids with few operators each |

use hashbrown::HashMap;
use serde::Serialize;

use super::barriers::{Barrier, Evidence};
use super::intervals::Spans;
use super::layers::{Layers, Part};
use super::op::micros;
use super::overlap::{Sides, Verdict};
use super::starved::{core_ns, median};
use super::streams::Role;
use super::summary::share;
use super::thresholds::{
    CONTENTION_CORE_GROWTH, CONTENTION_TIMES, FEW_OPERATORS, FOLLOWS_NS, FREE_SHARE, MANY_IDS, REPEATS,
};
use super::{Analysis, Class};
use crate::capture::Symbol;
use crate::cores::blocks;

/// What stood in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// No operator was moved to a side stream.
    SplitNeverHappened,
    /// Both are one logical stream.
    SameStream,
    /// The side waited for cores.
    StarvedOfCores,
    /// Only a part of the side lies beside the dominator.
    Misaligned,
    /// The chip was full: the second operator could not start.
    FullChip,
    /// The side starts only when the dominator is done: its wait, or its launch, stands too late.
    LateJoin,
    /// The host launches too slowly.
    HostBound,
    /// Launched one after the other without a wait: streams share a queue, or something synchronised them.
    ImplicitSync,
    /// The profiler runs one operator at a time while it reads counters.
    ProfilerSerialises,
    /// Both ran, and each made the other longer.
    Contention,
    /// One side stream a layer.
    ManySideStreams,
}

/// A cause with its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What stood in the way.
    pub cause: Cause,
    /// What was seen, with figures.
    pub text: String,
    /// What to do about it.
    pub advice: String,
    /// Layers it holds for; 0 if it is about the whole run.
    pub layers: usize,
}

/// How the side and its dominator followed each other where they did not overlap.
#[derive(Default)]
struct Followed {
    /// The second began within [`FOLLOWS_NS`] of the end of the first, and their blocks exceed the cores.
    full: usize,
    /// ... and their blocks fit.
    fit: usize,
    /// The side came second and began at once.
    side_second: usize,
    /// The second began later than that, and nothing ran on either stream in between.
    idle: usize,
    /// Blocks and cores of one that was full.
    example: Option<String>,
}

impl Analysis<'_> {
    pub(super) fn causes(
        &self,
        sides: &Sides,
        parts: &[Part],
        layers: &Layers,
        verdict: Verdict,
        barriers: &[Barrier],
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut found = |cause: Cause, layers: usize, text: String, advice: &str| {
            findings.push(Finding { cause, text, advice: advice.to_owned(), layers });
        };
        match verdict {
            Verdict::NoSide => {
                let advice = if sides.side_ids.is_empty() { SPLIT } else { OTHER };
                found(Cause::SplitNeverHappened, 0, self.no_side(sides), advice);
            }
            Verdict::SameStream => found(Cause::SameStream, 0, self.same_stream(sides), GROUPED),
            Verdict::Starved => found(Cause::StarvedOfCores, layers.starved, self.starvation(layers), LIMIT),
            Verdict::True | Verdict::Partial | Verdict::Serial => {}
        }
        if matches!(verdict, Verdict::Serial | Verdict::Partial) {
            let followed = self.followed(parts, layers);
            if let Some(example) = &followed.example {
                let text = format!(
                    "in {} layers the second began when the first gave its cores back: {example}",
                    followed.full
                );
                found(Cause::FullChip, followed.full, text, LIMIT);
            }
            let shown = barriers.iter().any(|barrier| barrier.evidence == Evidence::Shown);
            if followed.side_second > 0 {
                let text = format!(
                    "in {} layers the side began within {} us of the end of the dominator, not before",
                    followed.side_second,
                    micros(FOLLOWS_NS)
                );
                found(Cause::LateJoin, followed.side_second, text, JOIN);
            } else if followed.fit > 0 && barriers.is_empty() && !shown {
                let text = format!(
                    "in {} layers one began when the other ended although the chip had room, and no wait is in the profile",
                    followed.fit
                );
                found(Cause::ImplicitSync, followed.fit, text, QUEUE);
            }
            if layers.partial > 0 {
                found(Cause::Misaligned, layers.partial, misaligned(layers), ALIGN);
            }
            if let Some(text) = self.host_bound(followed.idle) {
                found(Cause::HostBound, followed.idle, text, GRAPH);
            }
            if let Some(text) = self.serialised_by_profiler() {
                found(Cause::ProfilerSerialises, 0, text, RECAPTURE);
            }
        }
        if let Some(text) = self.many_ids(sides) {
            found(Cause::ManySideStreams, 0, text, "put the side of all layers on one stream");
        }
        if matches!(verdict, Verdict::True | Verdict::Partial)
            && let Some(text) = self.contention(sides)
        {
            found(
                Cause::Contention,
                0,
                text,
                "limit the cores of one, or overlap with an operator that moves less data",
            );
        }
        findings
    }

    fn no_side(&self, sides: &Sides) -> String {
        let minor: Vec<String> = (self.streams.streams.iter())
            .filter(|stream| stream.role == Role::Minor)
            .map(|stream| format!("{} ({} operators, {} us)", join(&stream.ids), stream.rows, micros(stream.busy_ns)))
            .collect();
        let rest = if minor.is_empty() {
            String::new()
        } else {
            format!("; too small to be a side: stream {}", minor.join(", "))
        };
        if !sides.side_ids.is_empty() {
            let side = join(&sides.side_ids);
            return format!(
                "nothing on stream {side} is work: it has AI_CPU rows that bracket collectives, waits or copies"
            );
        }
        format!("all computing is on stream {} ({} operators){rest}", join(&sides.main_ids), sides.main.len())
    }

    fn same_stream(&self, sides: &Sides) -> String {
        let (side, main) = (join(&sides.side_ids), join(&sides.main_ids));
        format!("stream {side} goes on with what stream {main} did: the ids were renumbered, nothing was split")
    }

    fn starvation(&self, layers: &Layers) -> String {
        let held = median(layers.layers.iter().map(|layer| layer.figures.held_ns));
        let busy = layers.layers.iter().filter_map(|layer| layer.figures.core_busy_share);
        let busy = median(busy.map(|share| (share * 1000.0).round() as u64));
        format!(
            "in {} of {} layers the side was held up, {} us in the middle; cores worked on it for {}.{} % of its window",
            layers.starved,
            layers.count,
            micros(held),
            busy / 10,
            busy % 10
        )
    }

    fn followed(&self, parts: &[Part], layers: &Layers) -> Followed {
        let mut followed = Followed::default();
        for (part, layer) in parts.iter().zip(&layers.layers) {
            if layer.figures.published_verdict != Verdict::Serial {
                continue;
            }
            let (side, main) = (layer.figures.side_window_ns, layer.figures.main_window_ns);
            let side_second = main.start_ns <= side.start_ns;
            let (end, start) = if side_second { (main.end_ns, side.start_ns) } else { (side.end_ns, main.start_ns) };
            if start > end + FOLLOWS_NS {
                followed.idle += 1;
                continue;
            }
            followed.side_second += usize::from(side_second);
            match self.full(part) {
                Some(example) => {
                    followed.full += 1;
                    followed.example.get_or_insert(example);
                }
                None => followed.fit += 1,
            }
        }
        followed
    }

    /// Blocks against cores, if those of the largest side operator and of the dominator exceed the chip.
    fn full(&self, part: &Part) -> Option<String> {
        let cores = self.cores?;
        let most = |rows: &[u32]| {
            let blocks: Vec<(u32, u32)> = rows.iter().map(|&index| blocks(self.row(index))).collect();
            (blocks.iter().map(|b| b.0).max().unwrap_or(0), blocks.iter().map(|b| b.1).max().unwrap_or(0))
        };
        let (side, main) = (most(&part.side), most(&part.dominators));
        let over = |side: u32, main: u32, cores: u32| side > 0 && main > 0 && cores > 0 && side + main > cores;
        if over(side.0, main.0, cores.cube) {
            Some(format!("{} + {} blocks on {} cube cores", side.0, main.0, cores.cube))
        } else if over(side.1, main.1, cores.vector) {
            Some(format!("{} + {} blocks on {} vector cores", side.1, main.1, cores.vector))
        } else {
            None
        }
    }

    fn serialised_by_profiler(&self) -> Option<String> {
        let counters = self.work.iter().flatten().any(|&index| core_ns(self.row(index)).is_some());
        let computing: Vec<Spans> = (self.work.iter().zip(&self.streams.streams))
            .filter(|(_, stream)| matches!(stream.role, Role::Main | Role::Side | Role::Minor))
            .map(|(work, _)| Spans::union(work.iter().map(|&index| self.window(index))))
            .collect();
        let together: u64 = computing.iter().map(Spans::total_ns).sum();
        let union = Spans::union(computing.iter().flat_map(|spans| spans.windows().iter().copied()));
        (counters && computing.len() > 1 && together == union.total_ns()).then(|| {
            "counters were read, and no two computing streams ran at the same moment in the whole capture: overlap may be \
             suppressed by the profiler"
                .to_owned()
        })
    }

    fn host_bound(&self, idle_layers: usize) -> Option<String> {
        let wall = self.wall();
        let busy =
            Spans::union(self.items.iter().filter(|item| item.class != Class::Untimed).map(|i| self.window(i.row)));
        let mine = self.capture.syncs.iter().filter(|sync| sync.device_id == self.device);
        let waits = Spans::union(mine.map(|sync| self.relative(sync)));
        let taken = Spans::union(busy.windows().iter().chain(waits.windows()).copied());
        let free_ns = wall.len_ns().saturating_sub(taken.within_ns(wall));
        let free = share(free_ns, wall.len_ns());
        (free > FREE_SHARE).then(|| {
            let late = match idle_layers {
                0 => String::new(),
                layers => format!("; in {layers} layers the second came long after the first"),
            };
            format!(
                "nothing ran and no stream waited for {} us, {:.1} % of the wall: the host launches too slowly{late}",
                micros(free_ns),
                free * 100.0
            )
        })
    }

    fn many_ids(&self, sides: &Sides) -> Option<String> {
        let each = sides.side.len() / sides.side_ids.len().max(1);
        (sides.side_ids.len() >= MANY_IDS && each <= FEW_OPERATORS)
            .then(|| format!("{} side streams with about {each} operators each", sides.side_ids.len()))
    }

    /// Operators that are longer beside the other stream, core time included.
    fn contention(&self, sides: &Sides) -> Option<String> {
        let spans = |rows: &[u32]| Spans::union(rows.iter().map(|&index| self.window(index)));
        let (side, main) = (spans(&sides.side), spans(&sides.main));
        let (side_lasted, side_alone) = self.inflation(&sides.side, &main)?;
        let (main_lasted, main_alone) = self.inflation(&sides.main, &side)?;
        let (side_times, main_times) = (share(side_lasted, side_alone), share(main_lasted, main_alone));
        let extra_ns = (side_lasted + main_lasted).saturating_sub(side_alone + main_alone);
        let overlap_ns = side.overlap_ns(&main);
        let saved = if overlap_ns > extra_ns {
            format!("of {} us side by side {} us are gained", micros(overlap_ns), micros(overlap_ns - extra_ns))
        } else {
            format!("{} us side by side cost {} us more: no gain", micros(overlap_ns), micros(extra_ns))
        };
        (side_times.min(main_times) >= CONTENTION_TIMES).then(|| {
            format!(
                "beside each other the side's operators last {side_times:.2} times, the main stream's {main_times:.2} times \
                 as long as the same ones alone, and not for want of cores: they compete for memory; {saved}"
            )
        })
    }

    /// How long operators last that run beside `other` for at least half of their time, and how long the same ones last
    /// apart from it, in ns, by medians; only those whose core time grew as well, or is not measured.
    fn inflation(&self, rows: &[u32], other: &Spans) -> Option<(u64, u64)> {
        let mut groups: HashMap<(Symbol, Symbol), [Vec<u32>; 2]> = HashMap::new();
        let mut within = other.within_each();
        for &index in rows {
            let window = self.window(index);
            let beside = within(window) * 2 >= window.len_ns();
            let row = self.row(index);
            if self.text(row.input_shapes).is_empty() {
                continue;
            }
            groups.entry((self.op_type(row), row.input_shapes)).or_default()[usize::from(beside)].push(index);
        }
        let (mut lasted, mut expected) = (0u64, 0u64);
        for [apart, beside] in groups.into_values() {
            if apart.len().min(beside.len()) < REPEATS {
                continue;
            }
            let duration = |rows: &[u32]| median(rows.iter().map(|&index| self.row(index).duration_ns));
            let core = |rows: &[u32]| median(rows.iter().filter_map(|&index| core_ns(self.row(index))));
            let measured = core(&apart) > 0;
            if measured && core(&beside) as f64 <= CONTENTION_CORE_GROWTH * core(&apart) as f64 {
                continue;
            }
            lasted += duration(&beside) * beside.len() as u64;
            expected += duration(&apart) * beside.len() as u64;
        }
        (expected > 0).then_some((lasted, expected))
    }
}

fn misaligned(layers: &Layers) -> String {
    let partial = || layers.layers.iter().filter(|layer| layer.verdict == Verdict::Partial);
    format!(
        "in {} layers only a part of the side lies beside the dominator: it begins {} us before it and ends {} us after it, \
         in the middle",
        layers.partial,
        micros(median(partial().map(|layer| layer.figures.exposed_head_ns))),
        micros(median(partial().map(|layer| layer.figures.exposed_tail_ns))),
    )
}

const ALIGN: &str = "move the start of the side to that of the dominator, or hide it behind several operators";
const SPLIT: &str = "move operators to a second stream, and see that the option that does so finds any to move";
const OTHER: &str = "choose a stream that has operators as side";
const GROUPED: &str = "check a side stream against this one as a whole";
const LIMIT: &str = "limit the cores of the dominator or of the side so that both fit, or pair the side with an operator \
                     that leaves cores free";
const JOIN: &str = "record the event that the side waits for before the dominator, or launch the side earlier";
const QUEUE: &str = "look for a synchronising call (copy, allocation, print) between the two, and for a limit of the number \
                     of hardware queues";
const GRAPH: &str = "launch ahead: capture a graph, fuse small operators, or make the batch larger";
const RECAPTURE: &str = "capture again without counters (aic metrics) before judging the overlap";

fn join(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
