//! `timeline barriers`: which operators made a stream wait, for what, and what to do about it.

use multicore_timeline::analysis::{Analysis, Barrier, Evidence};
use serde::Serialize;

use crate::answer::{Answer, Table, give, some};
use crate::args::Asked;
use crate::failure::Result;
use crate::load;
use crate::overlap::{barrier_line, evidence};
use crate::text::{Style, Text, count, time};

/// Barriers that text names; the others are in JSON and CSV.
const SHOWN: usize = 12;

pub(crate) fn run(args: &Asked) -> Result<()> {
    let capture = load::capture(&args.part.path, &args.part.range)?;
    let analysis = Analysis::new(&capture, &load::options(&capture, &args.part))?;
    analysis.streams()?;
    let answer = BarriersAnswer { barriers: analysis.barriers(), waits_known: !capture.syncs.is_empty() };
    give(&answer, &[&capture], &args.output)
}

#[derive(Serialize)]
struct BarriersAnswer {
    /// Whether the profile has waits at all.
    waits_known: bool,
    barriers: Vec<Barrier>,
}

impl Answer for BarriersAnswer {
    const COMMAND: &'static str = "barriers";

    fn text(&self, to: &mut Text) {
        let shown = self.barriers.iter().filter(|barrier| barrier.evidence == Evidence::Shown).count();
        let inferred = self.barriers.len() - shown;
        let waited = self.barriers.iter().map(|barrier| barrier.waited_ns).sum();
        let line = format!("{shown} shown, {inferred} inferred; {} waited in all", time(waited));
        to.line(Style::Strong, &format!("{}: {line}", count(self.barriers.len(), "barrier")));
        if !self.waits_known {
            to.line(
                Style::Dim,
                "the profile has no waits (kernel_details.csv never has): what is named here is a guess;",
            );
            to.line(Style::Dim, "give the folder with trace_view.json as well to see the waits themselves");
        }
        for barrier in self.barriers.iter().take(SHOWN) {
            to.blank();
            let (style, word) = evidence(barrier);
            let place = barrier.layer.map_or_else(String::new, |layer| format!("layer {layer}: "));
            to.field(&time(barrier.op.start_ns), style, word, &format!("{place}{}", barrier_line(barrier)));
            for reason in &barrier.because {
                to.field("", Style::Plain, "", reason);
            }
            to.field("do", Style::Plain, "", &barrier.advice);
        }
        if self.barriers.len() > SHOWN {
            to.line(Style::Dim, &format!("and {} more: --json or --csv", self.barriers.len() - SHOWN));
        }
    }

    fn table(&self) -> Table {
        let header = vec![
            "evidence",
            "stream",
            "operator",
            "type",
            "line",
            "start_ns",
            "waited_ns",
            "event",
            "wait_site",
            "for_stream",
            "for_operator",
            "record_ns",
            "record_site",
            "layer",
            "advice",
        ];
        Table { header, rows: self.barriers.iter().map(row).collect() }
    }
}

fn row(barrier: &Barrier) -> Vec<String> {
    let (wait, recorded) = (barrier.wait.as_ref(), barrier.recorded.as_ref());
    vec![
        evidence(barrier).1.into(),
        some(barrier.op.stream),
        barrier.op.name.clone(),
        barrier.op.op_type.clone(),
        barrier.op.line.to_string(),
        barrier.op.start_ns.to_string(),
        barrier.waited_ns.to_string(),
        some(wait.and_then(|wait| wait.event)),
        some(wait.and_then(|wait| wait.site.as_ref())),
        some(recorded.and_then(|recorded| recorded.stream)),
        some(recorded.and_then(|recorded| recorded.after.as_ref()).map(|op| &op.name)),
        some(recorded.and_then(|recorded| recorded.record_ns)),
        some(recorded.and_then(|recorded| recorded.site.as_ref())),
        some(barrier.layer),
        barrier.advice.clone(),
    ]
}
