//! `timeline streams`: which streams there are, what each is for, and which ran at the same time.

use multicore_timeline::analysis::{Analysis, Lane, Role, Streams};
use serde::Serialize;

use crate::answer::{Answer, Table, give, share, some};
use crate::args::StreamsArgs;
use crate::failure::Result;
use crate::load;
use crate::text::{Style, Text, cell, ids, percent, short, time};

/// Streams of which the pairs fit into a matrix.
const MATRIX: usize = 8;

pub(crate) fn run(args: &StreamsArgs) -> Result<()> {
    let part = &args.asked.part;
    let capture = load::capture(&part.path, &part.range)?;
    let analysis = Analysis::new(&capture, &load::options(&capture, part))?;
    let answer = StreamsAnswer { streams: analysis.streams()?, pairs: args.pairs };
    give(&answer, &[&capture], &args.asked.output)
}

#[derive(Serialize)]
struct StreamsAnswer<'a> {
    #[serde(flatten)]
    streams: &'a Streams,
    #[serde(skip)]
    pairs: bool,
}

impl Answer for StreamsAnswer<'_> {
    const COMMAND: &'static str = "streams";

    fn text(&self, to: &mut Text) {
        let rows: Vec<_> = self
            .streams
            .streams
            .iter()
            .map(|stream| {
                let role = if stream.guessed {
                    stream.role.name().to_owned()
                } else {
                    format!("{} (given)", stream.role.name())
                };
                vec![
                    (Style::Strong, ids(&stream.ids)),
                    (role_style(stream.role), role),
                    cell(stream.rows),
                    cell(time(stream.busy_ns)),
                    cell(percent(stream.density)),
                    cell(time(stream.window_ns.start_ns)),
                    cell(time(stream.window_ns.end_ns)),
                    cell(short(&stream.types.join(", "), 40)),
                ]
            })
            .collect();
        to.table(&["stream", "role", "operators", "busy", "density", "first start", "last end", "types"], &rows);
        if let Some(lane) = self.streams.lanes.iter().find(|lane| lane.id.is_none()) {
            to.line(Style::Dim, &format!("{} rows have no stream (collectives as a whole)", lane.rows));
        }
        self.matrix(to);
        for note in &self.streams.notes {
            to.field("note", Style::Plain, "", note);
        }
    }

    fn table(&self) -> Table {
        if self.pairs { self.pair_table() } else { self.lane_table() }
    }
}

impl StreamsAnswer<'_> {
    /// How long each two were busy at once.
    fn matrix(&self, to: &mut Text) {
        let lanes: Vec<usize> =
            (0..self.streams.lanes.len()).filter(|&lane| self.streams.lanes[lane].busy_ns > 0).collect();
        if lanes.len() < 2 {
            return;
        }
        to.blank();
        if lanes.len() > MATRIX {
            to.line(Style::Strong, "busy at the same time (pairs that were)");
            let mut pairs: Vec<_> = self.streams.pairs.iter().filter(|pair| pair.overlap_ns > 0).collect();
            pairs.sort_by_key(|pair| std::cmp::Reverse(pair.overlap_ns));
            let rows: Vec<_> = pairs
                .iter()
                .take(12)
                .map(|pair| {
                    vec![
                        cell(format!("{} x {}", name(&self.streams.lanes[pair.a]), name(&self.streams.lanes[pair.b]))),
                        cell(time(pair.overlap_ns)),
                        cell(if pair.duplicates { "the same collectives" } else { "" }),
                    ]
                })
                .collect();
            to.table(&["pair", "overlap", ""], &rows);
            return;
        }
        to.line(Style::Strong, "busy at the same time");
        let names: Vec<String> = lanes.iter().map(|&lane| name(&self.streams.lanes[lane])).collect();
        let titles: Vec<&str> = [""].into_iter().chain(names.iter().skip(1).map(String::as_str)).collect();
        let rows: Vec<_> = lanes[..lanes.len() - 1]
            .iter()
            .enumerate()
            .map(|(row, &a)| {
                let mut cells = vec![(Style::Strong, names[row].clone())];
                for (column, &b) in lanes.iter().enumerate().skip(1) {
                    let pair = self.streams.pairs.iter().find(|pair| (pair.a, pair.b) == (a, b));
                    cells.push(match pair {
                        Some(pair) if column > row && pair.duplicates => {
                            (Style::Dim, format!("{} *", time(pair.overlap_ns)))
                        }
                        Some(pair) if column > row => cell(time(pair.overlap_ns)),
                        _ => cell(""),
                    });
                }
                cells
            })
            .collect();
        to.table(&titles, &rows);
        if self.streams.pairs.iter().any(|pair| pair.duplicates) {
            to.line(Style::Dim, "* rows of one and the same collectives: no overlap");
        }
    }

    fn lane_table(&self) -> Table {
        let header =
            vec!["id", "stream", "role", "rows", "work_rows", "sum_ns", "busy_ns", "work_ns", "start_ns", "end_ns"];
        let row = |lane: &Lane| {
            let stream = lane.stream.and_then(|at| self.streams.streams.get(at));
            vec![
                some(lane.id),
                stream.map_or_else(String::new, |stream| ids(&stream.ids)),
                stream.map_or("", |stream| stream.role.name()).into(),
                lane.rows.to_string(),
                lane.work_rows.to_string(),
                lane.sum_ns.to_string(),
                lane.busy_ns.to_string(),
                lane.work_ns.to_string(),
                lane.window_ns.start_ns.to_string(),
                lane.window_ns.end_ns.to_string(),
            ]
        };
        Table { header, rows: self.streams.lanes.iter().map(row).collect() }
    }

    fn pair_table(&self) -> Table {
        let header = vec!["a", "b", "overlap_ns", "work_overlap_ns", "share_of_a", "share_of_b", "duplicates"];
        let id = |at: usize| some(self.streams.lanes[at].id);
        let rows = self.streams.pairs.iter().map(|pair| {
            vec![
                id(pair.a),
                id(pair.b),
                pair.overlap_ns.to_string(),
                pair.work_overlap_ns.to_string(),
                share(pair.share_of_a),
                share(pair.share_of_b),
                pair.duplicates.to_string(),
            ]
        });
        Table { header, rows: rows.collect() }
    }
}

fn name(lane: &Lane) -> String {
    lane.id.map_or_else(|| "N/A".into(), |id| id.to_string())
}

fn role_style(role: Role) -> Style {
    match role {
        Role::Main | Role::Side => Style::Strong,
        Role::Minor | Role::Control => Style::Dim,
        Role::Communication | Role::Copy => Style::Plain,
    }
}
