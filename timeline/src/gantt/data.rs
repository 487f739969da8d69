//! The data of the page: a capture in, JSON in columns out, so that a hundred thousand operators stay a few megabytes.
//!
//! Times are ns since the origin; starts are written as differences, since they grow.

use std::collections::HashMap;
use std::io::Write;

use super::{Kind, Options, layout};
use crate::arrows::arrows;
use crate::capture::Symbol;
use crate::cores::{blocks, core_sums};
use crate::lanes::{Item, Lanes};
use crate::trace::json::{Object, Quoted};
use crate::{Capture, Result};

/// Writes everything that the script of the page draws.
pub(super) fn write(to: &mut impl Write, capture: &Capture, options: &Options) -> Result<()> {
    let lanes = Lanes::of(capture);
    let scale = layout::Scale::of(capture, options, 1.0);
    let origin = scale.origin_ns;
    let about = Object::new()
        .text("title", &options.title)
        .text("verdict", &options.verdict)
        .with("first", scale.start_ns - origin)
        .with("last", scale.end_ns - origin)
        .with("origin", Quoted(&origin.to_string()));
    let kinds = Kind::ALL.iter().map(|kind| {
        Object::new().text("name", kind.name()).text("colour", kind.colour()).with("wait", *kind == Kind::Wait).end()
    });
    let rows = lanes.lanes.iter().map(|lane| {
        let note = options.notes.iter().find(|note| (note.0, note.1) == (lane.device, lane.stream));
        let note = note.filter(|_| lane.extra == 0).map_or("", |note| &note.2);
        Object::new().text("name", &lane.name()).with("device", lane.device).text("note", note).end()
    });
    let marks = options.marks.iter().map(|mark| {
        let start = mark.start_ns.saturating_sub(origin);
        let mark_about = Object::new().text("lane", mark.kind.lane()).text("text", &mark.text);
        mark_about.with("start", start).with("duration", mark.duration_ns).end()
    });
    let arrows: Vec<_> = arrows(&lanes).into_iter().filter(|arrow| arrow.released).collect();
    let arrows = arrows.iter().map(|arrow| {
        format!("[{},{},{},{}]", arrow.from, arrow.leaves_ns - origin, arrow.to, arrow.arrives_ns - origin)
    });
    let sums = core_sums(capture, options.cores);
    let sums = sums.iter().map(|sum| format!("[{},{},{}]", sum.start_ns - origin, sum.cube, sum.vector));
    let cores = options.cores.map_or("null".into(), |cores| format!("[{},{}]", cores.0, cores.1));

    write!(to, "{{\"about\":{}", about.end())?;
    array(to, "kinds", kinds)?;
    array(to, "lanes", rows)?;
    array(to, "marks", marks)?;
    array(to, "arrows", arrows)?;
    array(to, "sums", sums)?;
    write!(to, ",\n\"cores\":{cores}")?;
    items(to, capture, &lanes, origin)?;
    to.write_all(b"}")?;
    Ok(())
}

/// The items, a column a property.
fn items(to: &mut impl Write, capture: &Capture, lanes: &Lanes, origin: u64) -> Result<()> {
    let drawn: Vec<_> =
        lanes.items.iter().filter_map(|&(lane, item)| Some((lane, item, layout::kind(item)?))).collect();
    let mut texts = Texts { capture, numbers: HashMap::new(), texts: Vec::new() };
    let mut last = origin;
    let starts = drawn.iter().map(|(_, item, _)| {
        let step = item.start_ns() - last;
        last = item.start_ns();
        step
    });
    array(to, "start", starts)?;
    array(to, "duration", drawn.iter().map(|(_, item, _)| item.end_ns() - item.start_ns()))?;
    array(to, "lane", drawn.iter().map(|(lane, ..)| lane))?;
    array(to, "kind", drawn.iter().map(|(.., kind)| *kind as usize))?;
    array(to, "name", drawn.iter().map(|(_, item, _)| texts.of(*item, |row| row.name)))?;
    array(to, "type", drawn.iter().map(|(_, item, _)| texts.of(*item, |row| row.op_type)))?;
    array(to, "shapes", drawn.iter().map(|(_, item, _)| texts.of(*item, |row| row.input_shapes)))?;
    let cores = drawn.iter().map(|(_, item, _)| match item {
        Item::Row(row) => blocks(row),
        Item::Sync(_) => (0, 0),
    });
    let (cube, vector): (Vec<_>, Vec<_>) = cores.unzip();
    array(to, "cube", cube)?;
    array(to, "vector", vector)?;
    let work = drawn.iter().map(|(_, item, _)| match item {
        Item::Row(row) => row.aicore_ns.unwrap_or(0).max(row.aiv_ns.unwrap_or(0)),
        Item::Sync(_) => 0,
    });
    array(to, "work", work)?;
    array(to, "texts", texts.texts.iter().map(|text| Quoted(text)))
}

/// The texts of items, each once.
struct Texts<'a> {
    capture: &'a Capture,
    numbers: HashMap<String, usize>,
    texts: Vec<String>,
}

impl Texts<'_> {
    fn of(&mut self, item: Item, text: impl Fn(&crate::capture::Row) -> Symbol) -> usize {
        let text = match item {
            Item::Row(row) => self.capture.strings.text(text(row)).to_owned(),
            Item::Sync(sync) => match &sync.site {
                Some(site) => format!("wait for {} at {}:{}", site.variables, site.file, site.line),
                None => "wait".into(),
            },
        };
        *self.numbers.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            self.texts.len() - 1
        })
    }
}

/// `,"key":[a,b,c]`, on a line of its own.
fn array(to: &mut impl Write, key: &str, values: impl IntoIterator<Item = impl std::fmt::Display>) -> Result<()> {
    write!(to, ",\n\"{key}\":[")?;
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            to.write_all(b",")?;
        }
        write!(to, "{value}")?;
    }
    to.write_all(b"]")?;
    Ok(())
}
