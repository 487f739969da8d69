//! What counts as work, and the traps of real files.

use multicore_timeline::analysis::{Analysis, Class, Options};
use multicore_timeline::{Core, SyncKind};

use crate::support::{Build, given, overlap};

#[test]
fn twins_of_collectives_count_once_and_both_figures_are_there() {
    let mut build = Build::default();
    build.op(0, "MatMulV2", Core::AiCore, 0, 60_000);
    build.collective(9, 60_000, 40_000);
    let capture = build.done();
    let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
    assert_eq!((summary.wall_ns, summary.sum_ns, summary.cleaned_sum_ns), (100_000, 140_000, 100_000));
    assert_eq!((summary.sum_over_wall, summary.cleaned_sum_over_wall), (1.4, 1.0));
    assert_eq!((summary.duplicate_rows, summary.duplicate_ns, summary.rows), (1, 40_000, 3));
    assert!(summary.notes[0].contains("1.0000, not 1.4000"), "{:?}", summary.notes);
}

#[test]
fn a_collective_with_one_row_is_kept_and_so_are_two_that_only_begin_together() {
    let mut build = Build::default();
    build.op(None, "hcom_allReduce_", Core::Communication, 0, 40_000);
    build.op(9, "hcom_allGather_", Core::Communication, 0, 30_000);
    let capture = build.done();
    let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
    assert_eq!((summary.duplicate_rows, summary.cleaned_sum_ns), (0, 70_000));
}

#[test]
fn shells_on_the_ai_cpu_are_no_work_and_overlap_nothing() {
    let mut build = Build::default();
    build.op(2, "MatMulV2", Core::AiCore, 0, 50_000);
    build.op(39, "allreduceAicpuKernel", Core::AiCpu, 0, 100_000);
    build.op(None, "hcom_allReduce_", Core::Communication, 60_000, 40_000);
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    let summary = analysis.summary();
    assert_eq!((summary.sum_ns, summary.cleaned_sum_ns, summary.work_sum_ns), (190_000, 190_000, 90_000));
    assert_eq!((summary.union_ns, summary.work_union_ns), (100_000, 90_000));
    assert_eq!((summary.shell_rows, summary.shell_ns), (1, 100_000));
    let pair = analysis.streams().unwrap().pair(Some(2), Some(39)).unwrap();
    assert_eq!((pair.overlap_ns, pair.work_overlap_ns), (50_000, 0));
    assert_eq!(analysis.phases().overlapped_ns, 0);
}

#[test]
fn a_cast_on_the_ai_cpu_is_work() {
    let mut build = Build::default();
    build.op(2, "Cast", Core::AiCpu, 0, 50_000);
    let capture = build.done();
    assert_eq!(Analysis::new(&capture, &Options::default()).unwrap().summary().work_sum_ns, 50_000);
}

#[test]
fn wait_rows_are_never_work() {
    let mut build = Build::default();
    build.op(2, "MatMulV2", Core::AiCore, 0, 50_000);
    build.op(3, "EVENT_WAIT_SQE", Core::Other, 0, 50_000);
    build.op(3, "Notify Wait", Core::Other, 50_000, 10_000);
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    let summary = analysis.summary();
    assert_eq!((summary.control_rows, summary.control_ns, summary.work_sum_ns), (2, 60_000, 50_000));
    assert_eq!(analysis.rows().filter(|(_, _, class)| *class == Class::Work).count(), 1);
    assert_eq!(analysis.phases().computing_ns, 50_000);
}

#[test]
fn operators_that_touch_at_a_real_clock_value_do_not_overlap() {
    // As f64 microseconds the second would start 0.244 us before the first ends.
    let mut build = Build::default();
    build.op(2, "MatMulV2", Core::AiCore, 0, 1_380);
    build.op(3, "MatMulV2", Core::AiCore, 1_380, 1_600);
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    assert_eq!(analysis.streams().unwrap().pair(Some(2), Some(3)).unwrap().overlap_ns, 0);
    let summary = analysis.summary();
    assert_eq!((summary.wall_ns, summary.union_ns), (2_980, 2_980));
}

#[test]
fn rows_without_times_are_left_out_and_the_wall_does_not_start_at_0() {
    let mut build = Build::default();
    build.op(2, "MatMulV2", Core::AiCore, 0, 1_000);
    let lost = build.op(2, "MatMulV2", Core::AiCore, 0, 0);
    (lost.start_ns, lost.duration_ns) = (0, 0);
    let capture = build.done();
    let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
    assert_eq!((summary.wall_ns, summary.untimed_rows, summary.origin_ns), (1_000, 1, crate::support::CLOCK));
}

#[test]
fn an_operator_at_the_zero_of_a_device_clock_is_kept() {
    let mut build = Build::default();
    build.op(2, "MatMulV2", Core::AiCore, 0, 1_000);
    build.op(2, "MatMulV2", Core::AiCore, 1_000, 1_000);
    build.capture.rows.iter_mut().for_each(|row| row.start_ns -= crate::support::CLOCK);
    let capture = build.done();
    let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
    assert_eq!((summary.wall_ns, summary.untimed_rows, summary.origin_ns), (2_000, 0, 0));
}

#[test]
fn an_impossible_duration_is_named_and_not_counted_as_work() {
    let mut build = Build::default();
    for at in 0..10 {
        build.op(2, "Add", Core::AiVectorCore, at * 10_000, 5_000);
    }
    build.capture.rows[4].duration_ns = 500_000;
    let capture = build.done();
    let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
    let suspect = &summary.suspects[0];
    assert_eq!((suspect.op.line, suspect.next.line, suspect.overrun_ns, suspect.excluded), (6, 7, 490_000, true));
    assert_eq!(suspect.median_ns, Some(5_000));
    assert_eq!((summary.sum_ns, summary.work_sum_ns), (545_000, 45_000));
}

#[test]
fn a_long_operator_that_fits_and_a_short_overrun_are_no_suspects() {
    let mut build = Build::default();
    for at in 0..10 {
        build.op(2, "Add", Core::AiVectorCore, at * 10_000, 5_000);
    }
    build.op(2, "Add", Core::AiVectorCore, 200_000, 500_000);
    build.op(2, "Add", Core::AiVectorCore, 699_999, 5_000);
    let capture = build.done();
    assert_eq!(Analysis::new(&capture, &Options::default()).unwrap().summary().suspects, []);
}

#[test]
fn zero_length_operators_are_rows_without_time() {
    let mut build = Build::default();
    build.op(2, "Add", Core::AiVectorCore, 0, 5_000);
    build.op(2, "Add", Core::AiVectorCore, 3_000, 0);
    build.op(3, "Add", Core::AiVectorCore, 1_000, 0);
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    assert_eq!(analysis.summary().zero_length_rows, 2);
    assert_eq!(analysis.streams().unwrap().pair(Some(2), Some(3)).unwrap().overlap_ns, 0);
}

#[test]
fn without_stream_numbers_the_totals_stand_and_the_streams_are_refused() {
    let mut build = Build::default();
    build.op(None, "N/A", Core::Unknown, 0, 5_000);
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    assert_eq!(analysis.summary().sum_ns, 5_000);
    let why = "no Stream ID in the profile: collected at level 0; collect at level 1 or above";
    assert_eq!(analysis.streams().unwrap_err().to_string(), why);
    assert_eq!(analysis.overlap().unwrap_err().to_string(), why);
}

#[test]
fn a_part_that_is_empty_is_refused_and_one_that_is_not_keeps_the_zero_of_the_whole() {
    let mut build = Build::default();
    build.op(2, "Add", Core::AiVectorCore, 0, 5_000).step = Some(1);
    build.op(2, "Add", Core::AiVectorCore, 10_000, 5_000).step = Some(2);
    let capture = build.done();
    let refused = Analysis::new(&capture, &Options { step: Some(7), ..Options::default() }).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "no operators in step 7: nothing to analyse; check the path, the step and the time range"
    );
    let second = Analysis::new(&capture, &Options { step: Some(2), ..Options::default() }).unwrap().summary();
    assert_eq!((second.start_ns, second.wall_ns, second.rows), (10_000, 5_000, 1));
    let range = Options { from_ns: Some(10_000), to_ns: Some(10_001), ..Options::default() };
    assert_eq!(Analysis::new(&capture, &range).unwrap().summary().rows, 1);
}

#[test]
fn several_devices_need_a_choice() {
    let mut build = Build::default();
    build.op(2, "Add", Core::AiVectorCore, 0, 5_000);
    build.op(2, "Add", Core::AiVectorCore, 1_000, 5_000).device = 3;
    let capture = build.done();
    let refused = Analysis::new(&capture, &Options::default()).unwrap_err();
    assert_eq!(refused.to_string(), "operators of 2 devices (0, 3): choose one with --rank");
    let third = Analysis::new(&capture, &Options { device: Some(3), ..Options::default() }).unwrap();
    assert_eq!((third.summary().rows, third.summary().start_ns), (1, 0));
    let refused = Analysis::new(&capture, &Options { device: Some(1), ..Options::default() }).unwrap_err();
    assert_eq!(refused.to_string(), "no operators on device 1; the capture has 0, 3");
}

#[test]
fn records_do_not_hold_anybody_up() {
    let mut build = Build::default();
    build.op(2, "Add", Core::AiVectorCore, 0, 5_000);
    build.op(3, "Add", Core::AiVectorCore, 6_000, 5_000);
    build.sync(SyncKind::Record, 2, 5_000, 2_000, None);
    build.sync(SyncKind::Wait, 3, 5_000, 20, None);
    let found = overlap(&build.done(), &given(&[3], &[2], &["Add"]));
    assert!(found.barriers.iter().all(|barrier| barrier.wait.is_none()), "{:?}", found.barriers);
}

#[test]
fn copies_are_no_operators_so_a_trace_and_a_table_give_the_same_figures() {
    let mut build = Build::default();
    build.op(2, "MatMulV2", Core::AiCore, 10_000, 50_000);
    build.op(2, "MEMCPY_ASYNC", Core::Copy, 0, 20_000);
    build.op(5, "MEMCPY_ASYNC", Core::Copy, 40_000, 90_000);
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    let summary = analysis.summary();
    assert_eq!((summary.wall_ns, summary.sum_ns, summary.union_ns), (50_000, 50_000, 50_000));
    assert_eq!((summary.copy_rows, summary.copy_ns, summary.origin_ns), (2, 110_000, crate::support::CLOCK + 10_000));
    // On a stream of copies they are what it does.
    assert_eq!(analysis.streams().unwrap().pair(Some(2), Some(5)).unwrap().overlap_ns, 20_000);
}
