//! `timeline report`: everything worth knowing, the most important first, on one screen.

use multicore_timeline::analysis::{Analysis, Overlap, Phases, Starvation, Streams, Summary, Verdict};
use multicore_timeline::{Capture, SyncKind};
use serde::Serialize;

use crate::answer::{Answer, Table, give, share, some};
use crate::args::Gated;
use crate::failure::Result;
use crate::load;
use crate::overlap;
use crate::text::{Style, Text, count, ids, percent, short, time};

/// Streams and types that are worth their words.
const STREAMS: usize = 4;
const TYPES: usize = 3;
/// Lines of a screen.
const SCREEN: usize = 24;

pub(crate) fn run(args: &Gated) -> Result<()> {
    let capture = load::capture(&args.part.path, &args.part.range)?;
    let analysis = Analysis::new(&capture, &load::options(&capture, &args.part))?;
    let report = ReportAnswer {
        summary: analysis.summary(),
        overlap: analysis.overlap()?,
        phases: analysis.phases(),
        streams: analysis.streams()?,
        starvation: analysis.starved(),
        waits: capture.syncs.iter().filter(|sync| sync.kind == SyncKind::Wait).count(),
        dropped: dropped(&capture),
        odd_rows: capture.notes.len(),
        title: args.part.path.display().to_string(),
    };
    give(&report, &[&capture], &args.output)?;
    overlap::gate(&report.overlap, args.fail_under)
}

/// A row that was not taken over.
#[derive(Serialize)]
struct DroppedRow {
    file: String,
    line: u64,
    why: String,
}

fn dropped(capture: &Capture) -> Vec<DroppedRow> {
    let file = |source: u16| capture.sources.get(usize::from(source)).map(|source| source.path.display().to_string());
    let rows = capture.dropped.iter();
    rows.map(|row| DroppedRow { file: file(row.source).unwrap_or_default(), line: row.line, why: row.why.clone() })
        .collect()
}

#[derive(Serialize)]
struct ReportAnswer<'a> {
    #[serde(flatten)]
    summary: Summary,
    overlap: Overlap,
    phases: Phases,
    streams: &'a Streams,
    starvation: Starvation,
    waits: usize,
    dropped: Vec<DroppedRow>,
    odd_rows: usize,
    #[serde(skip)]
    title: String,
}

impl Answer for ReportAnswer<'_> {
    const COMMAND: &'static str = "report";

    fn text(&self, to: &mut Text) {
        self.heading(to);
        overlap::verdict(&self.overlap, to);
        if self.overlap.verdict != Verdict::NoSide {
            self.overlap_lines(to);
        }
        overlap::reasons(&self.overlap, to, 1);
        to.blank();
        self.time(to);
        self.streams(to);
        self.communication(to);
        self.types(to);
        self.rows(to);
        let notes = self.summary.notes.iter().chain(&self.streams.notes).chain(&self.phases.notes);
        for note in notes {
            // A note takes up to two lines.
            if to.lines() + 2 > SCREEN {
                break;
            }
            to.field("note", Style::Plain, "", &short(note, 170));
        }
    }

    /// A figure a row.
    fn table(&self) -> Table {
        let (summary, phases, figures) = (&self.summary, &self.phases, &self.overlap.figures);
        let number = |name: &'static str, value: u64| (name, value.to_string());
        let rows = [
            number("device", u64::from(summary.device)),
            number("wall_ns", summary.wall_ns),
            number("sum_ns", summary.sum_ns),
            number("cleaned_sum_ns", summary.cleaned_sum_ns),
            number("work_sum_ns", summary.work_sum_ns),
            number("union_ns", summary.union_ns),
            number("work_union_ns", summary.work_union_ns),
            number("free_ns", summary.free_ns),
            number("rows", summary.rows as u64),
            number("dropped_rows", summary.dropped_rows as u64),
            number("duplicate_rows", summary.duplicate_rows as u64),
            number("shell_rows", summary.shell_rows as u64),
            ("sum_over_wall", share(summary.sum_over_wall)),
            ("cleaned_sum_over_wall", share(summary.cleaned_sum_over_wall)),
            ("work_sum_over_wall", share(summary.work_sum_over_wall)),
            ("utilisation", share(summary.utilisation)),
            ("work_utilisation", share(summary.work_utilisation)),
            ("verdict", self.overlap.verdict.name().into()),
            ("published_verdict", figures.published_verdict.name().into()),
            ("overlap_pct", share(figures.overlap_pct)),
            ("hidden_share", share(figures.hidden_share)),
            ("cover", share(figures.cover)),
            number("exposed_tail_ns", figures.exposed_tail_ns),
            number("computing_ns", phases.computing_ns),
            number("communication_ns", phases.communication_ns),
            number("overlapped_ns", phases.overlapped_ns),
            number("exposed_ns", phases.exposed_ns),
            ("communication_hidden_share", some(phases.hidden_share.map(share))),
            number("starved_operators", self.starvation.operators.len() as u64),
            number("barriers", self.overlap.barriers.len() as u64),
        ];
        let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
        Table { header: vec!["field", "value"], rows }
    }
}

impl ReportAnswer<'_> {
    fn heading(&self, to: &mut Text) {
        let summary = &self.summary;
        let streams = self.streams.lanes.iter().filter(|lane| lane.id.is_some()).count();
        let mut line = format!(
            "{}: {} on {}, {}",
            self.title,
            count(summary.rows, "row"),
            count(streams, "stream"),
            time(summary.wall_ns)
        );
        if let [step] = summary.steps[..] {
            line.push_str(&format!(", step {step}"));
        } else if !summary.steps.is_empty() {
            line.push_str(&format!(", {}", count(summary.steps.len(), "step")));
        }
        to.line(Style::Strong, &line);
        to.blank();
    }

    fn overlap_lines(&self, to: &mut Text) {
        let figures = &self.overlap.figures;
        let line = format!(
            "{} by the published check ({}); {} of the side hidden, tail {}",
            percent(figures.overlap_pct),
            figures.published_verdict.name(),
            percent(figures.hidden_share),
            time(figures.exposed_tail_ns)
        );
        to.field("overlap", Style::of(figures.published_verdict), &time(figures.overlap_ns), &line);
        if let Some(busy) = figures.core_busy_share {
            let held = format!(
                "the side computed {} of its window, held up for cores {}",
                percent(busy),
                time(figures.held_ns)
            );
            to.field("cores", Style::Plain, "", &held);
        }
        if self.overlap.layers.count > 1 {
            overlap::layers(&self.overlap, to);
        }
    }

    fn time(&self, to: &mut Text) {
        let summary = &self.summary;
        let line = format!(
            "{} of it something worked ({}), {} free",
            time(summary.work_union_ns),
            percent(summary.work_utilisation),
            time(summary.free_ns)
        );
        to.field("wall", Style::Strong, &time(summary.wall_ns), &line);
        let mut sums = format!("{:.4} of the wall", summary.sum_over_wall);
        if summary.duplicate_rows > 0 {
            let rows = count(summary.duplicate_rows, "duplicate collective row");
            sums.push_str(&format!("; {:.4} without {rows}", summary.cleaned_sum_over_wall));
        }
        if summary.shell_rows > 0 {
            let rows = count(summary.shell_rows, "AI_CPU shell");
            sums.push_str(&format!("; {:.4} without {rows}", summary.work_sum_over_wall));
        }
        to.field("sum", Style::Plain, &time(summary.sum_ns), &sums);
    }

    fn streams(&self, to: &mut Text) {
        let all = &self.streams.streams;
        let mut parts: Vec<String> = all
            .iter()
            .take(STREAMS)
            .map(|stream| format!("{} {} {}", ids(&stream.ids), stream.role.name(), time(stream.busy_ns)))
            .collect();
        if all.len() > STREAMS {
            parts.push(format!("{} more", all.len() - STREAMS));
        }
        to.field("streams", Style::Plain, "", &parts.join(", "));
    }

    fn communication(&self, to: &mut Text) {
        let phases = &self.phases;
        let line = match phases.hidden_share {
            Some(hidden) => format!("{} hidden behind computing, {} exposed", percent(hidden), time(phases.exposed_ns)),
            None => "no collectives".into(),
        };
        let head = if phases.hidden_share.is_some() { time(phases.communication_ns) } else { String::new() };
        to.field("comm", Style::Plain, &head, &line);
    }

    fn types(&self, to: &mut Text) {
        let name = |op_type: &str| if op_type.is_empty() { "without type".into() } else { short(op_type, 28) };
        let types = self.summary.types.iter().take(TYPES);
        let parts: Vec<String> =
            types.map(|total| format!("{} x {} {}", total.rows, name(&total.op_type), percent(total.share))).collect();
        to.field("longest", Style::Plain, "", &parts.join(", "));
    }

    /// What was taken over, and what was not.
    fn rows(&self, to: &mut Text) {
        let mut parts = Vec::new();
        if self.waits == 0 {
            parts.push("no waits in the profile, so barriers are guesses".to_owned());
        } else {
            parts.push(count(self.waits, "wait"));
        }
        if self.odd_rows > 0 {
            parts.push(format!("{} odd", self.odd_rows));
        }
        if let Some(first) = self.dropped.first() {
            let rows = count(self.dropped.len(), "row");
            parts.push(format!("{rows} dropped, the first at line {}: {}", first.line, short(&first.why, 60)));
        }
        to.field("rows", Style::Plain, "", &parts.join("; "));
    }
}
