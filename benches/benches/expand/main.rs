//! What the macro costs at compile time: expansion and checking of 10, 100 and 1,000 blocks, beside `#[tokio::main]`,
//! serde's derives and `dfir_syntax!` at the same number of lines.
//!
//! rustc's own timers (`-Ztime-passes`) measure, on the compiler in use, with proc macros built as `cargo build` builds
//! them: without optimisation. Both figures are what a source with macros takes above the same source without
//! (`stream!(s, { .. })` is `{ .. }` there): `expand` the pass `macro_expand_crate`, `check` all of `cargo check`.
//! They are medians of interleaved runs; `best` is the difference of the fastest runs, which other work on the machine
//! disturbs least. `lines` and `kB` are what the macros put out (`-Zmacro-stats`).
//!
//! The peers are built in projects of their own under the target folder; one that cannot be fetched is left out.

mod compiler;
mod sources;

use benches::{Report, median};
use compiler::{Project, Timing};
use sources::Source;

/// How many times each source is compiled; larger ones take longer, and vary less.
const RUNS: usize = 9;

/// Macros with the crates they come from.
struct Peer {
    name: &'static str,
    dependencies: String,
    sources: Vec<Source>,
}

fn peers() -> Vec<Peer> {
    let runtime = concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime");
    let peer = |name, dependencies: &str, sources| Peer { name, dependencies: dependencies.to_owned(), sources };
    vec![
        peer("multicore", &format!("multicore = {{ path = {runtime:?} }}"), sources::multicore()),
        peer("tokio::main", r#"tokio = { version = "1", features = ["rt", "macros"] }"#, sources::tokio()),
        peer("serde_derive", r#"serde = { version = "1", features = ["derive"] }"#, sources::serde()),
        peer("dfir_syntax", r#"dfir_rs = "0.16""#, sources::dfir()),
    ]
}

/// What the macros of a source take above the same without them, in ms.
struct Cost {
    expand: f64,
    check: f64,
    best_expand: f64,
    best_check: f64,
}

fn cost(project: &Project, source: &Source) -> Result<Cost, String> {
    let (mut plain, mut with) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        plain.push(project.compile(&source.plain)?);
        with.push(project.compile(&source.text)?);
    }
    let above = |middle: fn(Vec<f64>) -> f64, pass: fn(&Timing) -> f64| {
        let of = |timings: &[Timing]| middle(timings.iter().map(pass).collect());
        1e3 * (of(&with) - of(&plain))
    };
    let least = |times: Vec<f64>| times.into_iter().fold(f64::INFINITY, f64::min);
    Ok(Cost {
        expand: above(median, |timing| timing.expand),
        check: above(median, |timing| timing.total),
        best_expand: above(least, |timing| timing.expand),
        best_check: above(least, |timing| timing.total),
    })
}

fn measure(peer: &Peer, report: &mut Report) -> Result<(), String> {
    let project = Project::build(peer.name, &peer.dependencies)?;
    for source in &peer.sources {
        let Cost { expand, check, best_expand, best_check } = cost(&project, source)?;
        let output = project.output(&source.text)?;
        let (uses, lines) = (source.uses as f64, source.lines());
        let key = |figure: &str| format!("{}_{}_{figure}", peer.name.replace("::", "_"), source.key);
        let text = format!(
            "{:<13}{:<34}{lines:>6}{expand:>9.1}{best_expand:>8.1}{check:>9.1}{best_check:>8.1}{:>9.3}{:>9.1}{:>8.2}",
            peer.name,
            source.what,
            expand / uses,
            output.lines / uses,
            output.bytes / uses / 1e3,
        );
        report.figure(&key("expand_ms"), expand, text);
        for (figure, value) in [
            ("expand_best_ms", best_expand),
            ("check_ms", check),
            ("check_best_ms", best_check),
            ("output_lines", output.lines),
            ("output_bytes", output.bytes),
        ] {
            report.value(&key(figure), value);
        }
        report.count(&key("source_lines"), lines as u64);
    }
    Ok(())
}

fn main() {
    let mut report = Report::from_args();
    report.line(format_args!(
        "{:<47}{:>6}{:>9}{:>8}{:>9}{:>8}{:>9}{:>9}{:>8}",
        "", "lines", "expand", "best", "check", "best", "ms/use", "lines/u", "kB/use"
    ));
    for peer in peers() {
        if let Err(error) = measure(&peer, &mut report) {
            // Without ours there is nothing to hold the others beside.
            if peer.name == "multicore" {
                eprintln!("{error}");
                std::process::exit(1);
            }
            report.line(format_args!("{:<13}left out: {error}", peer.name));
        }
    }
    ratios(&mut report);
    report.finish();
}

/// Ours at the issue's sizes beside the peers at as many lines, and beside itself.
fn ratios(report: &mut Report) {
    for figure in ["expand_ms", "check_ms"] {
        for peer in ["tokio_main", "serde_derive", "dfir_syntax"] {
            for key in ["100", "1000"] {
                report.ratio(&format!("multicore_{key}_{figure}"), &format!("{peer}_{key}_{figure}"));
            }
        }
        report.ratio(&format!("multicore_1000_{figure}"), &format!("multicore_100_{figure}"));
        report.ratio(&format!("multicore_100x10_{figure}"), &format!("multicore_100_{figure}"));
    }
}
