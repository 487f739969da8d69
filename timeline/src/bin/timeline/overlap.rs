//! `timeline overlap`: did the side stream run beside the main one?

use multicore_timeline::analysis::{Analysis, Barrier, Evidence, Figures, Layer, Overlap, Verdict};
use serde::Serialize;

use crate::answer::{Answer, Table, give, share, some};
use crate::args::Gated;
use crate::failure::{Failure, Result};
use crate::load;
use crate::text::{Style, Text, count, ids, percent, short, time};

/// Barriers, causes and steps that are worth their lines.
const SHOWN: usize = 4;

pub(crate) fn run(args: &Gated) -> Result<()> {
    let capture = load::capture(&args.part.path, &args.part.range)?;
    let analysis = Analysis::new(&capture, &load::options(&capture, &args.part))?;
    let answer = OverlapAnswer { overlap: analysis.overlap()? };
    give(&answer, &[&capture], &args.output)?;
    gate(&answer.overlap, args.fail_under)
}

/// Holds an overlap against the share that was asked for.
pub(crate) fn gate(overlap: &Overlap, fail_under: Option<f64>) -> Result<()> {
    let (gate, wanted) = (overlap.gate(), fail_under.unwrap_or(0.0));
    if gate >= wanted {
        return Ok(());
    }
    let verdict = overlap.verdict;
    Err(Failure::Below(format!("overlap {gate:.3} is below {wanted}: {} ({})", verdict.name(), verdict.meaning())))
}

#[derive(Serialize)]
struct OverlapAnswer {
    #[serde(flatten)]
    overlap: Overlap,
}

impl Answer for OverlapAnswer {
    const COMMAND: &'static str = "overlap";

    fn text(&self, to: &mut Text) {
        let overlap = &self.overlap;
        verdict(overlap, to);
        if overlap.verdict == Verdict::NoSide {
            return reasons(overlap, to, SHOWN);
        }
        to.blank();
        let figures = &overlap.figures;
        let title = if overlap.layers.count > 1 {
            let middle = overlap.layers.layers.iter().find(|layer| layer.figures == *figures);
            format!(
                "layer {} of {}, the one in the middle",
                middle.map_or(0, |layer| layer.number),
                overlap.layers.count
            )
        } else {
            "the check".into()
        };
        to.line(Style::Strong, &title);
        published(figures, overlap, to);
        missed(figures, to);
        if overlap.layers.count > 1 {
            to.blank();
            layers(overlap, to);
        }
        to.blank();
        reasons(overlap, to, SHOWN);
        to.field("record", Style::Plain, "", &overlap.record);
    }

    fn table(&self) -> Table {
        let header = vec![
            "layer",
            "verdict",
            "published_verdict",
            "side_start_ns",
            "side_end_ns",
            "main_start_ns",
            "main_end_ns",
            "overlap_ns",
            "overlap_pct",
            "hidden_share",
            "cover",
            "exposed_tail_ns",
            "exposed_head_ns",
            "side_busy_ns",
            "busy_overlap_ns",
            "main_busy_overlap_ns",
            "core_busy_share",
            "held_ns",
        ];
        Table { header, rows: self.overlap.layers.layers.iter().map(row).collect() }
    }
}

fn row(layer: &Layer) -> Vec<String> {
    let figures = &layer.figures;
    vec![
        layer.number.to_string(),
        layer.verdict.name().into(),
        figures.published_verdict.name().into(),
        figures.side_window_ns.start_ns.to_string(),
        figures.side_window_ns.end_ns.to_string(),
        figures.main_window_ns.start_ns.to_string(),
        figures.main_window_ns.end_ns.to_string(),
        figures.overlap_ns.to_string(),
        share(figures.overlap_pct),
        share(figures.hidden_share),
        share(figures.cover),
        figures.exposed_tail_ns.to_string(),
        figures.exposed_head_ns.to_string(),
        figures.side_busy_ns.to_string(),
        figures.busy_overlap_ns.to_string(),
        figures.main_busy_overlap_ns.to_string(),
        some(figures.core_busy_share.map(share)),
        figures.held_ns.to_string(),
    ]
}

/// Who was compared, and what came out.
pub(crate) fn verdict(overlap: &Overlap, to: &mut Text) {
    let verdict = overlap.verdict;
    to.field("verdict", Style::of(verdict), &verdict.name().to_uppercase(), verdict.meaning());
    if verdict == Verdict::NoSide {
        return;
    }
    let guessed = if overlap.given { "" } else { " (guessed)" };
    let who = format!(
        "side stream {} beside {} on main stream {}{guessed}",
        ids(&overlap.side),
        short(&dominators(overlap), 40),
        ids(&overlap.main)
    );
    to.field("compared", Style::Plain, "", &who);
}

/// What should hide the side; traces of other vendors have names and no types.
pub(crate) fn dominators(overlap: &Overlap) -> String {
    if overlap.dominators.iter().all(String::is_empty) {
        return overlap.dominator_ops.iter().map(|op| op.name.as_str()).collect::<Vec<_>>().join(" + ");
    }
    overlap.dominators.join(" + ")
}

/// The published check.
fn published(figures: &Figures, overlap: &Overlap, to: &mut Text) {
    let window = |window: &multicore_timeline::analysis::Window| {
        format!("{} to {}  ({})", time(window.start_ns), time(window.end_ns), time(window.len_ns()))
    };
    to.field("side", Style::Plain, "", &window(&figures.side_window_ns));
    let ops = overlap.dominator_ops.iter().map(|op| short(&op.name, 40)).collect::<Vec<_>>().join(", ");
    to.field("main", Style::Plain, "", &format!("{}  {ops}", window(&figures.main_window_ns)));
    let line = format!(
        "{} of the shorter ({}): {} by the published check",
        percent(figures.overlap_pct),
        time(figures.side_window_ns.len_ns().min(figures.main_ns)),
        figures.published_verdict.name()
    );
    to.field("overlap", Style::of(figures.published_verdict), &time(figures.overlap_ns), &line);
}

/// What the published check misses.
fn missed(figures: &Figures, to: &mut Text) {
    let hidden = format!(
        "{} of the side is hidden, {} of the dominator covers it; {} before it, {} after it",
        percent(figures.hidden_share),
        percent(figures.cover),
        time(figures.exposed_head_ns),
        time(figures.exposed_tail_ns)
    );
    to.field("hidden", Style::Plain, "", &hidden);
    let busy = format!(
        "{} of {} in which the side ran, {} with anything on the main stream",
        time(figures.busy_overlap_ns),
        time(figures.side_busy_ns),
        time(figures.main_busy_overlap_ns)
    );
    to.field("busy", Style::Plain, "", &busy);
    let cores = match figures.core_busy_share {
        Some(share) => {
            format!("computed {} of its window, held up for cores {}", percent(share), time(figures.held_ns))
        }
        None => "core times are not in the profile (collect with aic metrics to see starvation)".into(),
    };
    to.field("cores", Style::Plain, "", &cores);
}

/// All layers in a line, and those that are not like the rest.
pub(crate) fn layers(overlap: &Overlap, to: &mut Text) {
    let layers = &overlap.layers;
    let mut parts = Vec::new();
    for (number, what) in [
        (layers.overlapped, "overlap"),
        (layers.partial, "overlap in part"),
        (layers.serial, "serial"),
        (layers.starved, "starved of cores"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    let median = format!(
        "median overlap {}, side {}, dominator {}, tail {}",
        percent(layers.median_overlap_pct),
        time(layers.median_side_ns),
        time(layers.median_main_ns),
        time(layers.median_exposed_tail_ns)
    );
    to.field("layers", Style::Strong, &layers.count.to_string(), &format!("{}; {median}", parts.join(", ")));
    if let Some(worst) = layers.worst.and_then(|at| layers.layers.get(at)) {
        let line = format!(
            "layer {} at {}: {}, tail {}",
            worst.number,
            time(worst.figures.side_window_ns.start_ns),
            percent(worst.figures.overlap_pct),
            time(worst.figures.exposed_tail_ns)
        );
        to.field("worst", Style::of(worst.verdict), worst.verdict.name(), &line);
    }
}

/// What stood in the way, and what to do about it.
pub(crate) fn reasons(overlap: &Overlap, to: &mut Text, most: usize) {
    for finding in overlap.causes.iter().take(most) {
        to.field("cause", Style::Plain, "", &finding.text);
        to.field("do", Style::Plain, "", &finding.advice);
    }
    for barrier in overlap.barriers.iter().take(most) {
        to.field("barrier", evidence(barrier).0, evidence(barrier).1, &barrier_line(barrier));
    }
    if let Some(barrier) = overlap.barriers.first() {
        to.field("do", Style::Plain, "", &barrier.advice);
    }
    if overlap.barriers.len() > most {
        to.field(
            "",
            Style::Plain,
            "",
            &format!("and {}: timeline barriers", count(overlap.barriers.len() - most, "more barrier")),
        );
    }
}

/// How a barrier is known.
pub(crate) fn evidence(barrier: &Barrier) -> (Style, &'static str) {
    match barrier.evidence {
        Evidence::Shown => (Style::Bad, "shown"),
        Evidence::Inferred => (Style::Warn, "inferred"),
    }
}

/// A barrier in a line.
pub(crate) fn barrier_line(barrier: &Barrier) -> String {
    let mut line = short(&barrier.op.to_string(), 48);
    if let Some(stream) = barrier.op.stream {
        line.push_str(&format!(" on stream {stream}"));
    }
    line.push_str(&format!(" waited {}", time(barrier.waited_ns)));
    if let Some(recorded) = &barrier.recorded {
        match (&recorded.after, recorded.stream) {
            (Some(op), Some(stream)) => {
                line.push_str(&format!(" for {} on stream {stream}", short(&op.to_string(), 48)))
            }
            (Some(op), None) => line.push_str(&format!(" for {}", short(&op.to_string(), 48))),
            (None, Some(stream)) => line.push_str(&format!(" for stream {stream}")),
            (None, None) => {}
        }
    }
    let sites = [
        barrier.wait.as_ref().and_then(|wait| wait.site.as_ref()),
        barrier.recorded.as_ref().and_then(|recorded| recorded.site.as_ref()),
    ];
    match sites {
        [Some(wait), Some(record)] => line.push_str(&format!("; wait {wait}, record {record}")),
        [Some(wait), None] => line.push_str(&format!("; wait {wait}")),
        [None, Some(record)] => line.push_str(&format!("; record {record}")),
        [None, None] => {}
    }
    line
}
