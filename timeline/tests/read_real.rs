//! The real profiles: rows, walls and sums to the last digit. Skipped, saying so, without `MULTICORE_DATA`.

use std::fs;
use std::path::PathBuf;

use multicore_timeline::capture::{NoteKind, Row};
use multicore_timeline::{Capture, Core, Error, ErrorKind, Options, SyncKind, Via, read};

/// The path of a profile; `None`, saying so, where the profiles are not at hand.
fn profile(file: &str) -> Option<PathBuf> {
    let Some(data) = std::env::var_os("MULTICORE_DATA") else {
        eprintln!("skipped {file}: set MULTICORE_DATA to the folder that has profiles/");
        return None;
    };
    Some(PathBuf::from(data).join("profiles").join(file))
}

fn capture(path: PathBuf) -> Capture {
    read(path, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn wall(capture: &Capture) -> u64 {
    let first = capture.rows.iter().map(|row| row.start_ns).min().expect("rows");
    capture.rows.iter().map(Row::end_ns).max().expect("rows") - first
}

fn sum<'a>(rows: impl IntoIterator<Item = &'a Row>) -> u64 {
    rows.into_iter().map(|row| row.duration_ns).sum()
}

/// File, format, rows, wall, sum, dropped.
const TABLES: [(&str, &str, usize, u64, u64, usize); 12] = [
    ("kd_glm5_decode_a.csv", "kernel_details.csv", 1895, 35_962_540, 51_718_900, 0),
    ("kd_dsv3_decode.csv", "kernel_details.csv", 2333, 41_789_806, 41_801_122, 0),
    ("kd_qwen3_32b_prefill.csv", "kernel_details.csv", 1336, 309_882_968, 325_272_808, 0),
    ("kd_level1_rank0_crlf.csv", "kernel_details.csv", 191, 136_581_009, 114_865_613, 0),
    ("kd_level2_rank0_lf.csv", "kernel_details.csv", 191, 129_862_874, 108_841_491, 0),
    ("kd_train_rank0_2463rows.csv", "kernel_details.csv", 2463, 810_022_360, 651_464_360, 0),
    ("kd_train_591rows_hccl.csv", "kernel_details.csv", 591, 516_885_540, 396_807_040, 0),
    ("kd_old_rank0_ragged.csv", "kernel_details.csv", 20, 267_849_918, 37_369_125, 1),
    ("kd_old_rank1.csv", "kernel_details.csv", 22, 16_420_200, 11_514_860, 0),
    ("ops_blocknum_amin.csv", "op_summary.csv", 7, 521_693_240, 218_827_840, 0),
    ("ops_cann852_mixaic.csv", "op_summary.csv", 2, 84_458_480, 84_457_600, 0),
    ("task_time_cann852.csv", "task_time.csv", 2, 84_462_820, 84_462_800, 0),
];

#[test]
fn tables_have_the_published_rows_walls_and_sums() {
    for (file, format, rows, wall_ns, sum_ns, dropped) in TABLES {
        let Some(path) = profile(file) else { return };
        let capture = capture(path);
        let found = (capture.rows.len(), wall(&capture), sum(&capture.rows), capture.dropped.len());
        assert_eq!(found, (rows, wall_ns, sum_ns, dropped), "{file}");
        assert_eq!(capture.sources[0].format, format, "{file}");
        assert!(capture.rows.is_sorted_by_key(|row| row.start_ns), "{file}");
        assert!(capture.syncs.is_empty(), "{file}");
    }
}

/// Read through an `f64`, five of these files have 37 to 148 operators that overlap others of their own stream.
#[test]
fn no_stream_overlaps_itself_when_starts_are_exact() {
    for file in
        ["kd_glm5_decode_a.csv", "kd_dsv3_decode.csv", "kd_qwen3_32b_prefill.csv", "kd_train_rank0_2463rows.csv"]
    {
        let Some(path) = profile(file) else { return };
        let capture = capture(path);
        assert_eq!(capture.notes, [], "{file}");
        let mut overlaps = 0;
        for stream in capture.rows.iter().filter_map(|row| row.stream).collect::<std::collections::BTreeSet<_>>() {
            let rows: Vec<_> = capture.rows.iter().filter(|row| row.stream == Some(stream)).collect();
            assert!(rows.windows(2).all(|pair| pair[0].end_ns() <= pair[1].start_ns), "{file}: stream {stream}");
            let end = |row: &Row| row.start_ns as f64 / 1e3 + row.duration_ns as f64 / 1e3;
            overlaps += rows.windows(2).filter(|pair| end(pair[0]) > pair[1].start_ns as f64 / 1e3).count();
        }
        eprintln!("{file}: {overlaps} overlaps through f64");
    }
}

#[test]
fn the_ragged_row_is_listed() {
    let Some(path) = profile("kd_old_rank0_ragged.csv") else { return };
    let capture = capture(path);
    assert_eq!((capture.dropped[0].source, capture.dropped[0].line), (0, 17));
    assert_eq!(capture.dropped[0].why, "31 cells under a header of 32: left out");
}

/// Starts of 2023 have one decimal, durations four; this row ends 260 ns late by that.
#[test]
fn an_overrun_is_kept_and_noted() {
    let Some(path) = profile("kd_old_rank1.csv") else { return };
    let capture = capture(path);
    let note = &capture.notes[..];
    assert!(matches!(note, [n] if n.line == 8 && n.kind == NoteKind::Overrun { next_line: 9, by_ns: 260 }), "{note:?}");
}

#[test]
fn cells_are_what_the_file_says() {
    let Some(path) = profile("kd_glm5_decode_a.csv") else { return };
    let capture = capture(path);
    let text = |symbol| capture.strings.text(symbol);
    let row = &capture.rows[0];
    assert_eq!((row.line, row.device, row.step, row.stream, row.task), (2, 0, None, Some(214), Some(30)));
    assert_eq!(text(row.name), "SparseFlashAttention_4da5fbfbea7101b99c367715f4b4a51e_578");
    assert_eq!((text(row.op_type), row.core), ("SparseFlashAttention", Core::MixAic));
    assert_eq!((row.start_ns, row.duration_ns), (1_779_269_392_766_967_320, 88_000));
    assert_eq!((row.blocks, row.mix_blocks), (Some(24), None));
    assert_eq!(
        text(row.input_shapes),
        "3,16,512;1765,128,1,512;1765,128,1,512;3,1,2048;1,1584;1;1;3,16,64;1765,128,1,64"
    );
    assert_eq!(text(row.input_types), "DT_BF16;DT_BF16;DT_BF16;INT32;INT32;INT32;INT32;DT_BF16;DT_BF16");
    assert_eq!((text(row.output_shapes), text(row.output_types)), ("3,16,512", "DT_BF16"));
    assert_eq!((row.aicore_ns, row.aiv_ns), (Some(22_912), Some(0)));
    // Kernels that are not CANN's own have neither blocks nor shapes.
    let foreign = &capture.rows[1];
    assert_eq!((foreign.blocks, text(foreign.input_shapes)), (None, ""));
}

#[test]
fn steps_devices_and_old_core_names() {
    let Some(path) = profile("kd_train_rank0_2463rows.csv") else { return };
    assert!(capture(path).rows.iter().all(|row| row.step == Some(13) && row.device == 0));
    let Some(path) = profile("ops_blocknum_amin.csv") else { return };
    let amin = capture(path);
    assert!(amin.rows.iter().all(|row| row.device == 7));
    assert_eq!(amin.rows[0].core, Core::Dsa);
    let Some(path) = profile("kd_level1_rank0_crlf.csv") else { return };
    let level1 = capture(path);
    assert_eq!(level1.rows.iter().filter(|row| row.core == Core::Communication && row.stream.is_none()).count(), 4);
}

#[test]
fn what_has_no_streams_or_no_rows_is_refused_in_one_line() {
    for (file, kind, says) in [
        ("kd_level0_rank0.csv", ErrorKind::Unsuitable, "collected at level 0: no column Stream ID; collect at level 1"),
        ("kd_level0_nostep_2024.csv", ErrorKind::Unsuitable, "collected at level 0: no column Stream ID"),
        ("ops_empty_0bytes.csv", ErrorKind::NoData, "is empty"),
        ("trace_view_metadata_only.json", ErrorKind::NoData, "only metadata"),
        ("communication_level1_rank0.json", ErrorKind::Unreadable, "no trace"),
        ("op_statistic_level1_rank0.csv", ErrorKind::Unreadable, "no column Name, Start Time(us), Duration(us)"),
        ("hccl_0_2_1.json", ErrorKind::Unsuitable, "no row has a stream"),
    ] {
        let Some(path) = profile(file) else { return };
        let error = read(&path, &Options::default()).expect_err(file);
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(text.contains(file) && text.contains(says) && !text.contains('\n'), "{text}");
    }
    let Some(missing) = profile("no_such_file.csv") else { return };
    assert!(matches!(read(missing, &Options::default()), Err(Error::Read { .. })));
}

/// What the collectives' barriers are: the main stream waits, and goes on 1.9 to 2.1 us after a collective's end.
#[test]
fn a_trace_shows_the_waits_that_the_table_does_not() {
    let Some(path) = profile("trace_view_level1_rank0_npu.json") else { return };
    let capture = capture(path);
    let waits: Vec<_> = capture
        .syncs
        .iter()
        .filter(|s| (s.kind, s.via, s.stream_id) == (SyncKind::Wait, Via::Event, 2) && s.duration_ns > 1_000)
        .collect();
    assert_eq!(
        waits.iter().map(|wait| wait.duration_ns).collect::<Vec<_>>(),
        [65_554_570, 2_145_583, 2_112_522, 21_871_657]
    );
    let collectives: Vec<_> = capture.rows.iter().filter(|row| row.stream.is_none()).collect();
    assert_eq!(collectives.len(), 4);
    for (wait, collective) in waits.iter().zip(&collectives) {
        assert!((1_900..2_200).contains(&(wait.end_ns() - collective.end_ns())), "{wait:?}");
        assert_eq!(collective.core, Core::Communication);
        assert_eq!(capture.strings.text(collective.op_type), "hcom_allReduce_");
    }
    let count = |core: Core| capture.rows.iter().filter(|row| row.core == core).count();
    assert_eq!((count(Core::AiCore), count(Core::MixAiv), count(Core::Dsa)), (172, 13, 2));
    // 14 of the PCIe engine and 10 of the SDMA engine; the 72 inside of collectives belong to those.
    assert_eq!((count(Core::Copy), capture.rows.len()), (24, 172 + 13 + 2 + 24 + 4));
    let syncs = |kind, via| capture.syncs.iter().filter(|s| (s.kind, s.via) == (kind, via)).count();
    assert_eq!((syncs(SyncKind::Wait, Via::Event), syncs(SyncKind::Record, Via::Event)), (10, 14));
    assert_eq!((syncs(SyncKind::Wait, Via::Notify), syncs(SyncKind::Record, Via::Notify)), (112, 112));
}

#[test]
fn a_trace_of_2023_has_numbers_for_times() {
    let Some(path) = profile("msprof_0_2_1.json") else { return };
    let capture = capture(path);
    let first = &capture.rows[0];
    assert_eq!((first.start_ns, first.duration_ns, first.stream), (56_635_864_664_910, 23_100, Some(2)));
    assert_eq!(capture.strings.text(first.name), "Default/network-WithLossCell/_backbone-AlexNet/Cast-op239");
    assert_eq!(capture.rows.iter().filter(|row| row.stream.is_none()).count(), 1);
    let waits = capture.syncs.iter().filter(|s| s.kind == SyncKind::Wait);
    assert_eq!(waits.clone().filter(|s| s.via == Via::Event).count(), 4);
    assert_eq!(waits.filter(|s| s.via == Via::Notify).count(), 140);

    // The same tasks without the lanes of collectives: what is inside of them cannot be known.
    let Some(path) = profile("task_time_0_2_1.json") else { return };
    let tasks = self::capture(path);
    assert_eq!((tasks.rows.len(), tasks.syncs.len()), (137 + 2 + 30 + 29, capture.syncs.len()));
}

#[test]
fn cuda_traces_have_kernels_by_stream_and_waits_for_events() {
    let Some(path) = profile("cuda_dualpipe_train_gpu.json") else { return };
    let dualpipe = capture(path);
    let kernels: Vec<_> = dualpipe.rows.iter().filter(|row| row.core != Core::Copy).collect();
    assert_eq!((kernels.len(), wall(&dualpipe), sum(kernels.iter().copied())), (963, 129_012_000, 244_041_000));
    let communication = kernels.iter().filter(|row| row.core == Core::Communication);
    assert!(communication.clone().count() > 0);
    assert!(communication.clone().all(|row| row.stream == Some(27)));

    let Some(path) = profile("cuda_event_sync_multi_stream_gpu.json") else { return };
    let events = capture(path);
    assert_eq!(events.rows.iter().map(|row| row.stream).collect::<Vec<_>>(), [20, 20, 28, 28, 24, 24].map(Some));
    let [wait] = &events.syncs[..] else { panic!("{:?}", events.syncs) };
    assert_eq!((wait.stream_id, wait.of_stream, wait.event), (24, Some(20), Some(1385)));
    assert_eq!((wait.start_ns, wait.duration_ns), (1_712_867_402_367_683_000, 2_000));
    assert_eq!(events.sources[0].skipped, 4, "what holds up the host");
}

/// A folder as PyTorch's profiler leaves it.
#[test]
fn a_folder_joins_table_and_trace() {
    let Some(table) = profile("kd_level1_rank0_crlf.csv") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("rank0_ascend_pt/ASCEND_PROFILER_OUTPUT");
    fs::create_dir_all(&output).expect("a folder");
    for (from, to) in [
        ("kd_level1_rank0_crlf.csv", "kernel_details.csv"),
        ("trace_view_level1_rank0_npu.json", "trace_view.json"),
        ("step_trace_time_level1_rank0.csv", "step_trace_time.csv"),
        ("op_statistic_level1_rank0.csv", "op_statistic.csv"),
        ("communication_level1_rank0.json", "communication.json"),
    ] {
        fs::copy(profile(from).expect("the folder"), output.join(to)).expect("a copy");
    }
    let joined = capture(folder.path().to_path_buf());
    let (table, trace) = (capture(table), capture(profile("trace_view_level1_rank0_npu.json").expect("the folder")));
    assert_eq!(joined.dropped, []);
    assert_eq!(joined.syncs, trace.syncs);
    assert_eq!(joined.sources.iter().map(|s| s.rows).collect::<Vec<_>>(), [191, 24, 0]);
    let (copies, operators): (Vec<Row>, Vec<Row>) = joined.rows.iter().partition(|row| row.core == Core::Copy);
    assert_eq!(copies.len(), 24);
    assert_eq!((operators.len(), sum(&operators)), (table.rows.len(), sum(&table.rows)));
    assert!(operators.iter().any(|row| row.core == Core::AiVectorCore), "core kinds of the table");

    let [step] = &joined.step_times[..] else { panic!("{:?}", joined.step_times) };
    assert_eq!((step.step, step.device), (Some(50), None));
    assert_eq!((step.computing_ns, step.communication_ns, step.overlapped_ns), (8_873_756, 105_991_878, 4_028_675));
    assert_eq!((step.exposed_ns, step.free_ns, step.stage_ns), (101_963_203, 25_744_050, 136_581_000));
}
