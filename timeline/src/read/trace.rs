//! Chrome traces: `trace_view.json`, `msprof*.json` and `task_time*.json` of Ascend, traces of PyTorch on CUDA, and the
//! traces that this crate writes.
//!
//! Operators are the tasks of the process `Ascend Hardware` (those with a `Task Type`) and, as one row of no stream each,
//! the collectives of the lanes `Group n Communication`. Waits and records become syncs. The tasks inside of a collective
//! are known from its `Plane` lanes: copies are left to the collective's own row, kernels are communication.
//!
//! A trace knows less than a `kernel_details.csv`: it has no shapes, and says `AI_CORE` of vector operators too.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::builder::{Builder, Mark};
use super::cuda;
use super::events::{Event, Events, Next, Stop};
use super::kind::Task;
use super::number::{scaled, trim, whole, whole_u32};
use super::operators::device_sync;
use super::task_args::TaskArgs;
use crate::capture::{Row, Strings, Symbol};
use crate::{Core, Error, Result, Sync};

/// Reads a trace into `to`.
pub(crate) fn read(from: impl Read, path: &Path, to: &mut Builder) -> Result<()> {
    let mark = to.mark();
    to.source(path, "trace_view.json");
    let mut trace = Trace::new(to);
    let is_trace = Events::new(from).each(|next| trace.take(next)).map_err(|stop| match stop {
        Stop::Io(error) => Error::read(path)(error),
        Stop::Text(why) => Error::format(path, format!("broken JSON: {why}")),
    })?;
    if !is_trace {
        return Err(Error::format(path, "JSON, but no trace: neither an array nor a key `traceEvents`"));
    }
    trace.finish(path, &mark)
}

/// Why an event cannot be taken over.
pub(crate) type Why = String;

/// A thread of a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Thread {
    process: Symbol,
    thread: Symbol,
}

/// A process of a trace.
struct Process {
    pid: Symbol,
    /// The number of its device, where its label says.
    label: Option<u32>,
    /// It is a device.
    has_tasks: bool,
}

/// What a lane that has no tasks of the device shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    /// Whole collectives.
    Collectives,
    /// Tasks inside collectives, once more.
    Planes,
    Other,
}

/// A slice whose lane has no name yet.
struct Pending {
    thread: Thread,
    number: u64,
    name: Symbol,
    start_ns: u64,
    duration_ns: u64,
    inner_stream: Option<u32>,
}

/// A trace that is being read.
pub(crate) struct Trace<'b> {
    pub(crate) to: &'b mut Builder,
    /// Texts of lanes and processes; those of rows are the capture's.
    texts: Strings,
    lanes: HashMap<Thread, Lane>,
    pending: Vec<Pending>,
    /// Rows have the place of their process in this list until the end.
    processes: Vec<Process>,
    /// Start and stream of each task inside a collective.
    inner: HashSet<(u64, u32)>,
    /// Steps of a GPU: start, end, number.
    pub(crate) steps: Vec<(u64, u64, u32)>,
    /// What times count from, in traces of this crate.
    origin_ns: Option<u64>,
    has_task_type: Finder<'static>,
    events: u64,
    metadata: u64,
    pub(crate) gpu: bool,
}

impl<'b> Trace<'b> {
    fn new(to: &'b mut Builder) -> Trace<'b> {
        Trace {
            to,
            texts: Strings::default(),
            lanes: HashMap::new(),
            pending: Vec::new(),
            processes: Vec::new(),
            inner: HashSet::new(),
            steps: Vec::new(),
            origin_ns: None,
            has_task_type: Finder::new("\"Task Type\""),
            events: 0,
            metadata: 0,
            gpu: false,
        }
    }

    fn take(&mut self, next: Next<'_>) {
        match next {
            Next::About(about) => self.about(about),
            Next::Broken(number, why) => self.to.drop_row(number, format!("event {number} {why}: left out")),
            Next::Event(number, event) => {
                self.events += 1;
                if let Err(why) = self.event(number, &event) {
                    self.to.drop_row(number, format!("event {number}: {why}: left out"));
                }
            }
        }
    }

    fn about(&mut self, about: &[u8]) {
        #[derive(Deserialize)]
        struct About<'a> {
            #[serde(borrow)]
            origin_ns: Option<&'a RawValue>,
        }
        if let Ok(About { origin_ns: Some(origin) }) = serde_json::from_slice(about) {
            self.origin_ns = whole(origin.get().as_bytes()).ok();
        }
    }

    fn event(&mut self, number: u64, event: &Event<'_>) -> Result<(), Why> {
        match event.ph.map(RawValue::get) {
            Some("\"X\"") => self.slice(number, event),
            Some("\"M\"") => {
                self.metadata += 1;
                self.name(event);
                Ok(())
            }
            _ => self.pass_over(),
        }
    }

    /// Passes over an event that is no work of the device.
    fn pass_over(&mut self) -> Result<(), Why> {
        self.to.skip();
        Ok(())
    }

    /// What a process or a thread is called.
    fn name(&mut self, event: &Event<'_>) {
        #[derive(Deserialize)]
        struct Names<'a> {
            #[serde(borrow, default)]
            name: Option<&'a RawValue>,
            #[serde(borrow, default)]
            labels: Option<&'a RawValue>,
        }
        let Some(Ok(names)) = event.args.map(|args| serde_json::from_str::<Names<'_>>(args.get())) else { return };
        match (event.name.map(RawValue::get), names.name, names.labels) {
            (Some("\"thread_name\""), Some(name), _) => {
                let thread = self.thread(event);
                self.lanes.insert(thread, Lane::of(&text(name)));
            }
            (Some("\"process_labels\""), _, Some(labels)) => {
                let process = self.process(event);
                self.processes[process].label = last_number(&text(labels));
            }
            _ => {}
        }
    }

    fn thread(&mut self, event: &Event<'_>) -> Thread {
        let mut intern = |value: Option<&RawValue>| self.texts.intern(value.map_or("", RawValue::get));
        Thread { process: intern(event.pid), thread: intern(event.tid) }
    }

    /// The place of the event's process among the processes.
    fn process(&mut self, event: &Event<'_>) -> usize {
        let pid = self.thread(event).process;
        self.processes.iter().position(|known| known.pid == pid).unwrap_or_else(|| {
            self.processes.push(Process { pid, label: None, has_tasks: false });
            self.processes.len() - 1
        })
    }

    fn slice(&mut self, number: u64, event: &Event<'_>) -> Result<(), Why> {
        let args = event.args.map_or("", RawValue::get);
        if self.has_task_type.find(args.as_bytes()).is_some() {
            return self.task(number, event, args);
        }
        match event.cat.map(RawValue::get) {
            Some(category) if cuda::is_device(category) => cuda::event(self, number, event, category),
            _ => self.lane_slice(number, event, args),
        }
    }

    /// A task of the device.
    fn task(&mut self, number: u64, event: &Event<'_>, args: &str) -> Result<(), Why> {
        let args: TaskArgs<'_> = serde_json::from_str(args).map_err(|error| format!("args: {error}"))?;
        let kind = args.kind();
        if kind == Task::Control {
            return self.pass_over();
        }
        let (start_ns, duration_ns) = self.times(event)?;
        let stream = self.stream(event, &args)?;
        let process = self.process(event);
        self.processes[process].has_tasks = true;
        let device = process as u32;
        match kind {
            Task::Sync(kind, via) => {
                let stream_id = stream.ok_or("a wait or record of no stream")?;
                let sync = device_sync(kind, via, device, stream_id, start_ns, duration_ns);
                let mut sync = Sync { task: args.task(), ..sync };
                args.complete(&mut sync);
                self.to.sync(sync);
                Ok(())
            }
            Task::Work(core) => {
                let name = self.to.intern(&event.name.map_or("".into(), text));
                let row = self.bare_row(number, name, core, start_ns, duration_ns);
                let mut row = Row { device, stream, task: args.task(), ..row };
                args.complete_row(&mut row, self.to);
                self.to.row(row)
            }
            Task::Control => Ok(()),
        }
    }

    /// The thread is the logical stream. `Stream Id` is that as well, where it is given; `Physic Stream Id` is not. Where
    /// this crate writes no stream there is none.
    fn stream(&self, event: &Event<'_>, args: &TaskArgs<'_>) -> Result<Option<u32>, Why> {
        let value = match args.stream_id {
            Some(stream) => stream,
            None if self.origin_ns.is_some() => return Ok(None),
            None => event.tid.ok_or("neither a tid nor a Stream Id")?,
        };
        let stream = whole_u32(value.get().as_bytes()).map_err(|why| format!("stream `{}` {why}", value.get()))?;
        Ok(Some(stream).filter(|&stream| stream != u32::MAX))
    }

    /// A slice of a lane that the device does not have: of interest if it is a collective or inside one.
    fn lane_slice(&mut self, number: u64, event: &Event<'_>, args: &str) -> Result<(), Why> {
        let thread = self.thread(event);
        let lane = self.lanes.get(&thread).copied();
        if lane == Some(Lane::Other) {
            return self.pass_over();
        }
        let (start_ns, duration_ns) = match self.times(event) {
            Ok(times) => times,
            Err(why) if lane.is_some() => return Err(why),
            // Nobody knows what it would have been.
            Err(_) => return self.pass_over(),
        };
        let name = self.texts.intern(&event.name.map_or("".into(), text));
        let pending = Pending { thread, number, name, start_ns, duration_ns, inner_stream: inner_stream(args) };
        match lane {
            Some(lane) => self.resolve(&pending, lane)?,
            None => self.pending.push(pending),
        }
        Ok(())
    }

    fn resolve(&mut self, slice: &Pending, lane: Lane) -> Result<(), Why> {
        match lane {
            Lane::Collectives => {
                let name = self.texts.text(slice.name);
                let (name, op_type) = (self.to.intern(name), self.to.intern(collective_type(name)));
                let row = self.bare_row(slice.number, name, Core::Communication, slice.start_ns, slice.duration_ns);
                // Collectives are a process of their own; which device it belongs to is seen when all are known.
                self.to.row(Row { op_type, device: u32::MAX, ..row })
            }
            Lane::Planes => {
                self.inner.extend(slice.inner_stream.map(|stream| (slice.start_ns, stream)));
                self.pass_over()
            }
            Lane::Other => self.pass_over(),
        }
    }

    /// Start and duration of a slice, in ns.
    pub(crate) fn times(&self, event: &Event<'_>) -> Result<(u64, u64), Why> {
        let time = |title: &str, value: Option<&RawValue>| {
            let value = value.ok_or_else(|| format!("no `{title}`"))?.get();
            scaled(value.as_bytes(), 3).map_err(|why| format!("`{title}` {value} {why}"))
        };
        let start =
            time("ts", event.ts)?.checked_add(self.origin_ns.unwrap_or(0)).ok_or("`ts` is past the end of time")?;
        Ok((start, time("dur", event.dur)?))
    }

    /// A row of which no more is known, on no stream.
    pub(crate) fn bare_row(&self, line: u64, name: Symbol, core: Core, start_ns: u64, duration_ns: u64) -> Row {
        Row { core, start_ns, duration_ns, ..self.to.bare_row(line, name) }
    }

    fn finish(mut self, path: &Path, mark: &Mark) -> Result<()> {
        for slice in std::mem::take(&mut self.pending) {
            let lane = self.lanes.get(&slice.thread).copied().unwrap_or(Lane::Other);
            if let Err(why) = self.resolve(&slice, lane) {
                self.to.drop_row(slice.number, format!("event {}: {why}: left out", slice.number));
            }
        }
        if self.gpu {
            self.to.call_source("Chrome trace of a GPU");
        } else {
            self.settle(mark);
        }
        if !self.steps.is_empty() {
            self.to.assign_steps(mark, self.steps);
        }
        if self.to.is_empty_source() {
            let why = match self.events - self.metadata {
                0 => "only metadata: streams are declared, but no slice is on them".to_string(),
                others => format!("{others} events, none of them of a device: was the device traced?"),
            };
            return Err(Error::no_data(path, why));
        }
        Ok(())
    }

    /// What is known only now: the devices, and which tasks are inside of collectives.
    fn settle(&mut self, mark: &Mark) {
        let devices = devices(&self.processes);
        // Collectives are on no device's process; that they are the first one's holds as long as a trace has one.
        let first = self.processes.iter().position(|process| process.has_tasks).unwrap_or(0);
        let device = |place: u32| devices.get(place as usize).or(devices.get(first)).copied().unwrap_or(0);
        let inner = &self.inner;
        self.to.settle(
            mark,
            |row| {
                row.device = device(row.device);
                let is_inner = row.stream.is_some_and(|stream| inner.contains(&(row.start_ns, stream)));
                if is_inner && row.core != Core::AiCpu && row.core != Core::Copy {
                    row.core = Core::Communication;
                }
                !(is_inner && row.core == Core::Copy)
            },
            |sync| sync.device_id = device(sync.device_id),
        );
    }
}

impl Lane {
    fn of(name: &str) -> Lane {
        if name == "Communication Kernel" || name.starts_with("Group ") && name.ends_with("Communication") {
            Lane::Collectives
        } else if name.starts_with("Plane ") {
            Lane::Planes
        } else {
            Lane::Other
        }
    }
}

/// The device of each process: what its label says; devices whose labels say nothing are counted.
fn devices(processes: &[Process]) -> Vec<u32> {
    let mut counted = 0..;
    let mut device = |process: &Process| match process.label {
        Some(label) => label,
        None if process.has_tasks => counted.next().unwrap_or(0),
        None => 0,
    };
    processes.iter().map(&mut device).collect()
}

/// The stream of a task inside a collective.
fn inner_stream(args: &str) -> Option<u32> {
    #[derive(Deserialize)]
    struct PlaneArgs<'a> {
        #[serde(borrow, rename = "stream id")]
        stream: Option<&'a RawValue>,
    }
    if !args.contains("\"stream id\"") {
        return None;
    }
    let args: PlaneArgs<'_> = serde_json::from_str(args).ok()?;
    whole_u32(args.stream?.get().as_bytes()).ok()
}

/// `hcom_allReduce_` of `hcom_allReduce__586_0_1`, as the column `Type` has it.
fn collective_type(name: &str) -> &str {
    let mut rest = name;
    while let Some((before, number)) = rest.rsplit_once('_')
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        rest = before;
    }
    rest
}

/// `7` of `NPU 7`.
fn last_number(label: &str) -> Option<u32> {
    let digits = label.trim_end_matches(|c: char| !c.is_ascii_digit());
    let start = digits.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    digits[start..].parse().ok()
}

/// A JSON value as text, without quotes.
pub(crate) fn text(value: &RawValue) -> Cow<'_, str> {
    let raw = value.get();
    match raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) {
        Some(inner) if !inner.contains('\\') => inner.into(),
        Some(_) => serde_json::from_str::<String>(raw).map_or(raw.into(), Cow::from),
        None => String::from_utf8_lossy(trim(raw.as_bytes())),
    }
}
