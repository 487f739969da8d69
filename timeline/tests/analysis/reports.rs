//! Reports of users of real systems, each rebuilt small, with the answer that they should have had. Numbers as in
//! `docs/timeline.md`.

use multicore_timeline::analysis::{Analysis, Cause, Cores, Finding, Options, Overlap, Verdict, compare};
use multicore_timeline::{Core, SyncKind};

use crate::support::{Build, given, overlap};

fn finding(overlap: &Overlap, cause: Cause) -> &Finding {
    overlap.causes.iter().find(|finding| finding.cause == cause).unwrap_or_else(|| panic!("{:?}", overlap.causes))
}

fn has(overlap: &Overlap, cause: Cause) -> bool {
    overlap.causes.iter().any(|finding| finding.cause == cause)
}

/// Layers of a dominator of 100 us and a side of 40 us that begins `after` ns after the start of the dominator.
fn layers(count: u64, after: u64) -> Build {
    let mut build = Build::default();
    for layer in 0..count {
        let at = layer * 400_000;
        build.shaped(0, "GroupedMatmul", at, 100_000, "512,7168", "512,2048").blocks = Some(16);
        build.shaped(1, "MatMulV2", at + after, 40_000, "64,7168", "64,2048").blocks = Some(8);
        build.shaped(0, "Add", at + 300_000, 100_000, "64,64", "64,64").blocks = Some(4);
    }
    build
}

fn roomy(side: &[u32], main: &[u32]) -> Options {
    Options { cores: Some(Cores { cube: 24, vector: 48 }), ..given(side, main, &["GroupedMatmul"]) }
}

/// vllm-project/vllm-ascend issue 14153.
#[test]
fn report_01_a_wait_for_a_late_record_names_both_streams_and_operators() {
    let mut build = Build::default();
    build.op(46, "MoeGatingTopK", Core::AiVectorCore, 0, 250_000);
    build.op(38, "Dispatch", Core::MixAiv, 0, 50_000);
    build.op(38, "ReduceScatter", Core::MixAiv, 252_000, 60_000);
    build.sync(SyncKind::Record, 46, 250_010, 0, None);
    build.sync(SyncKind::Wait, 38, 50_000, 201_900, None);
    let capture = build.done();
    let barriers = Analysis::new(&capture, &Options::default()).unwrap().barriers();
    assert_eq!(barriers[0].op.op_type, "ReduceScatter");
    assert_eq!(
        barriers[0].because,
        ["stream 38 stood 201.900 us in a wait that followed MoeGatingTopK_2 (MoeGatingTopK) on stream 46"]
    );
}

/// vllm-ascend pull request 11089.
#[test]
fn report_02_a_side_that_starts_when_the_dominator_ends_has_its_join_too_late() {
    let found = overlap(&layers(5, 101_000).done(), &roomy(&[1], &[0]));
    assert_eq!(found.verdict, Verdict::Serial);
    let late = finding(&found, Cause::LateJoin);
    assert_eq!(late.layers, 5);
    assert!(late.advice.contains("before the dominator"), "{}", late.advice);
}

/// vllm-ascend pull request 3667.
#[test]
fn report_03_one_side_stream_a_layer_is_too_many() {
    let mut build = Build::default();
    for layer in 0..61u64 {
        let at = layer * 400_000;
        build.op(0, "GroupedMatmul", Core::AiCore, at, 100_000);
        for op in 0..5 {
            build.op(100 + layer as u32, "MatMulV2", Core::AiCore, at + op * 15_000, 10_000);
        }
    }
    let found = overlap(&build.done(), &Options::default());
    assert_eq!((found.side.len(), found.layers.count), (61, 61));
    assert_eq!(finding(&found, Cause::ManySideStreams).text, "61 side streams with about 5 operators each");
}

/// vllm-ascend pull request 8635.
#[test]
fn report_04_an_option_without_side_work_splits_nothing() {
    let mut build = Build::default();
    build.op(2, "GroupedMatmul", Core::AiCore, 0, 100_000);
    build.op(2, "MatMulV2", Core::AiCore, 100_000, 100_000);
    let found = overlap(&build.done(), &Options::default());
    assert_eq!(found.verdict, Verdict::NoSide);
    assert_eq!(finding(&found, Cause::SplitNeverHappened).text, "all computing is on stream 2 (2 operators)");
}

/// NVIDIA/Megatron-LM issue 1468.
#[test]
fn report_05_independent_streams_in_launch_order_share_a_queue() {
    let mut build = Build::default();
    for layer in 0..5u64 {
        let at = layer * 400_000;
        build.shaped(1, "MatMulV2", at, 40_000, "64,7168", "64,2048").blocks = Some(8);
        build.shaped(0, "GroupedMatmul", at + 41_000, 100_000, "512,7168", "512,2048").blocks = Some(16);
        build.shaped(0, "Add", at + 141_000, 250_000, "64,64", "64,64").blocks = Some(4);
    }
    let found = overlap(&build.done(), &roomy(&[1], &[0]));
    assert_eq!(found.verdict, Verdict::Serial);
    assert!(finding(&found, Cause::ImplicitSync).advice.contains("hardware queues"));
    assert!(!has(&found, Cause::FullChip) && !has(&found, Cause::HostBound), "{:?}", found.causes);
}

/// pytorch/pytorch issue 59692, first cause.
#[test]
fn report_06_two_operators_that_fill_the_chip_run_one_after_the_other() {
    let mut build = layers(5, 101_000);
    build.capture.rows.iter_mut().for_each(|row| row.blocks = Some(24));
    let found = overlap(&build.done(), &roomy(&[1], &[0]));
    assert!(finding(&found, Cause::FullChip).text.ends_with("24 + 24 blocks on 24 cube cores"));
}

/// pytorch/pytorch issue 59692, second cause.
#[test]
fn report_06_a_second_operator_launched_too_late_is_the_hosts_doing() {
    let found = overlap(&layers(5, 180_000).done(), &roomy(&[1], &[0]));
    let host = finding(&found, Cause::HostBound);
    assert!(host.text.contains("40.0 % of the wall"), "{}", host.text);
    assert_eq!((host.layers, has(&found, Cause::FullChip), has(&found, Cause::LateJoin)), (5, false, false));
}

/// NVIDIA/cutlass issue 335.
#[test]
fn report_07_a_product_on_all_cores_leaves_none_to_a_small_one() {
    let mut build = Build::default();
    build.shaped(0, "GroupedMatmul", 0, 3_200_000, "8192,8192", "8192,8192").blocks = Some(24);
    build.shaped(1, "Reduce", 3_200_500, 650_000, "8192,8192", "8192").blocks = Some(4);
    let found = overlap(&build.done(), &given(&[1], &[0], &["GroupedMatmul"]));
    assert!(finding(&found, Cause::FullChip).text.ends_with("4 + 24 blocks on 24 cube cores"));
}

/// facebookresearch/HolisticTraceAnalysis pull request 162.
#[test]
fn report_08_waits_are_no_computing_that_hides_communication() {
    let mut build = Build::default();
    build.op(7, "Stream Wait Event", Core::Other, 0, 90_000);
    build.op(7, "Gemm", Core::Gpu, 90_000, 20_000);
    build.op(27, "ncclDevKernel_AllReduce", Core::Gpu, 0, 100_000);
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    assert_eq!((analysis.phases().overlapped_ns, analysis.summary().control_rows), (10_000, 1));
    assert!(analysis.summary().notes[0].starts_with("1 waits, records and marks"));
}

/// HolisticTraceAnalysis pull request 109.
#[test]
fn report_09_without_communication_its_hidden_share_is_not_a_number_that_lies() {
    let mut build = Build::default();
    build.op(7, "Gemm", Core::Gpu, 0, 20_000);
    let capture = build.done();
    let phases = Analysis::new(&capture, &Options::default()).unwrap().phases();
    assert_eq!((phases.hidden_share, phases.communication_ns), (None, 0));
    assert!(phases.notes[0].starts_with("no communication in the profile"));
}

/// HolisticTraceAnalysis issue 56.
#[test]
fn report_10_an_overlap_of_0_is_explained_with_both_windows() {
    let found = overlap(&layers(1, 150_000).done(), &roomy(&[1], &[0]));
    assert!(found.record.starts_with("side [150.000, 190.000] us, main [0.000, 100.000] us, overlap 0.000 us = 0.0 %"));
}

/// AMD-AGI/TraceLens issue 669.
#[test]
fn report_11_impossible_durations_are_named_and_do_not_count() {
    let mut build = Build::default();
    for at in 0..100 {
        build.op(7, "Elementwise", Core::Gpu, at * 10_000, 8_000);
    }
    build.capture.rows[50].duration_ns = 5_000_000;
    let capture = build.done();
    let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
    assert_eq!((summary.suspects.len(), summary.work_sum_ns), (1, 99 * 8_000));
    assert!(summary.notes.iter().any(|note| note.contains("line 52 ends 4990000 ns after line 53 starts")));
}

/// pytorch/kineto issue 136.
#[test]
fn report_12_rounding_and_zero_lengths_accuse_nobody() {
    let mut build = Build::default();
    build.op(7, "Gemm", Core::Gpu, 0, 10_001);
    build.op(7, "Gemm", Core::Gpu, 10_000, 0);
    build.op(7, "Gemm", Core::Gpu, 10_000, 5_000);
    let capture = build.done();
    let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
    assert_eq!((summary.suspects.len(), summary.zero_length_rows, summary.union_ns), (0, 1, 15_000));
}

/// pytorch/kineto issue 109.
#[test]
fn report_13_a_kernel_at_0_does_not_stretch_the_wall() {
    let mut build = Build::default();
    build.op(7, "Gemm", Core::Gpu, 0, 10_000);
    let lost = build.op(7, "Gemm", Core::Gpu, 0, 0);
    lost.start_ns = 0;
    let capture = build.done();
    let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
    assert_eq!((summary.wall_ns, summary.untimed_rows), (10_000, 1));
    assert!(summary.notes.contains(&"1 rows have neither start nor duration and are left out".to_owned()));
}

/// ROCm/rocm-systems pull request 3397.
#[test]
fn report_15_counters_that_serialise_are_suspected() {
    let mut build = layers(5, 101_000);
    build.capture.rows.iter_mut().for_each(|row| row.aicore_ns = Some(row.duration_ns / 2));
    let found = overlap(&build.done(), &roomy(&[1], &[0]));
    assert!(finding(&found, Cause::ProfilerSerialises).advice.contains("without counters"));
    let mut build = layers(5, 90_000);
    build.capture.rows.iter_mut().for_each(|row| row.aicore_ns = Some(row.duration_ns / 2));
    assert!(!has(&overlap(&build.done(), &roomy(&[1], &[0])), Cause::ProfilerSerialises));
}

/// sgl-project/sglang issue 12815.
#[test]
fn report_17_gaps_larger_than_operators_are_host_bound() {
    let mut build = Build::default();
    for at in 0..50 {
        build.op(0, "GroupedMatmul", Core::AiCore, at * 100_000, 10_000);
        build.op(1, "MatMulV2", Core::AiCore, at * 100_000 + 50_000, 10_000);
    }
    let found = overlap(&build.done(), &given(&[1], &[0], &["GroupedMatmul"]));
    let host = finding(&found, Cause::HostBound);
    assert!(host.text.contains("% of the wall: the host launches too slowly; in 50 layers"), "{}", host.text);
    assert!(host.advice.contains("graph"));
}

/// pytorch/pytorch issue 152114.
#[test]
fn report_18_two_captured_streams_under_many_ids_are_two() {
    let mut build = Build::default();
    for replay in 0..20u64 {
        for op in 0..6u64 {
            let at = replay * 1_000_000 + op * 100_000;
            build.op(40 + 2 * replay as u32, "GroupedMatmul", Core::AiCore, at, 90_000);
            build.op(41 + 2 * replay as u32, "SwiGlu", Core::AiVectorCore, at + 20_000, 30_000);
        }
    }
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    assert_eq!(analysis.streams().unwrap().streams.len(), 2);
    let found = analysis.overlap().unwrap();
    assert_eq!((found.verdict, found.layers.count, found.main.len()), (Verdict::True, 120, 20));
}

/// pytorch/pytorch issue 143890.
#[test]
fn report_19_an_option_that_serialises_shows_in_a_comparison() {
    let (fast, slow) = (layers(5, 10_000).done(), layers(5, 101_000).done());
    let options = roomy(&[1], &[0]);
    let (before, after) = (Analysis::new(&fast, &options).unwrap(), Analysis::new(&slow, &options).unwrap());
    assert_eq!(before.overlap().unwrap().verdict, Verdict::True);
    assert_eq!(after.overlap().unwrap().verdict, Verdict::Serial);
    let found = compare(&before, &after);
    assert!(found.overlap_check_owed, "the operators are the same, only their order is not");
    assert_eq!(found.counts[2], found.operators.len());
}

/// efeslab/Nanoflow issue 14.
#[test]
fn report_20_both_longer_side_by_side_is_no_gain() {
    let mut build = Build::default();
    for layer in 0..9u64 {
        let at = layer * 1_000_000;
        let beside = layer % 3 != 2;
        let ns = if beside { 200_000 } else { 100_000 };
        let main = build.shaped(0, "GroupedMatmul", at, ns, "512,7168", "512,2048");
        main.aicore_ns = Some(ns - 2_000);
        let side = build.shaped(1, "MatMulV2", at + if beside { 0 } else { 500_000 }, ns, "64,7168", "64,2048");
        side.aicore_ns = Some(ns - 2_000);
    }
    let found = overlap(&build.done(), &given(&[1], &[0], &["GroupedMatmul"]));
    let text = &finding(&found, Cause::Contention).text;
    assert!(text.contains("last 2.00 times, the main stream's 2.00 times"), "{text}");
    assert!(text.ends_with("1200.000 us side by side cost 1200.000 us more: no gain"), "{text}");
    assert_eq!(found.starved, [], "they computed all the time");
}

/// Ascend/pytorch issue 167.
#[test]
fn report_23_incomplete_first_steps_are_told() {
    let mut build = Build::default();
    for step in 0..3u32 {
        for op in 0..if step == 0 { 4 } else { 10 } {
            build.op(2, "Add", Core::AiVectorCore, u64::from(step) * 1_000_000 + op * 10_000, 5_000).step = Some(step);
        }
    }
    let capture = build.done();
    let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
    assert_eq!(
        summary.notes,
        ["the first steps are incomplete: 4 in step 0, 10 in a later one; leave them out of comparisons"]
    );
}
