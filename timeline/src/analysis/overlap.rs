//! The published overlap check, and what it misses.
//!
//! The check: the side window runs from the first side start to the last side end; the main window is the dominator, one
//! operator on the main stream; `overlap` is what both have in common and `overlap_pct = overlap / min(side, main)`. From
//! [`TRUE_OVERLAP`] on the verdict is true, up to [`SERIAL`] serial, partial between. With several dominators the main
//! window is their union.
//!
//! What that misses has its own fields. `min()` saturates when the side outlasts the dominator: `hidden_share`, `cover`
//! and `exposed_tail_ns` do not. Windows have holes: `busy_overlap_ns` is the time in which both really ran, and if that
//! is at most [`SERIAL`] of the shorter one, the verdict is serial whatever the windows say. An operator can hold its
//! stream while it waits for cores: `core_busy_share`, `held_ns`, and the verdict *starved*.
//!
//! A run repeats itself, so there is one check a layer. The figures at the top are those of the layer in the middle among
//! the layers with the overall verdict; [`Layers`] has all. The overall verdict is *starved* if at least
//! [`STARVED_LAYERS`] of the layers are, and otherwise that of the layer with the median `overlap_pct`.

use hashbrown::HashMap;
use serde::Serialize;

use super::Analysis;
use super::barriers::Barrier;
use super::causes::Finding;
use super::error::{Error, Result};
use super::intervals::{Spans, Window};
use super::layers::{Layer, Layers, sum_up};
use super::op::Op;
use super::record::{Owed, Step, owed, record, steps};
use super::starved::{Near, Starved, core_ns};
use super::streams::Role;
use super::summary::share;
use super::thresholds::{SERIAL, STARVED_LAYERS, STARVED_SHARE, TRUE_OVERLAP};
use crate::capture::Symbol;

/// Did they run at the same time?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    True,
    /// In part.
    Partial,
    /// No: one after the other, on two streams.
    Serial,
    /// In time yes, but the side waited for cores most of it.
    Starved,
    /// The two are one logical stream under two ids: nothing was meant to overlap.
    SameStream,
    /// There is no side stream: the split did not happen.
    #[default]
    NoSide,
}

impl Verdict {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::True => "true",
            Verdict::Partial => "partial",
            Verdict::Serial => "serial",
            Verdict::Starved => "starved",
            Verdict::SameStream => "same_stream",
            Verdict::NoSide => "no_side",
        }
    }

    /// What it means, in a sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Verdict::True => "the side ran beside the dominator",
            Verdict::Partial => "a part of the side ran beside the dominator",
            Verdict::Serial => "the side ran before or after the dominator: false parallel",
            Verdict::Starved => "overlapped in time, starved of cores: the side held its stream and waited",
            Verdict::SameStream => "one logical stream under two ids: there is nothing to overlap",
            Verdict::NoSide => "no side stream computes: the split did not happen",
        }
    }

    fn published(overlap_pct: f64) -> Verdict {
        if overlap_pct >= TRUE_OVERLAP {
            Verdict::True
        } else if overlap_pct <= SERIAL {
            Verdict::Serial
        } else {
            Verdict::Partial
        }
    }
}

/// The figures of one check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// First side start to last side end.
    pub side_window_ns: Window,
    /// The dominator; with several, from the first start to the last end.
    pub main_window_ns: Window,
    /// What the side window and the dominators have in common, in ns.
    pub overlap_ns: u64,
    /// `overlap_ns` over the shorter of side window and dominators, 0 to 1; larger is better.
    pub overlap_pct: f64,
    /// The published verdict: true, partial or serial.
    pub published_verdict: Verdict,
    /// Length of the dominators, in ns: with one that of the main window.
    pub main_ns: u64,
    /// `overlap_ns` over the side window, 0 to 1: how much of the side is hidden; larger is better.
    pub hidden_share: f64,
    /// `overlap_ns` over the dominators, 0 to 1: how much of the dominator's cover is used.
    pub cover: f64,
    /// How long the side ran on after the dominator, in ns; smaller is better.
    pub exposed_tail_ns: u64,
    /// How long the side ran before the dominator began, in ns; smaller is better unless other work hides it.
    pub exposed_head_ns: u64,
    /// How long operators of the side really ran, in ns: the side window without its holes.
    pub side_busy_ns: u64,
    /// How long a side operator and a dominator really ran at once, in ns; larger is better.
    pub busy_overlap_ns: u64,
    /// How long a side operator and anything on the main stream really ran at once, in ns.
    pub main_busy_overlap_ns: u64,
    /// Core time of the side over its window, 0 to 1: how much of the time it computed; larger is better. `None` if core
    /// times are not measured.
    pub core_busy_share: Option<f64>,
    /// How long side operators were held up for cores, in ns; smaller is better.
    pub held_ns: u64,
}

impl Figures {
    /// `busy_overlap_ns` over the shorter of what the side and the dominators were busy, 0 to 1.
    pub fn busy_pct(&self) -> f64 {
        share(self.busy_overlap_ns, self.side_busy_ns.min(self.main_ns))
    }

    /// The published verdict with what it misses: *serial* if the dominator stands in a hole of the side window, so that
    /// they never ran at once; *starved* if the side overlapped and was held up for cores at least [`STARVED_SHARE`] of
    /// the time it was busy.
    pub fn verdict(&self) -> Verdict {
        if Verdict::published(self.busy_pct()) == Verdict::Serial {
            Verdict::Serial
        } else if self.published_verdict != Verdict::Serial && share(self.held_ns, self.side_busy_ns) >= STARVED_SHARE {
            Verdict::Starved
        } else {
            self.published_verdict
        }
    }
}

/// Did the side stream overlap the main one, and if not, why?
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// The figures of the layer in the middle; all 0 if there is no side.
    #[serde(flatten)]
    pub figures: Figures,
    /// The published verdict with what it misses added.
    pub verdict: Verdict,
    /// All durations over the wall, as recorded.
    pub sum_over_wall: f64,
    /// The same without duplicate collective rows.
    pub cleaned_sum_over_wall: f64,
    /// The same without AI_CPU shells, waits and impossible durations as well.
    pub work_sum_over_wall: f64,
    /// Ids of the side stream.
    pub side: Vec<u32>,
    /// Ids of the main stream.
    pub main: Vec<u32>,
    /// Names or types of the dominators.
    pub dominators: Vec<String>,
    /// Whether side, main and dominators were all given rather than guessed.
    pub given: bool,
    /// The dominators of the layer in the middle.
    pub dominator_ops: Vec<Op>,
    /// When the check is owed.
    pub owed: Vec<Owed>,
    /// The five steps.
    pub steps: Vec<Step>,
    /// The one-line record for a plan.
    pub record: String,
    /// One check a layer.
    pub layers: Layers,
    /// Side operators that waited for cores, the longest first.
    pub starved: Vec<Starved>,
    /// Operators and waits that kept the two apart; those that are shown before those that are inferred.
    pub barriers: Vec<Barrier>,
    /// What else explains the verdict, the strongest first.
    pub causes: Vec<Finding>,
}

impl Overlap {
    /// The number that a gate compares: `overlap_pct`, the smaller busy share if the verdict is serial, and 0 if nothing
    /// could overlap or the side was starved.
    pub fn gate(&self) -> f64 {
        match self.verdict {
            Verdict::Starved | Verdict::NoSide | Verdict::SameStream => 0.0,
            Verdict::Serial => self.figures.overlap_pct.min(self.figures.busy_pct()),
            Verdict::True | Verdict::Partial => self.figures.overlap_pct,
        }
    }
}

/// What is compared: rows by start.
pub(super) struct Sides {
    pub(super) side_ids: Vec<u32>,
    pub(super) main_ids: Vec<u32>,
    pub(super) side: Vec<u32>,
    pub(super) main: Vec<u32>,
}

impl Analysis<'_> {
    /// Checks the side stream against the dominators on the main stream.
    ///
    /// # Errors
    /// [`Error::NoStreams`] without stream numbers, [`Error::NoDominator`] if a dominator was given and does not run on
    /// the main stream. A missing side stream is a verdict, not an error.
    pub fn overlap(&self) -> Result<Overlap> {
        self.checked.get_or_init(|| self.check()).clone()
    }

    fn check(&self) -> Result<Overlap> {
        let sides = self.sides()?;
        let (names, dominators) = self.dominators(&sides)?;
        let shortest = self.shortest();
        let (parts, period) = self.parts(&sides.side, &dominators);
        let mut near = Near::default();
        let main_busy = Spans::union(sides.main.iter().map(|&index| self.window(index)));
        let mut starved = Vec::new();
        let layers: Vec<Layer> = parts
            .iter()
            .enumerate()
            .map(|(at, part)| {
                let waited: Vec<Starved> =
                    part.side.iter().filter_map(|&index| self.is_starved(index, shortest, &mut near)).collect();
                let figures = self.figures(&part.side, &part.dominators, &main_busy, &waited);
                starved.extend(waited);
                Layer { number: at + 1, verdict: figures.verdict(), side_rows: part.side.len(), figures }
            })
            .collect();
        starved.sort_by(|a, b| b.held_ns.cmp(&a.held_ns).then(a.op.start_ns.cmp(&b.op.start_ns)));

        let mut used: Vec<u32> = parts.iter().map(|part| part.dominators[0]).collect();
        used.dedup();
        let layers = sum_up(layers, dominators.len() - used.len(), period);
        let (verdict, middle) = self.overall(&layers, &sides);
        let figures = middle.map(|at| layers.layers[at].figures.clone()).unwrap_or_default();
        let barriers = self.barriers_of(&sides, &parts, &layers, verdict);
        let causes = self.causes(&sides, &parts, &layers, verdict, &barriers);
        let (sum, cleaned, work) = self.sums();
        let over_wall = |sum: u64| share(sum, self.wall().len_ns());
        let mut overlap = Overlap {
            verdict,
            sum_over_wall: over_wall(sum),
            cleaned_sum_over_wall: over_wall(cleaned),
            work_sum_over_wall: over_wall(work),
            given: [&self.options.side, &self.options.main].iter().all(|ids| !ids.is_empty())
                && !self.options.dominators.is_empty(),
            dominator_ops: middle
                .map(|at| parts[at].dominators.iter().map(|&i| self.op(i)).collect())
                .unwrap_or_default(),
            dominators: names,
            side: sides.side_ids,
            main: sides.main_ids,
            owed: owed(over_wall(cleaned)),
            steps: Vec::new(),
            record: String::new(),
            figures,
            layers,
            starved,
            barriers,
            causes,
        };
        overlap.steps = steps(&overlap);
        overlap.record = record(&overlap);
        Ok(overlap)
    }

    fn sides(&self) -> Result<Sides> {
        let streams = self.streams()?;
        let ids = |asked: &[u32], role: Role| -> Vec<u32> {
            if asked.is_empty() {
                let ids = streams.streams.iter().find(|stream| stream.role == role).map(|stream| stream.ids.clone());
                ids.unwrap_or_default()
            } else {
                asked.to_vec()
            }
        };
        let main_ids = ids(&self.options.main, Role::Main);
        let mut side_ids = ids(&self.options.side, Role::Side);
        side_ids.retain(|id| !main_ids.contains(id));
        if !self.options.side.is_empty() && side_ids.is_empty() {
            return Err(Error::SameStream(self.options.side[0]));
        }
        let rows = |ids: &[u32]| -> Vec<u32> {
            let mut rows = Vec::new();
            for (stream, work) in streams.streams.iter().zip(&self.work) {
                if stream.ids.iter().all(|id| ids.contains(id)) {
                    rows.extend_from_slice(work);
                } else if stream.ids.iter().any(|id| ids.contains(id)) {
                    let on = |index: &&u32| self.row(**index).stream.is_some_and(|id| ids.contains(&id));
                    rows.extend(work.iter().filter(on));
                }
            }
            rows.sort_by_key(|&index| self.window(index));
            rows
        };
        Ok(Sides { side: rows(&side_ids), main: rows(&main_ids), side_ids, main_ids })
    }

    /// The dominators, each with the others that belong to the same layer, by start; and what they are called.
    fn dominators(&self, sides: &Sides) -> Result<(Vec<String>, Vec<Vec<u32>>)> {
        if self.options.dominators.is_empty() {
            let Some((op_type, rows)) = self.longest(sides) else { return Ok((Vec::new(), Vec::new())) };
            return Ok((vec![self.text(op_type).to_owned()], rows.into_iter().map(|index| vec![index]).collect()));
        }
        let mut found: Vec<(usize, u32)> = Vec::new();
        for (number, wanted) in self.options.dominators.iter().enumerate() {
            let before = found.len();
            let row = |index: u32| self.row(index);
            let is = |index: u32| self.text(self.op_type(row(index))) == wanted || self.text(row(index).name) == wanted;
            found.extend(sides.main.iter().copied().filter(|&index| is(index)).map(|index| (number, index)));
            if found.len() == before {
                return Err(Error::NoDominator { name: wanted.clone(), longest: self.longest_types(&sides.main) });
            }
        }
        found.sort_by_key(|&(number, index)| (self.row(index).start_ns, number));
        let mut sets: Vec<(Vec<usize>, Vec<u32>)> = Vec::new();
        for (number, index) in found {
            // A name that comes again begins the next layer.
            match sets.last_mut() {
                Some((names, rows)) if !names.contains(&number) => {
                    names.push(number);
                    rows.push(index);
                }
                _ => sets.push((vec![number], vec![index])),
            }
        }
        Ok((self.options.dominators.clone(), sets.into_iter().map(|(_, rows)| rows).collect()))
    }

    /// The main operators whose type and shapes have the largest sum of durations while the side is about: from the
    /// length of its window before it to the same time behind it, so that a dominator that comes too late is in.
    fn longest(&self, sides: &Sides) -> Option<(Symbol, Vec<u32>)> {
        let about = self.hull(&sides.side);
        let length = about.len_ns();
        let about = Window::new(about.start_ns.saturating_sub(length), about.end_ns.saturating_add(length));
        let near: Vec<u32> =
            sides.main.iter().copied().filter(|&index| self.window(index).overlap_ns(&about) > 0).collect();
        let mut totals: HashMap<(Symbol, Symbol), (u64, Vec<u32>)> = HashMap::new();
        for &index in if near.is_empty() { &sides.main } else { &near } {
            let row = self.row(index);
            let total = totals.entry((self.op_type(row), row.input_shapes)).or_default();
            total.0 += row.duration_ns;
            total.1.push(index);
        }
        let text = |key: &(Symbol, Symbol)| (self.text(key.0), self.text(key.1));
        totals
            .into_iter()
            .max_by(|(a, x), (b, y)| x.0.cmp(&y.0).then_with(|| text(b).cmp(&text(a))))
            .map(|((op_type, _), (_, rows))| (op_type, rows))
    }

    fn longest_types(&self, rows: &[u32]) -> Vec<String> {
        let mut totals: HashMap<Symbol, u64> = HashMap::new();
        rows.iter().for_each(|&i| *totals.entry(self.op_type(self.row(i))).or_default() += self.row(i).duration_ns);
        let mut totals: Vec<(u64, &str)> = totals.into_iter().map(|(t, ns)| (ns, self.text(t))).collect();
        totals.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        totals.into_iter().take(5).map(|(_, text)| text.to_owned()).collect()
    }

    fn figures(&self, side: &[u32], dominators: &[u32], main_busy: &Spans, starved: &[Starved]) -> Figures {
        let (side_window, main_window) = (self.hull(side), self.hull(dominators));
        let spans = |rows: &[u32]| Spans::union(rows.iter().map(|&index| self.window(index)));
        let (side_busy, main) = (spans(side), spans(dominators));
        let overlap_ns = main.within_ns(side_window);
        let overlap_pct = share(overlap_ns, side_window.len_ns().min(main.total_ns()));
        let cores: Vec<u64> = side.iter().filter_map(|&index| core_ns(self.row(index))).collect();
        Figures {
            side_window_ns: side_window,
            main_window_ns: main_window,
            overlap_ns,
            overlap_pct,
            published_verdict: Verdict::published(overlap_pct),
            main_ns: main.total_ns(),
            hidden_share: share(overlap_ns, side_window.len_ns()),
            cover: share(overlap_ns, main.total_ns()),
            exposed_tail_ns: side_window.end_ns.saturating_sub(main_window.end_ns.max(side_window.start_ns)),
            exposed_head_ns: main_window.start_ns.min(side_window.end_ns).saturating_sub(side_window.start_ns),
            side_busy_ns: side_busy.total_ns(),
            busy_overlap_ns: side_busy.overlap_ns(&main),
            main_busy_overlap_ns: side_busy.windows().iter().map(|&window| main_busy.within_ns(window)).sum(),
            core_busy_share: (!cores.is_empty()).then(|| share(cores.iter().sum(), side_window.len_ns()).min(1.0)),
            held_ns: starved.iter().map(|starved| starved.held_ns).sum(),
        }
    }

    fn overall(&self, layers: &Layers, sides: &Sides) -> (Verdict, Option<usize>) {
        let Some(median) = layers.median else { return (Verdict::NoSide, None) };
        let one =
            |stream: &super::Stream| sides.side_ids.iter().chain(&sides.main_ids).all(|id| stream.ids.contains(id));
        if self.streams.streams.iter().any(one) {
            return (Verdict::SameStream, Some(median));
        }
        let verdict = if layers.starved as f64 >= STARVED_LAYERS * layers.count as f64 {
            Verdict::Starved
        } else {
            layers.layers[median].verdict
        };
        let mut alike: Vec<usize> = (0..layers.count).filter(|&at| layers.layers[at].verdict == verdict).collect();
        alike.sort_by(|&a, &b| {
            let (a, b) = (&layers.layers[a], &layers.layers[b]);
            a.figures.overlap_pct.total_cmp(&b.figures.overlap_pct).then(a.number.cmp(&b.number))
        });
        (verdict, alike.get(alike.len().saturating_sub(1) / 2).copied().or(Some(median)))
    }
}
