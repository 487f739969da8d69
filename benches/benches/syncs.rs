//! How few records and waits: the plan of `#[multicore]` beside the rules of others, on the same launches.
//!
//! Random task graphs, a stencil, fork and join, a decoder layer and the mixture-of-experts layer of the main job, each a
//! `#[multicore]` function that is run; its launches with the data they use are what the other rules get. Columns of other
//! systems are emulations of their rules as their sources read ([`benches::syncs`]), not runs of their code. All columns
//! make `main` wait for all streams at the end.

use benches::Report;
use benches::syncs::{Compared, RULES, compare, programs};
use multicore::prelude::*;

fn main() -> Result<()> {
    let mut report = Report::from_args();
    report.line("waits / records; columns of other systems are emulations of their rules as read");
    report.line(format_args!(
        "{:<20} {:>8} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "program", "launches", "every edge", "SYCL", "CANN GE", "CUDASTF", "multicore", "fewest"
    ));
    for (name, program) in programs::ALL {
        let Compared { launches, ours, reduction, others } = compare(program)?;
        let columns = others.iter().chain([&ours, &reduction]);
        let cells: String = columns.map(|c| format!(" {:>11}", format!("{} / {}", c.waits, c.records))).collect();
        let key: String = name.chars().filter(|c| *c != ',').map(|c| if c == ' ' { '_' } else { c }).collect();
        report.figure(&format!("{key}_waits"), ours.waits as f64, format_args!("{name:<20} {launches:>8}{cells}"));
        let named = RULES.iter().map(|(rule, _)| *rule).zip(others).chain([("fewest", reduction)]);
        report.count(&format!("{key}_records"), ours.records);
        for (rule, counts) in named {
            report.count(&format!("{key}_{rule}_waits"), counts.waits);
            report.count(&format!("{key}_{rule}_records"), counts.records);
        }
        assert_eq!(ours.waits, reduction.waits, "{name}: the plan is the transitive reduction");
    }
    report.finish();
    Ok(())
}
