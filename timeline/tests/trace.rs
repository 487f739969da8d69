//! The trace, held against the rules of the readers it is for. Each rule is one function on the text of a trace, as the
//! reader meets it; all of them are put to a capture made to break them, to random ones, and to real files.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use multicore_timeline::{
    Capture, Core, Mark, MarkKind, Operand, Origin, Record, Site, Sync, SyncKind, Via, cores, trace,
};
use proptest::prelude::*;
use serde_json::Value;

const EPOCH: u64 = 1_774_497_535_428_633_256;

fn op(name: &'static str, core: Core, stream: Option<u32>, start_ns: u64, duration_ns: u64) -> Record {
    Record {
        stream_id: stream,
        start_ns: EPOCH + start_ns,
        duration_ns,
        block_num: 24,
        inputs: vec![Operand::nd(&[16, 7168], "DT_BF16")],
        ..Record::new(name, "MatMul", core)
    }
}

fn sync(kind: SyncKind, stream_id: u32, start_ns: u64, duration_ns: u64, event: Option<u64>) -> Sync {
    let site = Site {
        function: "layer".into(),
        file: "src/layer.rs".into(),
        line: 12,
        variables: "up, down".into(),
        index: 3,
    };
    Sync {
        kind,
        via: Via::Event,
        origin: Origin::Plan,
        device_id: 0,
        stream_id,
        start_ns: EPOCH + start_ns,
        duration_ns,
        event,
        task: None,
        of_stream: None,
        site: Some(site),
    }
}

/// Everything that a reader trips over: absolute times, a stream that overlaps itself, rows of no stream, names made of
/// JSON, two devices, and chains of records and waits at one moment.
fn awkward() -> (Capture, trace::Options) {
    let other_device = Record { device_id: 7, ..op("Add", Core::AiVectorCore, Some(12), 4, 9) };
    let records = [
        op("Cast \"ph\":\"B\"} {[\\", Core::AiVectorCore, Some(2), 0, 10),
        op("hcom_allReduce__360_1_21", Core::Communication, None, 3, 40),
        op("Memcpy", Core::Communication, Some(4), 3, 40),
        op("Reduce", Core::Communication, Some(4), 5, 2),
        op("Notify", Core::Communication, Some(4), 5, 50),
        op("up", Core::MixAic, Some(2), 10, 20),
        op("zero", Core::AiCore, Some(2), 30, 0),
        op("down", Core::AiCore, Some(2), 30, 12),
        op("beside", Core::AiCore, Some(22), 30, 3),
        other_device,
    ];
    let syncs = [
        // Stream 22 waits from 4 to 30 for what stream 2 records at 30, and records again at once; stream 4 is told.
        sync(SyncKind::Wait, 22, 4, 26, Some(1)),
        sync(SyncKind::Record, 2, 30, 0, Some(1)),
        sync(SyncKind::Record, 22, 30, 0, Some(2)),
        sync(SyncKind::Wait, 4, 30, 0, Some(2)),
        // Long since recorded; never recorded; unnumbered; over before its record.
        sync(SyncKind::Wait, 2, 42, 0, Some(2)),
        sync(SyncKind::Wait, 2, 43, 5, Some(9)),
        sync(SyncKind::Wait, 2, 50, 5, None),
        sync(SyncKind::Wait, 22, 40, 2, Some(3)),
        sync(SyncKind::Record, 2, 60, 1, Some(3)),
    ];
    let mark = |kind, text: &str, start_ns, duration_ns| Mark {
        kind,
        device: 0,
        stream: Some(2),
        text: text.into(),
        start_ns: EPOCH + start_ns,
        duration_ns,
    };
    let marks = vec![
        mark(MarkKind::SideWindow, "side window", 30, 3),
        mark(MarkKind::MainWindow, "main window", 30, 12),
        mark(MarkKind::Overlap, "overlap 100 %: true", 30, 3),
        mark(MarkKind::Barrier, "Cast", 0, 10),
        mark(MarkKind::Barrier, "zero", 5, 0),
    ];
    (Capture::from_records(&records, &syncs), trace::Options { marks, cores: None })
}

/// A trace as its readers meet it.
struct Trace {
    text: String,
    events: Vec<Value>,
}

impl Trace {
    fn of(capture: &Capture, options: &trace::Options) -> Trace {
        let mut text = Vec::new();
        trace::write(&mut text, capture, options).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("JSON is UTF-8");
        let whole: Value = serde_json::from_str(&exact(&text)).expect("the trace is JSON");
        let events = whole["traceEvents"].as_array().expect("it has events").clone();
        Trace { text, events }
    }

    fn phase<'a>(&'a self, phase: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["ph"] == phase)
    }

    /// Slices of the process `Ascend Hardware`.
    fn hardware(&self) -> impl Iterator<Item = &Value> {
        self.phase("X").filter(|event| event["cat"] != "verdict")
    }
}

/// The text with its times as texts, so that they are seen digit by digit.
fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, key)) = ["\"ts\":", "\"dur\":"].iter().filter_map(|key| Some((rest.find(key)?, *key))).min() {
        let number = at + key.len();
        let end = number + rest[number..].find([',', '}']).expect("an end");
        assert!(rest[number..].starts_with(|char: char| char.is_ascii_digit()), "not a number: {}", &rest[at..end]);
        out.push_str(&format!("{}\"{}\"", &rest[..number], &rest[number..end]));
        rest = &rest[end..];
    }
    out + rest
}

fn ns(value: &Value) -> u64 {
    let text = value.as_str().expect("a time");
    let (micros, nanos) = text.split_once('.').expect("three decimals");
    assert_eq!(nanos.len(), 3, "three decimals, not {text}");
    micros.parse::<u64>().expect("digits") * 1_000 + nanos.parse::<u64>().expect("digits")
}

fn place(event: &Value) -> (u64, u64) {
    (event["pid"].as_u64().expect("pid"), event["tid"].as_u64().expect("tid"))
}

fn keeps_every_rule(capture: &Capture, options: &trace::Options) -> Trace {
    let trace = Trace::of(capture, options);
    one_event_a_line(&trace);
    only_phases_that_both_read(&trace);
    times_are_relative_numbers(&trace, capture);
    slices_of_a_lane_are_disjoint(&trace);
    lanes_are_named_and_told_apart(&trace);
    arrows_bind_to_their_slices(&trace);
    counters_are_the_core_sums(&trace, capture, options);
    nothing_is_lost(&trace, capture, options);
    trace
}

/// Large files are cut at `"ph"` and the brace behind it: one event a line, `ph` last, and no brace in between.
fn one_event_a_line(trace: &Trace) {
    let (head, events) = trace.text.split_once("\"traceEvents\":[\n").expect("an object with its events on lines");
    assert!(head.len() < 400, "readers look for the events near the start");
    if events == "]}\n" {
        return;
    }
    let events = events.strip_suffix("\n]}\n").expect("the end is on a line of its own");
    for line in events.split(",\n") {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        let tail = format!(",\"ph\":{}}}", event["ph"]);
        assert!(line.ends_with(&tail), "ph is not last: {line}");
        assert_eq!(line.matches("\"ph\":").count(), 1, "{line}");
    }
}

/// `B`, `E`, `b`, `e` and `i` are ignored by one reader; other metadata is an error to it.
fn only_phases_that_both_read(trace: &Trace) {
    let known = ["process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index"];
    for event in &trace.events {
        let phase = event["ph"].as_str().expect("ph");
        assert!(["M", "X", "C", "s", "f"].contains(&phase), "{event}");
        if phase == "M" {
            assert!(known.contains(&event["name"].as_str().expect("name")), "{event}");
            let sort = &event["args"]["sort_index"];
            assert!(sort.is_null() || sort.is_u64(), "{event}");
        }
    }
}

/// Absolute times, and times as text, lose digits or are not read at all.
fn times_are_relative_numbers(trace: &Trace, capture: &Capture) {
    let whole: Value = serde_json::from_str(&trace.text).expect("JSON");
    let origin = whole["otherData"]["origin_ns"].as_str().expect("the origin as text");
    let starts = capture.rows.iter().map(|row| row.start_ns).chain(capture.syncs.iter().map(|sync| sync.start_ns));
    assert_eq!(origin, starts.min().unwrap_or(0).to_string());

    let timed: Vec<&Value> = trace.events.iter().filter(|event| event["ph"] != "M").collect();
    let mut last = 0;
    for event in &timed {
        let ts = ns(&event["ts"]);
        assert!(ts >= last, "not by time: {event}");
        last = ts;
        assert_eq!(event["ph"] == "X", event.get("dur").is_some(), "{event}");
    }
    assert!(timed.is_empty() || ns(&timed[0]["ts"]) == 0);
}

/// Slices that overlap without nesting are dropped by readers; those that nest look like calls.
fn slices_of_a_lane_are_disjoint(trace: &Trace) {
    let mut free = HashMap::new();
    for event in trace.phase("X") {
        let start = ns(&event["ts"]);
        let end = free.insert(place(event), start + ns(&event["dur"])).unwrap_or(0);
        assert!(start >= end, "{event} starts before {end}");
    }
}

/// One reader keys lanes by `pid` and `tid` put together as text.
fn lanes_are_named_and_told_apart(trace: &Trace) {
    let named = |what: &str| -> BTreeMap<(u64, u64), String> {
        let events = trace.phase("M").filter(|event| event["name"] == what);
        events.map(|event| (place(event), event["args"]["name"].as_str().expect("a name").to_owned())).collect()
    };
    let (threads, processes) = (named("thread_name"), named("process_name"));
    let names: BTreeSet<_> = threads.iter().map(|((pid, _), name)| (pid, name)).collect();
    assert_eq!(names.len(), threads.len(), "a name twice: {threads:?}");
    let keys: BTreeSet<_> = threads.keys().map(|(pid, tid)| format!("{pid}{tid}")).collect();
    assert_eq!(keys.len(), threads.len(), "lanes that look the same: {threads:?}");
    for event in trace.phase("X") {
        let (pid, tid) = place(event);
        assert!(threads.contains_key(&(pid, tid)) && processes.contains_key(&(pid, 0)), "no name: {event}");
        let expected = if event["cat"] == "verdict" { "Overlap verdict" } else { "Ascend Hardware" };
        assert_eq!(processes[&(pid, 0)], expected);
        if let Some(stream) = event["args"]["Stream Id"].as_u64() {
            let name = &threads[&(pid, tid)];
            let own = format!("Stream {stream}");
            assert!(*name == own || name.starts_with(&format!("{own} #")), "{event} on {name}");
            assert!(*name != own || tid == stream, "{event} on {tid}");
        }
    }
}

/// A reader ties an arrow to the slice that is open on its lane when the arrow comes.
fn arrows_bind_to_their_slices(trace: &Trace) {
    let mut open: HashMap<(u64, u64), &Value> = HashMap::new();
    let mut leaving: HashMap<u64, &Value> = HashMap::new();
    let mut arrived = 0;
    for event in &trace.events {
        match event["ph"].as_str() {
            Some("X") => {
                open.insert(place(event), event);
            }
            Some("s") => {
                let slice = open[&place(event)];
                let task = slice["args"]["Task Type"].as_str().expect("a task type");
                assert!(task.ends_with("_RECORD"), "{event} leaves {slice}");
                let id = event["id"].as_u64().expect("a small number");
                assert!(id <= trace.events.len() as u64);
                assert!(leaving.insert(id, slice).is_none(), "{event} twice");
            }
            Some("f") => {
                let slice = open[&place(event)];
                let from = leaving[&event["id"].as_u64().expect("id")];
                let task = slice["args"]["Task Type"].as_str().expect("a task type");
                assert!(task.ends_with("_WAIT"), "{event} arrives at {slice}");
                assert_eq!(slice["args"]["Event Id"], from["args"]["Event Id"]);
                assert_eq!(event["bp"], "e");
                arrived += 1;
            }
            _ => {}
        }
    }
    assert_eq!(arrived, leaving.len(), "arrows that arrive nowhere");
}

fn counters_are_the_core_sums(trace: &Trace, capture: &Capture, options: &trace::Options) {
    let mut seen: Vec<(u64, u64, u64)> = Vec::new();
    for event in trace.phase("C") {
        let args = &event["args"];
        seen.push((ns(&event["ts"]), args["cube"].as_u64().expect("cube"), args["vector"].as_u64().expect("vector")));
    }
    let origin =
        capture.rows.iter().map(|row| row.start_ns).chain(capture.syncs.iter().map(|sync| sync.start_ns)).min();
    let mut sums = Vec::new();
    for sum in cores::core_sums(capture, options.cores) {
        let at = sum.start_ns - origin.unwrap_or(0);
        sums.push((at, sum.cube, sum.vector));
        if at == 0 {
            // A counter at time 0 is skipped by one reader.
            sums.push((1, sum.cube, sum.vector));
        }
    }
    seen.sort_unstable();
    sums.sort_unstable();
    assert_eq!(seen, sums);
}

/// Every operator, record and wait is there once, with its times to the nanosecond, and so is every mark.
fn nothing_is_lost(trace: &Trace, capture: &Capture, options: &trace::Options) {
    let origin =
        capture.rows.iter().map(|row| row.start_ns).chain(capture.syncs.iter().map(|sync| sync.start_ns)).min();
    let origin = origin.unwrap_or(0);
    let rows = capture.rows.iter().map(|row| {
        let name = capture.strings.text(row.name).to_owned();
        (name, row.stream.map(u64::from), row.start_ns - origin, row.duration_ns)
    });
    let syncs = capture.syncs.iter().map(|sync| {
        let via = if sync.via == Via::Event { "EVENT" } else { "NOTIFY" };
        let name = format!("{via}_{}", if sync.kind == SyncKind::Wait { "WAIT" } else { "RECORD" });
        (name, Some(u64::from(sync.stream_id)), sync.start_ns - origin, sync.duration_ns)
    });
    let mut expected: Vec<_> = rows.chain(syncs).collect();
    let mut seen: Vec<_> = trace
        .hardware()
        .map(|event| {
            let name = event["name"].as_str().expect("a name").to_owned();
            (name, event["args"]["Stream Id"].as_u64(), ns(&event["ts"]), ns(&event["dur"]))
        })
        .collect();
    expected.sort();
    seen.sort();
    assert_eq!(seen, expected);
    assert_eq!(trace.phase("X").count() - seen.len(), options.marks.len());
}

#[test]
fn every_rule_holds_for_a_capture_made_to_break_them() {
    let (capture, options) = awkward();
    let trace = keeps_every_rule(&capture, &options);
    // 22 for 2, 4 for 22, 2 for 22.
    assert_eq!(trace.phase("f").count(), 3);
    let site = trace.hardware().find(|event| event["args"]["Function"] == "layer").expect("a wait with its site");
    assert_eq!(site["args"]["Origin"], "plan");
    assert_eq!(site["args"]["Variables"], "up, down");
    let up = trace.hardware().find(|event| event["name"] == "up").expect("an operator");
    assert_eq!(up["cat"], "MIX_AIC");
    assert_eq!(up["args"]["Input Shapes"], "16,7168");
    assert_eq!(up["args"]["Block Num"], 24);
}

#[test]
fn an_empty_capture_is_an_empty_trace() {
    keeps_every_rule(&Capture::default(), &trace::Options::default());
}

#[test]
fn a_rule_that_is_broken_is_noticed() {
    let (capture, options) = awkward();
    let mut trace = Trace::of(&capture, &options);
    let last = trace.events.iter().rposition(|event| event["ph"] == "f").expect("an arrow");
    trace.events.remove(last);
    assert!(std::panic::catch_unwind(|| arrows_bind_to_their_slices(&trace)).is_err());
    let (capture, options) = awkward();
    let mut trace = Trace::of(&capture, &options);
    for event in &mut trace.events {
        if event["tid"].as_u64() > Some(22) {
            event["tid"] = 4.into();
        }
    }
    assert!(std::panic::catch_unwind(|| slices_of_a_lane_are_disjoint(&trace)).is_err());
}

#[test]
fn a_chip_with_few_cores_caps_what_an_operator_counts_for() {
    let capture = Capture::from_records(&[op("big", Core::AiCore, Some(1), 0, 5)], &[]);
    let sums = cores::core_sums(&capture, Some((8, 16)));
    assert_eq!(sums.iter().map(|sum| (sum.cube, sum.vector)).collect::<Vec<_>>(), [(8, 0), (0, 0)]);
}

/// Every operator, record and wait in plain terms.
type Said = (Vec<(String, Option<u32>, u64, u64, Core)>, Vec<Sync>);

fn said(capture: &Capture) -> Said {
    let text = |symbol| capture.strings.text(symbol).to_owned();
    let rows = capture.rows.iter().map(|row| (text(row.name), row.stream, row.start_ns, row.duration_ns, row.core));
    let (mut rows, mut syncs): (Vec<_>, Vec<_>) = (rows.collect(), capture.syncs.clone());
    rows.sort();
    syncs.sort_by_key(|sync| (sync.start_ns, sync.stream_id, sync.kind, sync.event));
    (rows, syncs)
}

#[test]
fn what_is_written_is_read_again() {
    let (capture, options) = awkward();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace_view.json");
    trace::write(std::fs::File::create(&path).expect("a file"), &capture, &options).expect("it is written");
    let read = multicore_timeline::read(&path, &multicore_timeline::Options::default()).expect("it is read");
    assert_eq!(said(&read), said(&capture));
}

#[test]
fn every_rule_holds_for_real_captures() {
    let Some(data) = std::env::var_os("MULTICORE_DATA") else {
        eprintln!("skipped: MULTICORE_DATA is not set");
        return;
    };
    for file in ["kd_glm5_decode_a.csv", "kd_dsv3_decode.csv", "trace_view_level1_rank0_npu.json", "msprof_0_2_1.json"]
    {
        let path = std::path::Path::new(&data).join("profiles").join(file);
        let capture = multicore_timeline::read(&path, &multicore_timeline::Options::default()).expect("it is read");
        keeps_every_rule(&capture, &trace::Options::default());
    }
}

fn any_core() -> impl Strategy<Value = Core> {
    prop::sample::select(vec![Core::AiCore, Core::AiVectorCore, Core::MixAiv, Core::Communication, Core::AiCpu])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_rule_holds_for_random_captures(
        ops in prop::collection::vec((any_core(), prop::option::of(0u32..4), 0u64..40, 0u64..12, 0u32..3), 0..40),
        syncs in prop::collection::vec((any::<bool>(), 0u32..4, 0u64..40, 0u64..12, prop::option::of(0u64..6)), 0..20),
    ) {
        let ops: Vec<_> = ops.into_iter().map(|(core, stream, start, duration, device_id)| {
            Record { device_id, ..op("op", core, stream, start, duration) }
        }).collect();
        // An event is recorded once.
        let mut recorded = BTreeSet::new();
        let syncs: Vec<_> = syncs.into_iter().filter_map(|(record, stream, start, duration, event)| {
            let kind = if record { SyncKind::Record } else { SyncKind::Wait };
            let again = record && event.is_some_and(|event| !recorded.insert(event));
            (!again).then(|| sync(kind, stream, start, if record { 0 } else { duration }, event))
        }).collect();
        keeps_every_rule(&Capture::from_records(&ops, &syncs), &trace::Options::default());
    }
}
