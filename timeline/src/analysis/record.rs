//! The check in words, as the published page wants it: when it is owed, its five steps, and the one-line record.

use serde::Serialize;

use super::barriers::Barrier;
use super::intervals::Window;
use super::op::{Op, micros};
use super::overlap::{Overlap, Verdict};
use super::thresholds::{OWED_SUM_OVER_WALL, OWED_WALL_CHANGE};

/// A rule that says when the check must be made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Owed {
    /// The rule.
    pub rule: &'static str,
    /// Whether it applies here; `None` if this capture alone cannot say.
    pub applies: Option<bool>,
    /// With which figure.
    pub because: String,
}

/// One of the five steps of the published check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// 1 to 5.
    pub number: u8,
    /// What is asked.
    pub question: &'static str,
    /// What came out.
    pub finding: String,
}

pub(super) fn owed(cleaned_sum_over_wall: f64) -> Vec<Owed> {
    vec![
        Owed {
            rule: "the wall of the module changed by less than 5 % although operators moved to another stream",
            applies: None,
            because: format!("compare with a capture from before the split (below {} %)", OWED_WALL_CHANGE * 100.0),
        },
        Owed {
            rule: "the sum of durations is at most 1.05 of the wall",
            applies: Some(cleaned_sum_over_wall <= OWED_SUM_OVER_WALL),
            because: format!("{cleaned_sum_over_wall:.4} without duplicates"),
        },
        Owed { rule: "before a plan is called failed", applies: Some(true), because: "always".to_owned() },
        Owed { rule: "before a plan is called good", applies: Some(true), because: "always".to_owned() },
    ]
}

fn interval(window: Window) -> String {
    format!("[{}, {}]", micros(window.start_ns), micros(window.end_ns))
}

pub(super) fn steps(overlap: &Overlap) -> Vec<Step> {
    if overlap.verdict == Verdict::NoSide {
        return Vec::new();
    }
    let figures = &overlap.figures;
    let dominators = overlap.dominator_ops.iter().map(Op::to_string).collect::<Vec<_>>().join(", ");
    let barriers = match overlap.barriers.as_slice() {
        [] if figures.published_verdict == Verdict::True => "not needed: the windows overlap".to_owned(),
        [] => "none found; see the causes".to_owned(),
        found => names(found),
    };
    let findings = [
        ("when did the side run, first start to last end?", format!("{} us", interval(figures.side_window_ns))),
        ("when did the main dominator run?", format!("{dominators} {} us", interval(figures.main_window_ns))),
        ("what do the two have in common?", format!("{} us", micros(figures.overlap_ns))),
        (
            "which share of the shorter is that?",
            format!("{:.1} %: {}", figures.overlap_pct * 100.0, figures.published_verdict.name()),
        ),
        ("if serial: which operator on the main stream waited for the side?", barriers),
    ];
    (1..).zip(findings).map(|(number, (question, finding))| Step { number, question, finding }).collect()
}

/// The operators that are barriers, each name once.
fn names(barriers: &[Barrier]) -> String {
    const SHOWN: usize = 4;
    let mut names: Vec<String> = Vec::new();
    for barrier in barriers {
        let name = barrier.op.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

pub(super) fn record(overlap: &Overlap) -> String {
    if overlap.verdict == Verdict::NoSide {
        return format!("no overlap to record: {}", Verdict::NoSide.meaning());
    }
    let figures = &overlap.figures;
    let barriers = names(&overlap.barriers);
    let next = overlap.barriers.first().map(|barrier| barrier.advice.clone());
    let next = next.or_else(|| overlap.causes.first().map(|finding| finding.advice.clone()));
    format!(
        "side {} us, main {} us, overlap {} us = {:.1} %, {}; barriers: {}; next: {}",
        interval(figures.side_window_ns),
        interval(figures.main_window_ns),
        micros(figures.overlap_ns),
        figures.overlap_pct * 100.0,
        overlap.verdict.name(),
        if barriers.is_empty() { "none" } else { &barriers },
        next.unwrap_or_else(|| "none".to_owned()),
    )
}
