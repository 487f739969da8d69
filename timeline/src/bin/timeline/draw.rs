//! `timeline gantt` and `timeline trace`: what the analysis found, drawn over the operators.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use multicore_timeline::analysis::{Analysis, Barrier, Overlap, Role, Verdict, Window};
use multicore_timeline::{Capture, Error, Mark, MarkKind, gantt as picture, trace as traces};

use crate::args::DrawArgs;
use crate::failure::{Failure, Result};
use crate::load;
use crate::text::{ids, percent, time};

pub(crate) fn gantt(args: &DrawArgs) -> Result<()> {
    let drawn = Drawn::of(args)?;
    let options = picture::Options {
        title: args.title.clone().unwrap_or_else(|| args.part.path.display().to_string()),
        verdict: drawn.verdict,
        marks: drawn.marks,
        notes: drawn.notes,
        cores: drawn.cores,
        origin_ns: Some(drawn.origin_ns),
    };
    match args.output.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => write(&args.output, |to| picture::svg(to, &drawn.capture, &options)),
        Some("html" | "htm") => write(&args.output, |to| picture::html(to, &drawn.capture, &options)),
        _ if args.output == Path::new("-") => write(&args.output, |to| picture::svg(to, &drawn.capture, &options)),
        _ => {
            let path = args.output.display();
            Err(Failure::Usage(format!("cannot tell the format of {path}: write a name that ends in .svg or .html")))
        }
    }
}

pub(crate) fn trace(args: &DrawArgs) -> Result<()> {
    let drawn = Drawn::of(args)?;
    let options = traces::Options { marks: drawn.marks, cores: drawn.cores };
    write(&args.output, |to| traces::write(to, &drawn.capture, &options))
}

/// Writes to a file, or to standard output.
fn write(path: &Path, draw: impl FnOnce(&mut dyn Write) -> Result<(), Error>) -> Result<()> {
    if path == Path::new("-") {
        return Ok(draw(&mut io::stdout().lock())?);
    }
    let mut to = BufWriter::new(File::create(path).map_err(Failure::write(path))?);
    draw(&mut to).map_err(|error| Failure::Write(format!("cannot write {}: {error}", path.display())))?;
    to.flush().map_err(Failure::write(path))
}

/// A capture cut down to what was asked for, and what to draw over it.
struct Drawn {
    capture: Capture,
    marks: Vec<Mark>,
    notes: Vec<(u32, Option<u32>, String)>,
    verdict: String,
    cores: Option<(u32, u32)>,
    origin_ns: u64,
}

impl Drawn {
    fn of(args: &DrawArgs) -> Result<Drawn> {
        let mut capture = load::capture(&args.part.path, &args.part.range)?;
        let analysis = Analysis::new(&capture, &load::options(&capture, &args.part))?;
        let (device, origin_ns) = (analysis.device(), analysis.origin_ns());
        let streams = analysis.streams()?;
        let notes = streams
            .streams
            .iter()
            .flat_map(|stream| stream.ids.iter().map(move |id| (device, Some(*id), note(stream.role).to_owned())));
        let notes = notes.collect();
        let overlap = analysis.overlap()?;
        let summary = analysis.summary();
        let cores = analysis.cores().map(|cores| (cores.cube, cores.vector));
        let marks = marks(&overlap, device, origin_ns);
        let verdict = verdict(&overlap);
        let (from, to) = (origin_ns + summary.start_ns, origin_ns + summary.start_ns + summary.wall_ns);
        let step = args.part.range.step;
        capture.rows.retain(|row| {
            row.device == device
                && (from..=to).contains(&row.start_ns)
                && step.is_none_or(|step| row.step == Some(step))
        });
        capture.syncs.retain(|sync| sync.device_id == device && sync.end_ns() >= from && sync.start_ns <= to);
        Ok(Drawn { capture, marks, notes, verdict, cores, origin_ns })
    }
}

/// A role in few letters.
fn note(role: Role) -> &'static str {
    if role == Role::Communication { "comm" } else { role.name() }
}

/// Windows and overlap of each layer, and the barriers.
fn marks(overlap: &Overlap, device: u32, origin_ns: u64) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut add = |kind, stream: Option<u32>, text: String, window: Window| {
        let (start_ns, duration_ns) = (origin_ns + window.start_ns, window.len_ns());
        marks.push(Mark { kind, device, stream, text, start_ns, duration_ns });
    };
    let dominators = crate::overlap::dominators(overlap);
    for layer in &overlap.layers.layers {
        let figures = &layer.figures;
        let side = format!("side {}: {} hidden", ids(&overlap.side), percent(figures.hidden_share));
        add(MarkKind::SideWindow, overlap.side.first().copied(), side, figures.side_window_ns);
        add(MarkKind::MainWindow, overlap.main.first().copied(), dominators.clone(), figures.main_window_ns);
        let (side, main) = (figures.side_window_ns, figures.main_window_ns);
        let both = Window::new(side.start_ns.max(main.start_ns), side.end_ns.min(main.end_ns));
        if both.len_ns() > 0 {
            let text = format!("{}: {}", layer.verdict.name(), percent(figures.overlap_pct));
            add(MarkKind::Overlap, None, text, both);
        }
    }
    for barrier in &overlap.barriers {
        add(MarkKind::Barrier, barrier.op.stream, barrier_text(barrier), barrier.op.window());
    }
    marks
}

fn barrier_text(barrier: &Barrier) -> String {
    let (_, word) = crate::overlap::evidence(barrier);
    format!("{word}: {} waited {}", barrier.op.name, time(barrier.waited_ns))
}

/// The verdict in a line.
fn verdict(overlap: &Overlap) -> String {
    let meaning = overlap.verdict.meaning();
    if overlap.verdict == Verdict::NoSide {
        return meaning.into();
    }
    let layers = match overlap.layers.count {
        0 | 1 => String::new(),
        count => format!(", median of {count} layers"),
    };
    let pct = if overlap.layers.count > 1 { overlap.layers.median_overlap_pct } else { overlap.figures.overlap_pct };
    format!("{}: {meaning} ({} overlap{layers})", overlap.verdict.name(), percent(pct))
}
