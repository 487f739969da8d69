//! `timeline compare`: two captures, operator by operator.

use multicore_timeline::analysis::{Analysis, Comparison, OperatorChange, OperatorVerdict, compare};
use serde::Serialize;

use crate::answer::{Answer, Table, give, some};
use crate::args::CompareArgs;
use crate::failure::{Failure, Result};
use crate::load;
use crate::text::{Style, Text, cell, change, percent, short, time};

pub(crate) fn run(args: &CompareArgs) -> Result<()> {
    let before = load::capture(&args.before, &args.range)?;
    let after = load::capture(&args.after, &args.range)?;
    let analysis = |capture, path: &std::path::Path| {
        let analysis = Analysis::new(capture, &load::range(capture, &args.range)).map_err(Failure::from);
        analysis.map_err(|failure| failure.about(path))
    };
    let comparison = compare(&analysis(&before, &args.before)?, &analysis(&after, &args.after)?);
    give(&CompareAnswer { comparison, top: args.top }, &[&before, &after], &args.output)
}

#[derive(Serialize)]
struct CompareAnswer {
    #[serde(flatten)]
    comparison: Comparison,
    #[serde(skip)]
    top: usize,
}

impl Answer for CompareAnswer {
    const COMMAND: &'static str = "compare";

    fn text(&self, to: &mut Text) {
        let all = &self.comparison;
        let wall = format!(
            "wall {} before, {} after ({})",
            time(all.wall_before_ns),
            time(all.wall_after_ns),
            signed_percent(all.wall_ratio - 1.0)
        );
        to.field("verdict", style(all.verdict), &all.verdict.name().to_uppercase(), &wall);
        let work = format!("{} before, {} after", time(all.work_before_ns), time(all.work_after_ns));
        to.field("work", Style::Plain, "", &work);
        let [faster, slower, same, unsure, new, gone] = all.counts;
        let kinds =
            format!("{faster} faster, {slower} slower, {same} the same, {unsure} unsure, {new} new, {gone} gone");
        to.field("operators", Style::Plain, "", &kinds);
        if all.overlap_check_owed {
            to.field("note", Style::Warn, "", "the wall changed by less than 5 %: the overlap check is owed");
        }
        for note in &all.notes {
            to.field("note", Style::Plain, "", note);
        }
        let rows: Vec<_> = all.operators.iter().take(self.top).map(line).collect();
        if rows.is_empty() {
            return;
        }
        to.blank();
        let titles =
            ["operator", "inputs", "n before", "n after", "median before", "median after", "noise", "all together", ""];
        to.table(&titles, &rows);
        if all.operators.len() > self.top {
            to.line(Style::Dim, &format!("and {} more: --top N, --json or --csv", all.operators.len() - self.top));
        }
    }

    fn table(&self) -> Table {
        let header = vec![
            "type",
            "input_shapes",
            "input_types",
            "verdict",
            "count_before",
            "count_after",
            "median_before_ns",
            "median_after_ns",
            "noise_ns",
            "sum_before_ns",
            "sum_after_ns",
            "sum_change_ns",
            "ratio",
        ];
        Table { header, rows: self.comparison.operators.iter().map(row).collect() }
    }
}

fn line(change_of: &OperatorChange) -> Vec<(Style, String)> {
    let median = |count: usize, ns: u64| if count == 0 { String::new() } else { time(ns) };
    vec![
        (Style::Strong, short(&change_of.op_type, 24)),
        cell(short(&change_of.input_shapes, 20)),
        cell(change_of.before.count),
        cell(change_of.after.count),
        cell(median(change_of.before.count, change_of.before.median_ns)),
        cell(median(change_of.after.count, change_of.after.median_ns)),
        cell(time(change_of.noise_ns)),
        cell(change(change_of.sum_change_ns)),
        (style(change_of.verdict), change_of.verdict.name().into()),
    ]
}

fn row(change: &OperatorChange) -> Vec<String> {
    vec![
        change.op_type.clone(),
        change.input_shapes.clone(),
        change.input_types.clone(),
        change.verdict.name().into(),
        change.before.count.to_string(),
        change.after.count.to_string(),
        change.before.median_ns.to_string(),
        change.after.median_ns.to_string(),
        change.noise_ns.to_string(),
        change.before.sum_ns.to_string(),
        change.after.sum_ns.to_string(),
        change.sum_change_ns.to_string(),
        some(change.ratio.map(|ratio| format!("{ratio:.6}"))),
    ]
}

fn style(verdict: OperatorVerdict) -> Style {
    match verdict {
        OperatorVerdict::Faster => Style::Good,
        OperatorVerdict::Slower => Style::Bad,
        OperatorVerdict::Same => Style::Plain,
        OperatorVerdict::Unsure | OperatorVerdict::New | OperatorVerdict::Gone => Style::Warn,
    }
}

fn signed_percent(share: f64) -> String {
    let sign = if share < 0.0 { "" } else { "+" };
    format!("{sign}{}", percent(share))
}
