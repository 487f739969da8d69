//! The picture for a page.

use std::fmt::Write;

use super::layout::{Scale, Shapes, has_mark, marks, occupancy};
use super::{Kind, Options};
use crate::arrows::{Arrow, arrows};
use crate::lanes::{Item, Lane, Lanes};
use crate::{Capture, MarkKind};

const WIDTH: f64 = 1200.0;
/// Room for the names of the lanes.
const LEFT: f64 = 150.0;
const RIGHT: f64 = 20.0;
const LANE: f64 = 26.0;
const BAR: f64 = 18.0;
const MARK: f64 = 18.0;
const CHART: f64 = 44.0;
/// Arrows beyond this many hide more than they show; the longest waits keep theirs.
const MOST_ARROWS: usize = 60;
/// Width of a letter in a bar.
const LETTER: f64 = 5.6;

const STYLE: &str = "\
.t{fill:#1c2430}.m{fill:#667180}.g{stroke:#e3e7ed}.s{fill:#f5f7fa}.p{fill:#fff}.b{fill:#fff;font-size:10px;pointer-events:none}\
.w{stroke:#d23f57}.a{stroke:#d23f57;fill:none;stroke-width:1.2;opacity:.85}.ah{fill:#d23f57}\
.o{fill:#e6b422;opacity:.16}.side{fill:#6c7a91}.main{fill:#4a5870}.over{fill:#b8860b}.barrier{fill:#d23f57}\
.cu{fill:#3b6fd4;opacity:.75}.ve{fill:#1f8a70;opacity:.75}.cap{stroke:#98a2b0;stroke-dasharray:3 3}\
@media(prefers-color-scheme:dark){.t{fill:#e6eaf0}.m{fill:#97a2b2}.g{stroke:#2a323d}.s{fill:#1a2028}.p{fill:#12161c}.cap{stroke:#667180}}";

/// The whole picture.
pub(super) fn draw(capture: &Capture, options: &Options) -> String {
    let lanes = Lanes::of(capture);
    let scale = Scale::of(capture, options, WIDTH - LEFT - RIGHT);
    let page = Page::of(&lanes, capture, options);
    let mut out = String::new();
    page.open(&mut out, options);
    page.heading(&mut out, capture, &lanes, options);
    page.grid(&mut out, scale);
    page.marks(&mut out, options, scale);
    page.lane_names(&mut out, &lanes.lanes, options);
    page.bars(&mut out, capture, &lanes, scale);
    page.arrows(&mut out, &lanes, scale);
    page.cores(&mut out, capture, options, scale);
    out.push_str("</svg>\n");
    out
}

/// Heights of the parts of the page.
struct Page {
    legend: f64,
    marks: f64,
    lanes: f64,
    lane_count: usize,
    /// Tops of the charts of cube and of vector cores; `None` if no operator says how many it used.
    charts: Option<(f64, f64)>,
    axis: f64,
    height: f64,
}

impl Page {
    fn of(lanes: &Lanes, capture: &Capture, options: &Options) -> Page {
        let mut y = 14.0;
        y += if options.title.is_empty() { 0.0 } else { 22.0 };
        y += if options.verdict.is_empty() { 0.0 } else { 20.0 };
        let legend = y;
        let marks = legend + 26.0;
        let rows = MarkKind::ALL.iter().filter(|kind| has_mark(options, **kind)).count();
        let top = marks + rows as f64 * MARK + if rows > 0 { 8.0 } else { 0.0 };
        let mut y = top + lanes.lanes.len() as f64 * LANE + 8.0;
        let any = capture.rows.iter().any(|row| crate::cores::blocks(row) != (0, 0));
        let charts = any.then_some((y, y + CHART + 8.0));
        y += if any { 2.0 * (CHART + 8.0) } else { 0.0 };
        Page { legend, marks, lanes: top, lane_count: lanes.lanes.len(), charts, axis: y, height: y + 26.0 }
    }

    fn lane_y(&self, lane: usize) -> f64 {
        self.lanes + lane as f64 * LANE
    }

    fn open(&self, out: &mut String, options: &Options) {
        let title = if options.title.is_empty() { "operators by stream" } else { &options.title };
        put(
            out,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {h}\" width=\"{WIDTH}\" height=\"{h}\" \
                 role=\"img\" font-family=\"system-ui,-apple-system,'Segoe UI',sans-serif\" font-size=\"12\">\
                 <title>{}</title><style>{STYLE}</style>\
                 <defs><pattern id=\"h\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
                 <rect width=\"6\" height=\"6\" fill=\"#d23f57\" fill-opacity=\".12\"/>\
                 <line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" class=\"w\" stroke-width=\"2.4\" stroke-opacity=\".75\"/></pattern>\
                 <marker id=\"e\" viewBox=\"0 0 6 6\" refX=\"5\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
                 <path d=\"M0 0L6 3L0 6z\" class=\"ah\"/></marker></defs>\
                 <rect class=\"p\" width=\"{WIDTH}\" height=\"{h}\" rx=\"6\"/>\n",
                Escaped(title),
                h = self.height,
            ),
        );
    }

    fn heading(&self, out: &mut String, capture: &Capture, lanes: &Lanes, options: &Options) {
        let mut y = 24.0;
        if !options.title.is_empty() {
            text(out, "t", 16.0, y, "font-size=\"15\" font-weight=\"600\"", &options.title);
            y += 21.0;
        }
        if !options.verdict.is_empty() {
            text(out, "t", 16.0, y, "", &options.verdict);
        }
        let mut x = LEFT;
        for kind in Kind::ALL {
            let there = lanes.items.iter().any(|(_, item)| super::layout::kind(*item) == Some(kind));
            if there {
                let fill = fill(kind);
                let at = self.legend;
                put(
                    out,
                    format_args!("<rect x=\"{x}\" y=\"{at}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{fill}\"/>"),
                );
                text(out, "m", x + 17.0, at + 10.0, "", kind.name());
                x += 17.0 + kind.name().len() as f64 * 6.6 + 18.0;
            }
        }
        let count = format!("{} operators", grouped(capture.rows.len() as u64));
        text(out, "m", WIDTH - RIGHT, self.legend + 10.0, "text-anchor=\"end\"", &count);
        out.push('\n');
    }

    /// Shades behind the lanes, and the time axis.
    fn grid(&self, out: &mut String, scale: Scale) {
        for lane in (0..self.lane_count).step_by(2) {
            let (y, width) = (self.lane_y(lane), WIDTH - RIGHT - 8.0);
            put(
                out,
                format_args!("<rect class=\"s\" x=\"8\" y=\"{y}\" width=\"{width}\" height=\"{LANE}\" rx=\"3\"/>"),
            );
        }
        let (step, ticks) = scale.ticks();
        for tick in ticks {
            let x = LEFT + scale.x(scale.origin_ns + tick);
            let (top, bottom) = (self.marks - 4.0, self.axis);
            put(out, format_args!("<path class=\"g\" d=\"M{x:.1} {top}V{bottom}\"/>"));
            text(out, "m", x, self.axis + 15.0, "text-anchor=\"middle\" font-size=\"11\"", &moment(tick, step));
        }
        out.push('\n');
    }

    /// A row a kind of mark, and the overlap as a shade over the lanes.
    fn marks(&self, out: &mut String, options: &Options, scale: Scale) {
        let kinds: Vec<_> = MarkKind::ALL.into_iter().filter(|kind| has_mark(options, *kind)).collect();
        for (row, kind) in kinds.iter().enumerate() {
            text(out, "m", LEFT - 10.0, self.marks + row as f64 * MARK + 11.0, "text-anchor=\"end\"", kind.lane());
        }
        for (x, end, mark) in marks(options, scale) {
            let row = kinds.iter().position(|kind| *kind == mark.kind).unwrap_or(0);
            let (x, width) = (LEFT + x, (end - x).max(1.0));
            let y = self.marks + row as f64 * MARK;
            let class = match mark.kind {
                MarkKind::SideWindow => "side",
                MarkKind::MainWindow => "main",
                MarkKind::Overlap => "over",
                MarkKind::Barrier => "barrier",
            };
            if mark.kind == MarkKind::Overlap {
                let (top, height) = (self.lanes, self.lane_count as f64 * LANE);
                put(
                    out,
                    format_args!(
                        "<rect class=\"o\" x=\"{x:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\"/>"
                    ),
                );
            }
            put(
                out,
                format_args!(
                    "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{}\" width=\"{width:.1}\" height=\"13\" rx=\"2\"><title>{}</title></rect>",
                    y,
                    Escaped(&mark.text)
                ),
            );
            label(out, x, y + 10.0, width, &mark.text);
        }
        out.push('\n');
    }

    fn lane_names(&self, out: &mut String, lanes: &[Lane], options: &Options) {
        let devices = lanes.iter().any(|lane| lane.device != lanes[0].device);
        for (index, lane) in lanes.iter().enumerate() {
            let y = self.lane_y(index) + 17.0;
            let mut name = if lane.stream.is_none() { "no stream".into() } else { lane.name() };
            if devices {
                name = format!("{}: {name}", lane.device);
            }
            text(out, "t", LEFT - 10.0, y, "text-anchor=\"end\"", &name);
            let note =
                options.notes.iter().find(|(device, stream, _)| (*device, *stream) == (lane.device, lane.stream));
            if let (Some((.., note)), 0) = (note, lane.extra) {
                text(out, "m", 16.0, y, "font-size=\"11\"", note);
            }
        }
        out.push('\n');
    }

    fn bars(&self, out: &mut String, capture: &Capture, lanes: &Lanes, scale: Scale) {
        let shapes = Shapes::of(lanes, scale);
        for kind in Kind::ALL {
            for thin in [false, true] {
                let narrow = shapes.merged.iter().filter(|merged| (merged.kind, merged.thin) == (kind, thin));
                let mut path = String::new();
                for merged in narrow {
                    let (x, y, width) = (LEFT + merged.x, self.lane_y(merged.lane) + 4.0, merged.width);
                    put(&mut path, format_args!("M{x:.1} {y}h{width:.1}v{BAR}h-{width:.1}z"));
                }
                if !path.is_empty() {
                    let opacity = if thin { " opacity=\".5\"" } else { "" };
                    put(out, format_args!("<path fill=\"{}\"{opacity} d=\"{path}\"/>\n", kind.colour()));
                }
            }
        }
        for bar in &shapes.bars {
            // A gap that can be seen between operators that follow each other at once.
            let (x, y) = (LEFT + bar.x, self.lane_y(bar.lane) + 4.0);
            let width = if bar.width > 3.0 { bar.width - 0.6 } else { bar.width };
            put(out, format_args!("<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\""));
            let radius = if bar.width > 6.0 { " rx=\"2\"" } else { "" };
            put(out, format_args!("{radius} fill=\"{}\"", fill(bar.kind)));
            if bar.width < 3.0 {
                out.push_str("/>");
                continue;
            }
            put(out, format_args!("><title>{}</title></rect>", Escaped(&about(capture, bar.item))));
            if let Item::Row(row) = bar.item {
                label(out, x, y + 12.5, width, capture.strings.text(row.op_type));
            }
        }
        out.push('\n');
    }

    fn arrows(&self, out: &mut String, lanes: &Lanes, scale: Scale) {
        let mut arrows: Vec<Arrow> = arrows(lanes).into_iter().filter(|arrow| arrow.released).collect();
        arrows.sort_by_key(|arrow| {
            std::cmp::Reverse(lanes.items[arrow.wait].1.end_ns() - lanes.items[arrow.wait].1.start_ns())
        });
        for arrow in arrows.iter().take(MOST_ARROWS) {
            let (x, end) = (LEFT + scale.x(arrow.leaves_ns), LEFT + scale.x(arrow.arrives_ns));
            let down = arrow.to > arrow.from;
            let y = self.lane_y(arrow.from) + if down { 4.0 + BAR } else { 4.0 };
            let to = self.lane_y(arrow.to) + if down { 4.0 } else { 4.0 + BAR };
            // A bend in a short arrow would point back.
            let bend = if end - x > 14.0 { (end - x) / 2.0 } else { 0.0 };
            let path = match bend {
                0.0 => format!("M{x:.1} {y}L{end:.1} {to}"),
                _ => format!("M{x:.1} {y}C{:.1} {y} {:.1} {to} {end:.1} {to}", x + bend, end - bend),
            };
            put(out, format_args!("<path class=\"a\" marker-end=\"url(#e)\" d=\"{path}\"/>"));
        }
        out.push('\n');
    }

    /// Cores in use: an area for cube, one for vector.
    fn cores(&self, out: &mut String, capture: &Capture, options: &Options, scale: Scale) {
        let Some((cube_y, vector_y)) = self.charts else { return };
        let sums = occupancy(capture, options, scale);
        let cube: Vec<f64> = sums.iter().map(|sum| sum.0).collect();
        let vector: Vec<f64> = sums.iter().map(|sum| sum.1).collect();
        let cap = options.cores;
        area(out, "cu", "cube blocks", cube_y, &cube, cap.map(|cores| cores.0));
        area(out, "ve", "vector blocks", vector_y, &vector, cap.map(|cores| cores.1));
    }
}

/// A chart of values, one a unit of width, with its name and its most.
fn area(out: &mut String, class: &str, name: &str, top: f64, values: &[f64], cap: Option<u32>) {
    let peak = values.iter().copied().fold(0.0, f64::max);
    let most = peak.max(cap.map_or(1.0, f64::from));
    let bottom = top + CHART;
    let y = |value: f64| bottom - value / most * CHART;
    text(out, "t", LEFT - 10.0, top + 18.0, "text-anchor=\"end\"", name);
    let scale = match cap {
        Some(cores) => format!("up to {peak:.0}; chip: {cores}"),
        None => format!("up to {peak:.0}"),
    };
    text(out, "m", LEFT - 10.0, top + 33.0, "text-anchor=\"end\" font-size=\"11\"", &scale);
    let mut path = format!("M{LEFT} {bottom}");
    let mut last = bottom;
    for (column, value) in values.iter().enumerate() {
        let at = (y(*value) * 10.0).round() / 10.0;
        if at != last {
            put(&mut path, format_args!("H{}V{at}", LEFT + column as f64));
            last = at;
        }
    }
    let end = LEFT + values.len() as f64;
    put(
        out,
        format_args!(
            "<path class=\"{class}\" d=\"{path}H{end}V{bottom}z\"/><path class=\"g\" d=\"M{LEFT} {bottom}H{end}\"/>"
        ),
    );
    if let Some(cores) = cap {
        put(out, format_args!("<path class=\"cap\" d=\"M{LEFT} {:.1}H{end}\"/>", y(f64::from(cores))));
    }
    out.push('\n');
}

/// What a reader who points at an item sees.
fn about(capture: &Capture, item: Item) -> String {
    let span = item.end_ns() - item.start_ns();
    match item {
        Item::Row(row) => {
            let name = capture.strings.text(row.name);
            format!("{name} ({}), {}", row.core, duration(span))
        }
        Item::Sync(sync) => {
            let mut text = format!("waited {}", duration(span));
            if let Some(site) = &sync.site {
                let _ = write!(text, " for {} at {}:{}", site.variables, site.file, site.line);
            }
            text
        }
    }
}

/// A text in a bar, as much of it as fits.
fn label(out: &mut String, x: f64, y: f64, width: f64, label: &str) {
    let room = ((width - 8.0) / LETTER).max(0.0) as usize;
    let count = label.chars().count();
    if room < 3 || (room < count && room < 5) {
        return;
    }
    let shown: String =
        if count <= room { label.into() } else { label.chars().take(room - 1).chain(['…']).collect() };
    text(out, "b", x + 4.0, y, "", &shown);
}

fn text(out: &mut String, class: &str, x: f64, y: f64, attributes: &str, text: &str) {
    let gap = if attributes.is_empty() { "" } else { " " };
    put(
        out,
        format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\"{gap}{attributes}>{}</text>", Escaped(text)),
    );
}

fn fill(kind: Kind) -> &'static str {
    if kind == Kind::Wait { "url(#h)" } else { kind.colour() }
}

/// Writing into a string cannot fail.
fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(arguments);
}

/// A moment of the axis, in the unit of its steps.
fn moment(ns: u64, step: u64) -> String {
    let (unit, name) = match step {
        1_000_000.. => (1_000_000, "ms"),
        1_000.. => (1_000, "µs"),
        _ => (1, "ns"),
    };
    format!("{} {name}", grouped(ns / unit))
}

/// A length of time in the unit that suits it.
fn duration(ns: u64) -> String {
    match ns {
        10_000_000.. => format!("{:.3} ms", ns as f64 / 1e6),
        _ => format!("{}.{:03} µs", ns / 1_000, ns % 1_000),
    }
}

/// `1234567` as `1 234 567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out
}

/// A text in XML.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for char in self.0.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                // XML has no way to write these.
                control if control.is_control() => f.write_char('\u{fffd}')?,
                char => f.write_char(char)?,
            }
        }
        Ok(())
    }
}
