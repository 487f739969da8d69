//! `timeline starved`: which operators held their stream while they waited for cores.

use multicore_timeline::analysis::{Analysis, Starvation, Starved, StarvedGroup};
use serde::Serialize;

use crate::answer::{Answer, Table, give, some};
use crate::args::Asked;
use crate::failure::Result;
use crate::load;
use crate::text::{Style, Text, cell, count, short, time};

/// Kinds of operators that text names.
const SHOWN: usize = 12;

pub(crate) fn run(args: &Asked) -> Result<()> {
    let capture = load::capture(&args.part.path, &args.part.range)?;
    let analysis = Analysis::new(&capture, &load::options(&capture, &args.part))?;
    let answer = StarvedAnswer { starvation: analysis.starved() };
    give(&answer, &[&capture], &args.output)
}

#[derive(Serialize)]
struct StarvedAnswer {
    #[serde(flatten)]
    starvation: Starvation,
}

impl Answer for StarvedAnswer {
    const COMMAND: &'static str = "starved";

    fn text(&self, to: &mut Text) {
        let starvation = &self.starvation;
        if !starvation.measured {
            to.line(Style::Warn, "core times are not in the profile: collect with aic metrics to see starvation");
            return;
        }
        let held = time(starvation.operators.iter().map(|starved| starved.held_ns).sum());
        let all = count(starvation.operators.len(), "operator");
        to.line(Style::Strong, &format!("{all} waited for cores while holding a stream, {held} in all"));
        if starvation.groups.is_empty() {
            return;
        }
        to.blank();
        let rows: Vec<_> = starvation.groups.iter().take(SHOWN).map(group).collect();
        let titles =
            ["operator", "inputs", "stream", "starved", "lasted", "alone", "cores worked", "held up", "beside"];
        to.table(&titles, &rows);
        if starvation.groups.len() > SHOWN {
            to.line(Style::Dim, &format!("and {} more kinds: --json", starvation.groups.len() - SHOWN));
        }
        to.blank();
        to.line(
            Style::Dim,
            "lasted, cores worked: medians; alone: the shortest like it; held up: longer than that, added",
        );
    }

    fn table(&self) -> Table {
        let header = vec![
            "line",
            "name",
            "type",
            "stream",
            "start_ns",
            "duration_ns",
            "reference_ns",
            "held_ns",
            "times",
            "core_ns",
            "input_shapes",
            "beside",
            "beside_stream",
            "asked_cube",
            "asked_vector",
            "over",
        ];
        Table { header, rows: self.starvation.operators.iter().map(row).collect() }
    }
}

fn group(group: &StarvedGroup) -> Vec<(Style, String)> {
    vec![
        (Style::Strong, short(&group.op_type, 24)),
        cell(short(&group.input_shapes, 22)),
        cell(some(group.stream)),
        cell(format!("{} of {}", group.count, group.of)),
        cell(time(group.median_ns)),
        cell(time(group.reference_ns)),
        cell(time(group.median_core_ns)),
        (Style::Bad, time(group.held_ns)),
        cell(short(&group.beside, 20)),
    ]
}

fn row(starved: &Starved) -> Vec<String> {
    vec![
        starved.op.line.to_string(),
        starved.op.name.clone(),
        starved.op.op_type.clone(),
        some(starved.op.stream),
        starved.op.start_ns.to_string(),
        starved.op.duration_ns.to_string(),
        starved.reference_ns.to_string(),
        starved.held_ns.to_string(),
        format!("{:.3}", starved.times),
        starved.core_ns.to_string(),
        starved.op.input_shapes.clone(),
        starved.beside.name.clone(),
        some(starved.beside.stream),
        starved.asked.cube.to_string(),
        starved.asked.vector.to_string(),
        some(starved.over),
    ]
}
