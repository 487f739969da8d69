//! What traces and folders do to readers, on files written here.

use std::fs;
use std::path::{Path, PathBuf};

use multicore_timeline::{
    Capture, Core, ErrorKind, Operand, Options, Origin, Record, Result, Site, Sync, SyncKind, Via, read, write_folder,
};
use tempfile::TempDir;

fn try_trace(text: impl AsRef<[u8]>) -> Result<Capture> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace_view.json");
    fs::write(&path, text).expect("a file");
    read(&path, &Options::default())
}

fn trace(text: impl AsRef<[u8]>) -> Capture {
    try_trace(text).unwrap_or_else(|e| panic!("{e}"))
}

fn task(name: &str, kind: &str, stream: u32, ts: &str, dur: &str) -> String {
    format!(
        r#"{{"name":"{name}","pid":7,"tid":{stream},"ts":{ts},"dur":{dur},"args":{{"Task Type":"{kind}","Physic Stream Id":99,"Task Id":5}},"ph":"X"}}"#
    )
}

/// Two operators and a wait between them.
fn events() -> [String; 3] {
    [
        task("a", "AI_CORE", 2, r#""1736408883704643.212""#, "53.7410625"),
        task("EVENT_WAIT", "EVENT_WAIT_SQE", 2, r#""1736408883704696.953""#, "10"),
        task("b", "MIX_AIV", 2, r#""1736408883704706.953""#, "0.02003125"),
    ]
}

fn holds_them(capture: &Capture) {
    let rows: Vec<_> = capture.rows.iter().map(|r| (r.start_ns, r.duration_ns, r.stream, r.core)).collect();
    assert_eq!(
        rows,
        [
            (1_736_408_883_704_643_212, 53_741, Some(2), Core::AiCore),
            (1_736_408_883_704_706_953, 20, Some(2), Core::MixAiv)
        ]
    );
    let [wait] = &capture.syncs[..] else { panic!("{:?}", capture.syncs) };
    assert_eq!((wait.kind, wait.via, wait.stream_id, wait.duration_ns), (SyncKind::Wait, Via::Event, 2, 10_000));
    assert_eq!((wait.origin, wait.task), (Origin::Device, Some(5)));
}

#[test]
fn arrays_and_objects_texts_and_numbers() {
    let list = events().join(",\n");
    for text in [
        format!("[{list}]"),
        format!("\u{feff} [ {list} ]\n"),
        format!("[{list}"),
        format!("[{list},"),
        format!(r#"{{"traceEvents":[{list}]}}"#),
        format!(
            r#"{{"schemaVersion":1,"deviceProperties":[{{"a":"}}]"}}],"x":null,"traceEvents":[{list}],"name":"n"}}"#
        ),
        format!("[{list}]").replace(r#""1736408883704643.212""#, "1736408883704643.212"),
        format!("[{list}]").replace("\"ts\":", "\"ts\" : "),
    ] {
        let capture = trace(&text);
        holds_them(&capture);
        assert!(capture.dropped.is_empty(), "{text}: {:?}", capture.dropped);
    }
}

#[test]
fn broken_events_are_listed_and_cost_nobody_else() {
    let [a, wait, b] = events();
    for (odd, why) in [
        (r#"{"ph":"X","ph":"X"}"#.to_string(), "event 3 duplicate field `ph`"),
        (r#"{"ph":"X",,}"#.into(), "event 3 "),
        ("5".into(), "event 3 is not an object"),
        ("[1,{}]".into(), "event 3 is not an object"),
        (task("c", "AI_CORE", 2, "\"soon\"", "1"), "event 3: `ts` \"soon\" is not a number"),
        (task("c", "AI_CORE", 2, "-5", "1"), "event 3: `ts` -5 is negative"),
        (task("c", "AI_CORE", 2, "5", "null"), "event 3: no `dur`"),
        (task("c", "AI_CORE", 2, "5", "{}"), "event 3: `dur` {} is not a number"),
        (r#"{"ph":"X","tid":"x","ts":1,"dur":1,"args":{"Task Type":"AI_CORE"}}"#.into(), "event 3: stream `\"x\"`"),
    ] {
        let capture = trace(format!("[{a},{wait},{odd},{b}]"));
        holds_them(&capture);
        let [dropped] = &capture.dropped[..] else { panic!("{odd}: {:?}", capture.dropped) };
        assert!(dropped.line == 3 && dropped.why.starts_with(why), "{odd}: {}", dropped.why);
    }
}

#[test]
fn a_file_that_ends_too_early_keeps_what_is_whole() {
    let [a, wait, b] = events();
    let text = format!("[{a},{wait},{b},{}", &a[..a.len() / 2]);
    let capture = trace(text);
    holds_them(&capture);
    assert_eq!(capture.dropped[0].why, "event 4 the file ends inside of it: left out");
}

/// PyTorch writes bare words where JSON has none; the copy is read all the same.
#[test]
fn numbers_that_are_no_json() {
    let copy = r#"{"ph":"X","cat":"gpu_memcpy","name":"Memcpy \"inf\" HtoD","ts":5,"dur":0,"args":{"device":1,"stream":7,"memory bandwidth (GB/s)":inf,"x":-Infinity,"y":NaN}}"#;
    let capture = trace(format!("[{copy}]"));
    let row = &capture.rows[0];
    assert_eq!((row.device, row.stream, row.core), (1, Some(7), Core::Copy));
    assert_eq!(capture.strings.text(row.name), "Memcpy \"inf\" HtoD");
}

#[test]
fn the_host_and_control_tasks_are_passed_over_and_counted() {
    let host = r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":9}"#;
    let flow = r#"{"ph":"f","id":18014398509481985,"pid":7,"tid":2,"ts":"1"}"#;
    let list = [host.into(), flow.into(), task("x", "PLACE_HOLDER_SQE", 2, "1", "1")];
    let capture = trace(format!("[{},{}]", events().join(","), list.join(",")));
    holds_them(&capture);
    // The host's slice is on a lane without a name: nobody can say what it is, so it is no collective.
    assert_eq!((capture.sources[0].rows, capture.sources[0].syncs, capture.sources[0].skipped), (2, 1, 3));

    let error = try_trace(format!("[{host},{flow}]")).expect_err("no device");
    assert_eq!(error.kind(), ErrorKind::NoData);
    assert!(error.to_string().ends_with("2 events, none of them of a device: was the device traced?"), "{error}");
}

/// A collective is one row of no stream; the copies inside are its own, a kernel inside is communication, waits stay.
#[test]
fn tasks_inside_of_a_collective_are_not_counted_twice() {
    let thread = |tid: u32, name: &str| {
        format!(r#"{{"ph":"M","name":"thread_name","pid":8,"tid":{tid},"args":{{"name":"{name}"}}}}"#)
    };
    let plane =
        |ts: u32| format!(r#"{{"ph":"X","name":"Memcpy","pid":8,"tid":1,"ts":{ts},"dur":1,"args":{{"stream id":4}}}}"#);
    let list = [
        task("SDMA", "SDMA", 4, "10", "1"),
        task("Notify Wait", "Notify Wait", 4, "11", "5"),
        task("AivKernel", "AI_CORE", 4, "16", "1"),
        task("copy", "SDMA_SQE", 2, "10", "1"),
        r#"{"ph":"X","name":"hcom_allReduce__586_0_1","pid":8,"tid":0,"ts":10,"dur":7}"#.into(),
        plane(10),
        plane(11),
        plane(16),
    ];
    let label = r#"{"ph":"M","name":"process_labels","pid":8,"tid":0,"args":{"labels":"NPU"}}"#.to_string();
    let names = [label, thread(0, "Group 0 Communication"), thread(1, "Plane 0")];
    // Names may come first or last.
    for text in [[&names[..], &list[..]].concat(), [&list[..], &names[..]].concat()] {
        let capture = trace(format!("[{}]", text.join(",")));
        let rows: Vec<_> = capture.rows.iter().map(|r| (capture.strings.text(r.name), r.stream, r.core)).collect();
        assert_eq!(
            rows,
            [
                ("hcom_allReduce__586_0_1", None, Core::Communication),
                ("copy", Some(2), Core::Copy),
                ("AivKernel", Some(4), Core::Communication)
            ]
        );
        assert_eq!(capture.strings.text(capture.rows[0].op_type), "hcom_allReduce_");
        assert_eq!(capture.syncs.len(), 1);
        assert!(capture.rows.iter().all(|row| row.device == 0), "the process of the lanes is no device");
    }
}

#[test]
fn steps_of_a_gpu() {
    let event = |cat: &str, name: &str, ts: u32, dur: u32| {
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","tid":7,"ts":{ts},"dur":{dur},"args":{{"stream":7,"grid":[4,3,2]}}}}"#
        )
    };
    let list = [
        event("kernel", "before", 5, 1),
        event("kernel", "ncclDevKernel_AllReduce", 15, 1),
        event("kernel", "after", 25, 1),
        event("gpu_user_annotation", "ProfilerStep#3", 10, 10),
        event("gpu_user_annotation", "nccl:all_reduce", 15, 1),
    ];
    let capture = trace(format!("[{}]", list.join(",")));
    assert_eq!(capture.rows.iter().map(|row| row.step).collect::<Vec<_>>(), [None, Some(3), None]);
    assert_eq!((capture.rows[1].core, capture.rows[1].blocks), (Core::Communication, Some(24)));
}

fn records() -> Vec<Record> {
    let record = |name: &'static str, stream, start_ns, duration_ns| Record {
        device_id: 3,
        stream_id: stream,
        task_id: Some(start_ns),
        start_ns,
        duration_ns,
        block_num: 24,
        inputs: vec![Operand::nd(&[4096, 7168], "DT_BF16"), Operand::nd(&[], "FLOAT")],
        outputs: vec![Operand::nd(&[4096], "DT_BF16")],
        aiv_ns: Some(7),
        ..Record::new(name, "Mul", Core::AiVectorCore)
    };
    vec![record("side", Some(216), 0, 50), record("main", Some(214), 60, 40), record("collective", None, 65, 10)]
}

fn syncs() -> Vec<Sync> {
    let site = Site { function: "moe".into(), file: "src/moe.rs".into(), line: 41, variables: "gate".into(), index: 2 };
    let wait = Sync {
        kind: SyncKind::Wait,
        via: Via::Event,
        origin: Origin::Plan,
        device_id: 3,
        stream_id: 214,
        start_ns: 10,
        duration_ns: 45,
        event: Some(7),
        task: Some(8),
        of_stream: Some(216),
        site: Some(site),
    };
    let record =
        Sync { kind: SyncKind::Record, stream_id: 216, start_ns: 50, duration_ns: 0, of_stream: None, ..wait.clone() };
    vec![wait, record]
}

/// What rows say, apart from where in a file that is.
fn said(capture: &Capture) -> Vec<String> {
    let text = |symbol| capture.strings.text(symbol).to_string();
    let row = |row: &multicore_timeline::capture::Row| {
        let texts =
            [row.name, row.op_type, row.input_shapes, row.input_types, row.output_shapes, row.output_types].map(text);
        let places = (row.device, row.step, row.stream, row.task, row.core);
        format!(
            "{texts:?} {places:?} {:?} {:?}",
            (row.start_ns, row.duration_ns, row.blocks),
            (row.aicore_ns, row.aiv_ns)
        )
    };
    capture.rows.iter().map(row).collect()
}

#[test]
fn a_run_of_our_own_reads_back_with_its_waits_and_their_places() {
    let folder = tempfile::tempdir().expect("a folder");
    write_folder(folder.path(), &records(), &syncs()).expect("a profile");
    let run = Capture::from_records(&records(), &syncs());
    let joined = read(folder.path(), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(said(&joined), said(&run));
    assert_eq!(joined.syncs, run.syncs);
    assert_eq!((joined.dropped, joined.sources[1].rows), (vec![], 0));

    let alone = read(folder.path().join("trace_view.json"), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(said(&alone), said(&run));
    assert_eq!(alone.syncs, run.syncs);
}

fn write(folder: &Path, file: &str, text: &str) -> PathBuf {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, text).expect("a file");
    path
}

const TABLE: &str = "Device_id,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n\
                     5,2,a,Add,AI_VECTOR_CORE,1736408883704643.212\t,53.741\n\
                     5,2,b,Mul,AI_VECTOR_CORE,1736408883704706.953\t,0.02\n";

#[test]
fn the_table_says_what_an_operator_is_and_the_trace_what_it_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "x_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", TABLE);
    write(folder.path(), "x_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", &format!("[{}]", events().join(",")));
    write(folder.path(), "x_ascend_pt/PROF_1/mindstudio_profiler_output/op_summary_20250101000000.csv", "unread");
    let capture = read(folder.path(), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(capture.rows.iter().map(|row| (row.core, row.device)).collect::<Vec<_>>(), [(Core::AiVectorCore, 5); 2]);
    assert_eq!((capture.syncs.len(), capture.syncs[0].device_id), (1, 5));
    assert_eq!(capture.dropped, []);
}

#[test]
fn a_trace_of_another_capture_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "kernel_details.csv", &TABLE.replace("1736408883704", "1736408883705"));
    write(folder.path(), "trace_view.json", &format!("[{}]", events().join(",")));
    let capture = read(folder.path(), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((capture.rows.len(), capture.syncs.len()), (2, 0));
    assert_eq!(
        (capture.dropped[0].line, capture.dropped[0].why.as_str()),
        (0, "none of its 2 operators starts when one of the table does: another capture")
    );
}

#[test]
fn one_file_that_can_be_read_is_enough() {
    for (table, trace, rows) in [
        ("", format!("[{}]", events().join(",")), 2),
        ("Name,Start Time(us),Duration(us)\na,1,1\n", format!("[{}]", events().join(",")), 2),
        (TABLE, "[{\"ph\":\"M\"}]".into(), 2),
        (TABLE, "no JSON".into(), 2),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), "kernel_details.csv", table);
        write(folder.path(), "trace_view.json", &trace);
        let capture = read(folder.path(), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(capture.rows.len(), rows, "{table}");
        assert_eq!((capture.dropped.len(), capture.dropped[0].line), (1, 0), "{:?}", capture.dropped);
    }
}

#[test]
fn the_last_export_counts_with_all_its_slices() {
    let folder = tempfile::tempdir().expect("a folder");
    let row = |name: &str, start: &str| TABLE.replace(",a,", &format!(",{name},")).replace("4643.212", start);
    write(folder.path(), "PROF_1/mindstudio_profiler_output/op_summary_20240101000000.csv", &row("old", "4643.212"));
    write(folder.path(), "PROF_1/mindstudio_profiler_output/op_summary_slice_0_20250101000000.csv", &row("x", "1.000"));
    write(folder.path(), "PROF_1/mindstudio_profiler_output/op_summary_slice_1_20250101000000.csv", &row("y", "2.000"));
    let capture = read(folder.path(), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<_> = capture.rows.iter().map(|row| capture.strings.text(row.name)).collect();
    assert_eq!(names, ["x", "y", "b", "b"]);
}

fn cluster() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for rank in [0, 1, 10] {
        let text = TABLE.replace(",a,", &format!(",rank{rank},"));
        write(folder.path(), &format!("rank_{rank}_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv"), &text);
    }
    folder
}

#[test]
fn a_cluster_wants_to_know_which_rank() {
    let folder = cluster();
    let error = read(folder.path(), &Options::default()).expect_err("three ranks");
    assert_eq!(error.kind(), ErrorKind::Unsuitable);
    let text = error.to_string();
    assert!(text.contains("3 ranks (0 = rank_0_ascend_pt") && text.ends_with("choose one, `--rank 0`"), "{text}");
    let capture =
        read(folder.path(), &Options { rank: Some(10), ..Options::default() }).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(capture.strings.text(capture.rows[0].name), "rank10");
    let error = read(folder.path(), &Options { rank: Some(7), ..Options::default() }).expect_err("no such rank");
    assert_eq!(error.kind(), ErrorKind::NoData);

    // What the profiler writes beside its output counts more than names.
    write(folder.path(), "rank_1_ascend_pt/profiler_info_4.json", "{}");
    let capture =
        read(folder.path(), &Options { rank: Some(4), ..Options::default() }).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(capture.strings.text(capture.rows[0].name), "rank1");
}

#[test]
fn an_empty_folder_is_no_data() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(read(folder.path(), &Options::default()).expect_err("nothing").kind(), ErrorKind::NoData);
    write(folder.path(), "step_trace_time.csv", "Step,Computing\n");
    assert_eq!(read(folder.path(), &Options::default()).expect_err("no operators").kind(), ErrorKind::NoData);
}

#[test]
fn somebody_is_told_how_far_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = TABLE.lines().nth(1).expect("a row").to_string() + "\n";
    let path = write(folder.path(), "kernel_details.csv", &(TABLE.to_string() + &rows.repeat(100_000)));
    let total = fs::metadata(&path).expect("the file").len();
    let told = std::cell::RefCell::new(Vec::new());
    let tell = |progress: multicore_timeline::read::Progress| told.borrow_mut().push(progress);
    read(&path, &Options { progress: Some(&tell), ..Options::default() }).unwrap_or_else(|e| panic!("{e}"));
    let told = told.into_inner();
    assert!(told.len() >= 5 && told.is_sorted_by_key(|progress| progress.done));
    assert!(told.iter().all(|progress| progress.total == total));
    assert_eq!(told.last().map(|progress| progress.done), Some(total));
}
