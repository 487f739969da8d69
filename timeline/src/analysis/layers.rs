//! Layers: a run repeats itself, so the check is made once a repetition and told in one line.
//!
//! In: the side's operators and the dominators, each by start. Out: one [`Part`] a layer.
//!
//! 1. The side is cut into blocks. If its sequence of (type, shapes) repeats with a period, a block is one repetition,
//!    and it begins at the place in the period that has the longest median gap before it. Otherwise each operator is a
//!    block of its own.
//! 2. A block belongs to the dominator that it overlaps most, or else to the nearest one.
//! 3. All blocks of one dominator are one layer. If there are several dominators and this one stands in a hole of its
//!    layer, what ran before it and what ran after it are two, or the hole would count as overlap.
//!
//! With a single dominator that makes all of the side one layer: exactly the published check.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Analysis;
use super::intervals::Window;
use super::overlap::{Figures, Verdict};
use crate::capture::Symbol;

/// The check of one layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// Its number, from 1, in order of time.
    pub number: usize,
    /// The published verdict with starvation added.
    pub verdict: Verdict,
    /// Side operators in it.
    pub side_rows: usize,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// All layers of an overlap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Layers {
    /// How many there are.
    pub count: usize,
    /// How many overlap and are not starved.
    pub overlapped: usize,
    /// How many overlap in part.
    pub partial: usize,
    /// How many ran one after the other.
    pub serial: usize,
    /// How many overlap in time and are starved of cores.
    pub starved: usize,
    /// How many reach the published threshold of overlap, starved or not.
    pub published_true: usize,
    /// Median of the share overlapped, the lower of two; larger is better.
    pub median_overlap_pct: f64,
    /// Median of the side window, in ns.
    pub median_side_ns: u64,
    /// Median of the main window, in ns.
    pub median_main_ns: u64,
    /// Median of the exposed tail, in ns.
    pub median_exposed_tail_ns: u64,
    /// The layer with the median share, as an index into `layers`.
    pub median: Option<usize>,
    /// The layer with the smallest share, as an index into `layers`; among equals the longest exposed tail.
    pub worst: Option<usize>,
    /// Layers whose verdict differs from that of most, as indices into `layers`.
    pub outliers: Vec<usize>,
    /// Dominators that no side operator belongs to.
    pub without_side: usize,
    /// Side operators in one repetition; `None` if they do not repeat.
    pub period: Option<usize>,
    /// The layers in order of time.
    pub layers: Vec<Layer>,
}

/// A layer before its figures are known.
pub(super) struct Part {
    pub(super) side: Vec<u32>,
    pub(super) dominators: Vec<u32>,
}

impl Analysis<'_> {
    /// Cuts a side into layers, and says how many operators repeat.
    pub(super) fn parts(&self, side: &[u32], dominators: &[Vec<u32>]) -> (Vec<Part>, Option<usize>) {
        let windows: Vec<Window> = dominators.iter().map(|set| self.hull(set)).collect();
        let (blocks, period) = self.blocks(side);
        let mut layers: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for block in blocks {
            if let Some(at) = belongs(self.hull(block), &windows) {
                layers.entry(at).or_default().extend(block);
            }
        }
        let mut parts = Vec::with_capacity(layers.len());
        for (at, side) in layers {
            let middle = if windows.len() > 1 { self.hole(&side, windows[at]) } else { None };
            let (before, after) = side.split_at(middle.unwrap_or(0));
            for side in [before, after].into_iter().filter(|side| !side.is_empty()) {
                parts.push(Part { side: side.to_vec(), dominators: dominators[at].clone() });
            }
        }
        (parts, period)
    }

    /// Where in a side, which is by start, there is a hole around all of `window`.
    fn hole(&self, side: &[u32], window: Window) -> Option<usize> {
        let overlaps = |&index: &u32| self.window(index).overlap_ns(&window) > 0;
        let middle = side.partition_point(|&index| self.window(index).start_ns < window.start_ns);
        (middle > 0 && middle < side.len() && !side.iter().any(overlaps)).then_some(middle)
    }

    /// The smallest window around some rows; empty for none.
    pub(super) fn hull(&self, rows: &[u32]) -> Window {
        rows.iter().map(|&index| self.window(index)).reduce(|a, b| a.hull(&b)).unwrap_or_default()
    }

    fn blocks<'s>(&self, side: &'s [u32]) -> (Vec<&'s [u32]>, Option<usize>) {
        let keys: Vec<(Symbol, Symbol)> =
            side.iter().map(|&index| self.row(index)).map(|row| (self.op_type(row), row.input_shapes)).collect();
        let Some(period) = period(&keys) else { return (side.chunks(1).collect(), None) };
        let gap = |at: usize| {
            let before = self.window(side[at - 1]).end_ns;
            self.window(side[at]).start_ns.saturating_sub(before)
        };
        let head = (1..=period)
            .max_by_key(|&phase| {
                let gaps = (phase..side.len()).step_by(period).map(gap);
                (super::starved::median(gaps), std::cmp::Reverse(phase))
            })
            .unwrap_or(period);
        let (head, tail) = (keys[head % period], keys[(head + period - 1) % period]);
        let mut blocks = Vec::new();
        let mut from = 0;
        for at in 1..side.len() {
            if keys[at] == head && keys[at - 1] == tail {
                blocks.push(&side[from..at]);
                from = at;
            }
        }
        blocks.push(&side[from..]);
        (blocks, Some(period))
    }
}

/// The smallest period with which at least nine of ten keys repeat, if the sequence holds it twice.
fn period(keys: &[(Symbol, Symbol)]) -> Option<usize> {
    const LONGEST: usize = 256;
    (1..=LONGEST.min(keys.len() / 2)).find(|&period| {
        let pairs = keys.len() - period;
        let mut allowed = pairs / 10;
        keys.iter().zip(&keys[period..]).all(|(a, b)| {
            let same = a == b;
            if !same && allowed == 0 {
                return false;
            }
            allowed -= usize::from(!same);
            true
        })
    })
}

/// The window that `block` overlaps most, or else the nearest; the earlier of equals. Windows are by start.
fn belongs(block: Window, windows: &[Window]) -> Option<usize> {
    let near = windows.partition_point(|window| window.start_ns < block.start_ns);
    let distance = |at: usize| {
        let window = &windows[at];
        window.start_ns.saturating_sub(block.end_ns).max(block.start_ns.saturating_sub(window.end_ns))
    };
    let first = near.saturating_sub(1);
    let last = windows.partition_point(|window| window.start_ns < block.end_ns).min(windows.len().saturating_sub(1));
    (first..=last)
        .filter(|&at| at < windows.len())
        .min_by_key(|&at| (std::cmp::Reverse(block.overlap_ns(&windows[at])), distance(at), at))
}

/// The layers told in one line.
pub(super) fn sum_up(layers: Vec<Layer>, without_side: usize, period: Option<usize>) -> Layers {
    let count = |verdict: Verdict| layers.iter().filter(|layer| layer.verdict == verdict).count();
    let mut order: Vec<usize> = (0..layers.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&layers[a], &layers[b]);
        let tail = |layer: &Layer| layer.figures.exposed_tail_ns;
        (a.figures.overlap_pct.total_cmp(&b.figures.overlap_pct))
            .then(tail(b).cmp(&tail(a)))
            .then(a.number.cmp(&b.number))
    });
    let verdicts = [Verdict::True, Verdict::Partial, Verdict::Serial, Verdict::Starved];
    let most = verdicts.into_iter().max_by_key(|&verdict| count(verdict));
    let of = |figure: fn(&Figures) -> u64| super::starved::median(layers.iter().map(|layer| figure(&layer.figures)));
    let median = order.get(layers.len().saturating_sub(1) / 2).copied();
    Layers {
        count: layers.len(),
        overlapped: count(Verdict::True),
        partial: count(Verdict::Partial),
        serial: count(Verdict::Serial),
        starved: count(Verdict::Starved),
        published_true: layers.iter().filter(|layer| layer.figures.published_verdict == Verdict::True).count(),
        median_overlap_pct: median.map_or(0.0, |at| layers[at].figures.overlap_pct),
        median_side_ns: of(|figures| figures.side_window_ns.len_ns()),
        median_main_ns: of(|figures| figures.main_ns),
        median_exposed_tail_ns: of(|figures| figures.exposed_tail_ns),
        median,
        worst: order.first().copied(),
        outliers: (0..layers.len()).filter(|&at| Some(layers[at].verdict) != most).collect(),
        without_side,
        period,
        layers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(ends: &[(u64, u64)]) -> Vec<Window> {
        ends.iter().map(|&(a, b)| Window::new(a, b)).collect()
    }

    #[test]
    fn a_block_belongs_to_what_it_overlaps_most_and_else_to_the_nearest() {
        let dominators = windows(&[(100, 200), (300, 400), (500, 600)]);
        let at = |a, b| belongs(Window::new(a, b), &dominators);
        assert_eq!(at(0, 50), Some(0));
        assert_eq!(at(190, 390), Some(1));
        assert_eq!(at(110, 310), Some(0));
        assert_eq!(at(210, 220), Some(0));
        assert_eq!(at(280, 290), Some(1));
        assert_eq!(at(900, 950), Some(2));
        assert_eq!(at(0, 1000), Some(0));
        assert_eq!(belongs(Window::new(0, 1), &[]), None);
    }
}
