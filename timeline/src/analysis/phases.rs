//! Computing, communication, and how much of one hid the other, for the whole and by step.
//!
//! *Computing* is the union of all work that computes, on whatever stream; *communication* the union of all collectives
//! and transfers; *overlapped* what is in both; *exposed* communication that nothing computed beside; *free* the rest of
//! the wall. Therefore `computing + exposed + free = wall` and `exposed + overlapped = communication`, to the ns. These
//! are the columns `Computing`, `Communication`, `Overlapped`, `Communication(Not Overlapped)`, `Free` and `Stage` of
//! `step_trace_time.csv`.
//!
//! Copies by a DMA engine are neither: time in which only copies ran is free.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Analysis;
use super::clean::{Class, Item};
use super::intervals::{Spans, Window};
use super::kind::Kind;
use super::summary::share;

/// How the wall divides into computing, exposed communication and nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Phases {
    /// Last end minus first start of all rows that are work, in ns (column `Stage`).
    pub wall_ns: u64,
    /// How long something computed, in ns (`Computing`).
    pub computing_ns: u64,
    /// How long something communicated, in ns (`Communication`).
    pub communication_ns: u64,
    /// How long both happened, in ns (`Overlapped`); larger is better.
    pub overlapped_ns: u64,
    /// How long something communicated and nothing computed, in ns (`Communication(Not Overlapped)`); smaller is better.
    pub exposed_ns: u64,
    /// How long neither happened, in ns (`Free`); smaller is better, above a tenth of the wall the host is too slow.
    pub free_ns: u64,
    /// Part of the free time in which a copy ran, in ns.
    pub exposed_copy_ns: u64,
    /// Collectives and transfers, each counted once.
    pub collectives: usize,
    /// `overlapped_ns` over `communication_ns`, 0 to 1; `None` without communication, not 0.
    pub hidden_share: Option<f64>,
    /// `free_ns` over `wall_ns`, 0 to 1.
    pub free_share: f64,
    /// The same by step, in order; empty if the profile has no steps.
    pub steps: Vec<StepPhases>,
    /// What a reader of the numbers should know, a sentence each.
    pub notes: Vec<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepPhases {
    /// The step.
    pub step: u32,
    /// Operators of work in it.
    pub rows: usize,
    /// Its phases; `steps` and `notes` in it are empty.
    #[serde(flatten)]
    pub phases: Phases,
}

impl Analysis<'_> {
    /// Computing, communication, and how much of one hid the other.
    pub fn phases(&self) -> Phases {
        let work = |item: &&Item| matches!(item.class, Class::Work | Class::Copy);
        let work: Vec<&Item> = self.items.iter().filter(work).collect();
        let mut phases = self.split(&work);
        let mut by_step: BTreeMap<u32, Vec<&Item>> = BTreeMap::new();
        for run in work.chunk_by(|a, b| self.row(a.row).step == self.row(b.row).step) {
            if let Some(step) = self.row(run[0].row).step {
                by_step.entry(step).or_default().extend(run);
            }
        }
        phases.steps = by_step
            .into_iter()
            .map(|(step, items)| StepPhases {
                step,
                rows: items.iter().filter(|i| i.class == Class::Work).count(),
                phases: self.split(&items),
            })
            .collect();
        if phases.collectives == 0 {
            phases.notes.push("no communication in the profile: its share that is hidden is not defined".to_owned());
        } else if phases.overlapped_ns == 0 {
            phases.notes.push(format!(
                "nothing computed during {} collectives: what they cost is exposed in full",
                phases.collectives
            ));
        }
        phases.notes.extend(self.uneven_steps());
        phases
    }

    fn split(&self, items: &[&Item]) -> Phases {
        let spans = |wanted: fn(Kind) -> bool| -> Spans {
            Spans::union(items.iter().filter(|item| wanted(item.kind)).map(|item| self.window(item.row)))
        };
        let operators = items.iter().filter(|item| item.class == Class::Work);
        let wall = operators.map(|item| self.window(item.row)).reduce(|a, b| a.hull(&b)).unwrap_or_default();
        let (computing, communication) = (spans(Kind::computes), spans(|kind| kind == Kind::Communication));
        let busy = spans(|kind| kind != Kind::Copy);
        let copies = spans(|kind| kind == Kind::Copy);
        let overlapped_ns = computing.overlap_ns(&communication);
        let communication_ns = communication.total_ns();
        let free_ns = wall.len_ns() - busy.total_ns();
        Phases {
            wall_ns: wall.len_ns(),
            computing_ns: computing.total_ns(),
            communication_ns,
            overlapped_ns,
            exposed_ns: communication_ns - overlapped_ns,
            free_ns,
            exposed_copy_ns: copies.within_ns(wall) - copies.overlap_ns(&busy),
            collectives: items.iter().filter(|item| item.kind == Kind::Communication).count(),
            hidden_share: (communication_ns > 0).then(|| share(overlapped_ns, communication_ns)),
            free_share: share(free_ns, wall.len_ns()),
            steps: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A sentence if the first steps have fewer operators than the others: the profiler lost what it had not yet begun
    /// to record.
    pub(super) fn uneven_steps(&self) -> Option<String> {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for run in self.items.chunk_by(|a, b| self.row(a.row).step == self.row(b.row).step) {
            if let Some(step) = self.row(run[0].row).step {
                *counts.entry(step).or_default() += run.iter().filter(|item| item.class == Class::Work).count();
            }
        }
        let full = counts.values().copied().max()?;
        let short: Vec<String> = counts
            .iter()
            .take_while(|&(_, &rows)| rows < full)
            .map(|(step, rows)| format!("{rows} in step {step}"))
            .collect();
        (counts.len() > 1 && !short.is_empty() && short.len() < counts.len()).then(|| {
            format!(
                "the first steps are incomplete: {}, {full} in a later one; leave them out of comparisons",
                short.iter().take(3).cloned().collect::<Vec<_>>().join(", ")
            )
        })
    }

    /// From the first start to the last end of what is selected, relative to the origin.
    pub(super) fn wall(&self) -> Window {
        let timed = self.items.iter().filter(|item| item.class.counts());
        timed.map(|item| self.window(item.row)).reduce(|a, b| a.hull(&b)).unwrap_or_default()
    }
}
