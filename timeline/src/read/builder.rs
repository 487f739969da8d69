//! Collects a [`Capture`]: rows in any order in, a capture that keeps its guarantees out.

use std::cmp::Ordering;
use std::path::Path;

use hashbrown::HashMap;

use crate::capture::{Capture, Dropped, Note, NoteKind, Row, Source, StepTime, Strings, Symbol};
use crate::{Core, Error, Result, Sync};

/// Starts this far before all others are no times of the same clock.
const HOUR_NS: u64 = 3_600_000_000_000;

/// How much of a capture there was at some time.
pub(crate) struct Mark {
    pub(crate) sources: usize,
    pub(crate) rows: usize,
    syncs: usize,
    dropped: usize,
    notes: usize,
}

/// A capture in the making.
pub(crate) struct Builder {
    capture: Capture,
    nothing: Symbol,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        let mut capture = Capture::default();
        let nothing = capture.strings.intern("");
        Builder { capture, nothing }
    }

    /// For a part of the file with this index.
    pub(crate) fn part_of(source: u16) -> Builder {
        let mut builder = Builder::new();
        (0..=source).for_each(|_| builder.source(Path::new(""), ""));
        builder
    }

    /// Takes over a part of the file that is being read, which starts behind line `lines`.
    pub(crate) fn absorb(&mut self, part: Builder, lines: u64) {
        let Capture { strings, rows, syncs, dropped, notes, sources, .. } = part.capture;
        if self.capture.rows.is_empty() {
            // The first part brings its own texts.
            self.capture.strings = strings;
            self.capture.rows = rows;
            self.capture.rows.iter_mut().for_each(|row| row.line += lines);
        } else {
            let symbols: Vec<Symbol> = strings.texts().map(|text| self.intern(text)).collect();
            let ours = |symbol: Symbol| symbols[symbol.index()];
            self.capture.rows.extend(rows.into_iter().map(|row| Row {
                line: row.line + lines,
                name: ours(row.name),
                op_type: ours(row.op_type),
                input_shapes: ours(row.input_shapes),
                input_types: ours(row.input_types),
                output_shapes: ours(row.output_shapes),
                output_types: ours(row.output_types),
                ..row
            }));
        }
        self.capture.syncs.extend(syncs);
        self.capture.dropped.extend(dropped.into_iter().map(|row| Dropped { line: row.line + lines, ..row }));
        self.capture.notes.extend(notes.into_iter().map(|note| Note { line: note.line + lines, ..note }));
        if let (Some(source), Some(part)) = (self.current(), sources.last()) {
            source.rows += part.rows;
            source.syncs += part.syncs;
            source.skipped += part.skipped;
        }
    }

    /// What follows comes from this file.
    pub(crate) fn source(&mut self, path: &Path, format: &'static str) {
        let source = Source { path: path.to_path_buf(), format, rows: 0, syncs: 0, skipped: 0 };
        self.capture.sources.push(source);
    }

    /// The file that is being read.
    pub(crate) fn source_index(&self) -> u16 {
        self.capture.sources.len().saturating_sub(1) as u16
    }

    fn current(&mut self) -> Option<&mut Source> {
        self.capture.sources.last_mut()
    }

    pub(crate) fn intern(&mut self, text: &str) -> Symbol {
        self.capture.strings.intern(text)
    }

    /// A text as a file has it; what is not UTF-8 in it is replaced.
    pub(crate) fn intern_bytes(&mut self, text: &[u8]) -> Symbol {
        self.capture.strings.intern_bytes(text)
    }

    /// The empty text.
    pub(crate) fn nothing(&self) -> Symbol {
        self.nothing
    }

    /// Takes an operator.
    ///
    /// # Errors
    ///
    /// Why not, if its times cannot be.
    pub(crate) fn row(&mut self, row: Row) -> Result<(), String> {
        if row.start_ns == 0 && row.duration_ns == 0 {
            return Err("starts at 0 and lasts 0: the profiler has no times for it: left out".into());
        }
        if row.start_ns.checked_add(row.duration_ns).is_none() {
            return Err(format!(
                "start {} ns + duration {} ns is past the end of time: left out",
                row.start_ns, row.duration_ns
            ));
        }
        self.keep(row);
        Ok(())
    }

    /// Takes an operator whose times are what they are.
    pub(crate) fn keep(&mut self, row: Row) {
        if row.duration_ns == 0 {
            self.note(row.line, NoteKind::ZeroLength);
        }
        self.capture.rows.push(row);
        if let Some(source) = self.current() {
            source.rows += 1;
        }
    }

    /// An operator of which only the name is known.
    pub(crate) fn bare_row(&self, line: u64, name: Symbol) -> Row {
        let nothing = self.nothing;
        Row {
            source: self.source_index(),
            line,
            device: 0,
            step: None,
            stream: None,
            task: None,
            name,
            op_type: nothing,
            core: Core::Unknown,
            start_ns: 0,
            duration_ns: 0,
            blocks: None,
            mix_blocks: None,
            input_shapes: nothing,
            input_types: nothing,
            output_shapes: nothing,
            output_types: nothing,
            aicore_ns: None,
            aiv_ns: None,
        }
    }

    /// Gives each row since `mark` the step (start, end, number) that it starts in.
    pub(crate) fn assign_steps(&mut self, mark: &Mark, mut steps: Vec<(u64, u64, u32)>) {
        steps.sort_unstable();
        for row in &mut self.capture.rows[mark.rows..] {
            let after = steps.partition_point(|(start, _, _)| *start <= row.start_ns);
            let step = after.checked_sub(1).map(|index| steps[index]);
            row.step = step.filter(|(_, end, _)| row.start_ns < *end).map(|(_, _, step)| step);
        }
    }

    pub(crate) fn sync(&mut self, sync: Sync) {
        self.capture.syncs.push(sync);
        if let Some(source) = self.current() {
            source.syncs += 1;
        }
    }

    /// Passes over an entry that is no work.
    pub(crate) fn skip(&mut self) {
        if let Some(source) = self.current() {
            source.skipped += 1;
        }
    }

    pub(crate) fn drop_row(&mut self, line: u64, why: String) {
        let source = self.source_index();
        self.capture.dropped.push(Dropped { source, line, why });
    }

    pub(crate) fn note(&mut self, line: u64, kind: NoteKind) {
        let source = self.source_index();
        self.capture.notes.push(Note { source, line, kind });
    }

    /// Takes what the profiler says of a step.
    pub(crate) fn step_time(&mut self, step: StepTime) {
        self.capture.step_times.push(step);
    }

    /// Lists a whole file that could not be read.
    pub(crate) fn drop_file(&mut self, error: &Error) {
        let path = error.path().unwrap_or(Path::new(""));
        self.source(path, "left out");
        self.drop_row(0, error.to_string());
    }

    /// Takes back what was taken over from a file that turns out not to be readable.
    pub(crate) fn undo(&mut self, mark: &Mark) {
        self.capture.sources.truncate(mark.sources);
        self.capture.rows.truncate(mark.rows);
        self.capture.syncs.truncate(mark.syncs);
        self.capture.dropped.truncate(mark.dropped);
        self.capture.notes.truncate(mark.notes);
    }

    /// How much there is so far.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            sources: self.capture.sources.len(),
            rows: self.capture.rows.len(),
            syncs: self.capture.syncs.len(),
            dropped: self.capture.dropped.len(),
            notes: self.capture.notes.len(),
        }
    }

    /// All files so far.
    pub(crate) fn sources(&self) -> &[Source] {
        &self.capture.sources
    }

    /// All operators so far.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.capture.rows
    }

    /// Renames the kind of the file that is being read.
    pub(crate) fn call_source(&mut self, format: &'static str) {
        if let Some(source) = self.current() {
            source.format = format;
        }
    }

    /// Whether nothing was taken over from the file that is being read.
    pub(crate) fn is_empty_source(&self) -> bool {
        self.capture.sources.last().is_none_or(|source| source.rows == 0)
    }

    /// Lets what was taken over since `mark` be changed; rows for which `row` is false are passed over after all.
    pub(crate) fn settle(&mut self, mark: &Mark, mut row: impl FnMut(&mut Row) -> bool, sync: impl FnMut(&mut Sync)) {
        let Capture { rows, syncs, sources, .. } = &mut self.capture;
        let mut kept = mark.rows;
        for at in mark.rows..rows.len() {
            if row(&mut rows[at]) {
                rows.swap(kept, at);
                kept += 1;
            } else if let Some(source) = sources.get_mut(rows[at].source as usize) {
                source.rows -= 1;
                source.skipped += 1;
            }
        }
        rows.truncate(kept);
        syncs[mark.syncs..].iter_mut().for_each(sync);
    }

    /// The capture, in order.
    pub(crate) fn finish(mut self) -> Capture {
        let capture = &mut self.capture;
        sort(&mut capture.rows, &capture.strings);
        drop_starts_at_zero(capture);
        note_overruns(capture);
        capture.syncs.sort_by_key(|s| (s.start_ns, s.device_id, s.stream_id, s.task, s.kind, s.duration_ns));
        capture.dropped.sort_by_key(|dropped| (dropped.source, dropped.line));
        capture.notes.sort_by_key(|note| (note.source, note.line));
        self.capture
    }
}

/// By start, and rows of one start by what they say.
fn sort(rows: &mut [Row], strings: &Strings) {
    // Files are nearly always sorted, and rows are large to move.
    if !rows.is_sorted_by_key(|row| row.start_ns) {
        rows.sort_by_key(|row| row.start_ns);
    }
    for same in rows.chunk_by_mut(|a, b| a.start_ns == b.start_ns) {
        if same.len() > 1 {
            same.sort_by(|a, b| order_of_same_start(a, b, strings));
        }
    }
}

fn order_of_same_start(a: &Row, b: &Row, strings: &Strings) -> Ordering {
    let numbers = |r: &Row| {
        ((r.device, r.stream, r.task, r.duration_ns, r.core), (r.step, r.blocks, r.mix_blocks, r.aicore_ns, r.aiv_ns))
    };
    let texts = |r: &Row| [r.name, r.op_type, r.input_shapes, r.input_types, r.output_shapes, r.output_types];
    numbers(a)
        .cmp(&numbers(b))
        .then_with(|| texts(a).map(|text| strings.text(text)).cmp(&texts(b).map(|text| strings.text(text))))
        .then_with(|| (a.source, a.line).cmp(&(b.source, b.line)))
}

/// A start of 0 among starts of today is a time that the profiler does not have; it would make the run last for years.
fn drop_starts_at_zero(capture: &mut Capture) {
    let zeros = capture.rows.partition_point(|row| row.start_ns == 0);
    if zeros == 0 || capture.rows.get(zeros).is_none_or(|first| first.start_ns < HOUR_NS) {
        return;
    }
    for row in capture.rows.drain(..zeros) {
        let why = "starts at 0, an hour or more before all others: no time at all: left out".into();
        capture.dropped.push(Dropped { source: row.source, line: row.line, why });
        if let Some(source) = capture.sources.get_mut(row.source as usize) {
            source.rows -= 1;
        }
    }
}

/// Notes rows that last beyond the next start on their stream. They are kept: which of the two times is wrong, or whether
/// the stream stands for several queues (as those of collectives do), is not to be seen from one row.
fn note_overruns(capture: &mut Capture) {
    let step_ns = clock_step(&capture.rows);
    let mut last: HashMap<(u32, u32), usize> = HashMap::new();
    for (index, row) in capture.rows.iter().enumerate() {
        let Some(stream) = row.stream else { continue };
        let Some(previous) = last.insert((row.device, stream), index) else { continue };
        let previous = &capture.rows[previous];
        let by_ns = previous.end_ns().saturating_sub(row.start_ns);
        if by_ns > step_ns && previous.start_ns < row.start_ns {
            let kind = NoteKind::Overrun { next_line: row.line, by_ns };
            capture.notes.push(Note { source: previous.source, line: previous.line, kind });
        }
    }
}

/// The step of the clock that the starts were read from, in ns: 1000 if all are whole microseconds.
fn clock_step(rows: &[Row]) -> u64 {
    let mut step = 1_000;
    for row in rows {
        while row.start_ns % step != 0 {
            step /= 10;
        }
        if step == 1 {
            break;
        }
    }
    step
}
