//! The published check, literally, and the figures beside it.

use multicore_timeline::Core;
use multicore_timeline::analysis::{Cause, Evidence, Verdict, Window};

use crate::support::{Build, given, overlap};

/// The worked example: a side of shared-expert operators, and the Cast and Swish that the compiler moved between it and
/// the routed experts.
fn worked() -> Build {
    let mut build = Build::default();
    build.shaped(1, "MatMulV2", 1_615_250, 9_500, "64,7168;7168,2048", "64,2048");
    build.shaped(1, "MatMulV2", 1_625_000, 9_750, "64,2048;2048,7168", "64,7168");
    build.shaped(0, "TopK", 1_610_000, 5_000, "64,256", "64,8");
    build.shaped(0, "Cast", 1_635_250, 1_000, "64,7168", "64,7168,1");
    build.shaped(0, "Swish", 1_636_500, 1_250, "64,7168,1", "64,7168,1");
    build.shaped(0, "GroupedMatmul", 1_638_000, 22_750, "512,7168;256,7168,2048", "512,2048");
    build
}

#[test]
fn the_worked_example_is_serial_with_0_us_and_0_percent() {
    let capture = worked().done();
    let overlap = overlap(&capture, &given(&[1], &[0], &["GroupedMatmul"]));
    let figures = &overlap.figures;
    // Relative to the first start, which is that of TopK.
    assert_eq!(figures.side_window_ns, Window::new(1_615_250 - 1_610_000, 1_634_750 - 1_610_000));
    assert_eq!(figures.main_window_ns, Window::new(1_638_000 - 1_610_000, 1_660_750 - 1_610_000));
    assert_eq!((figures.overlap_ns, figures.overlap_pct), (0, 0.0));
    assert_eq!((overlap.verdict, figures.published_verdict), (Verdict::Serial, Verdict::Serial));
    assert_eq!((figures.hidden_share, figures.cover, figures.exposed_tail_ns), (0.0, 0.0, 0));
    assert_eq!(figures.exposed_head_ns, 19_500);
}

#[test]
fn its_barriers_are_the_cast_and_the_swish_and_they_are_a_guess() {
    let overlap = overlap(&worked().done(), &given(&[1], &[0], &["GroupedMatmul"]));
    let types: Vec<&str> = overlap.barriers.iter().map(|barrier| barrier.op.op_type.as_str()).collect();
    assert_eq!(types, ["Cast", "Swish"]);
    assert!(overlap.barriers.iter().all(|barrier| barrier.evidence == Evidence::Inferred));
    let cast = &overlap.barriers[0];
    assert!(cast.because[0].contains("MatMulV2"), "{:?}", cast.because);
    assert!(cast.advice.contains("Cast") && cast.advice.contains("side block"), "{}", cast.advice);
    assert_eq!(cast.waited_ns, 1_635_250 - 1_615_000);
    assert_eq!(cast.recorded.as_ref().and_then(|recorded| recorded.stream), Some(1));
}

#[test]
fn its_record_is_one_line_with_both_windows_the_share_and_the_barriers() {
    let overlap = overlap(&worked().done(), &given(&[1], &[0], &["GroupedMatmul"]));
    let start = "side [5.250, 24.750] us, main [28.000, 50.750] us, overlap 0.000 us = 0.0 %, serial; barriers: Cast_5 (Cast), \
                 Swish_6 (Swish); next: write Cast_5 (Cast) inside the side block";
    assert!(overlap.record.starts_with(start), "{}", overlap.record);
    assert!(!overlap.record.contains('\n'));
    assert_eq!(overlap.steps.iter().map(|step| step.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(overlap.steps[0].finding, "[5.250, 24.750] us");
    assert_eq!(overlap.steps[3].finding, "0.0 %: serial");
    assert_eq!(overlap.steps[4].finding, "Cast_5 (Cast), Swish_6 (Swish)");
}

#[test]
fn the_dominator_of_the_worked_example_is_found_without_being_named() {
    let overlap = overlap(&worked().done(), &given(&[1], &[0], &[]));
    assert_eq!(overlap.dominators, ["GroupedMatmul"]);
    assert_eq!(overlap.verdict, Verdict::Serial);
}

#[test]
fn without_shapes_the_cheap_operator_right_behind_the_side_is_the_barrier() {
    let mut build = Build::default();
    build.op(1, "MatMulV2", Core::AiCore, 1_615_250, 19_500);
    build.op(0, "Cast", Core::AiVectorCore, 1_635_250, 1_000);
    build.op(0, "GroupedMatmul", Core::AiCore, 1_638_000, 22_750);
    let found = overlap(&build.done(), &given(&[1], &[0], &["GroupedMatmul"]));
    assert_eq!(found.barriers.len(), 1);
    assert_eq!(found.barriers[0].op.op_type, "Cast");
}

#[test]
fn a_busy_main_stream_between_side_and_dominator_has_no_barrier() {
    let mut build = Build::default();
    build.shaped(1, "MatMulV2", 0, 10_000, "64,7168", "64,2048");
    build.shaped(0, "TopK", 5_000, 10_000, "64,256", "64,8");
    build.shaped(0, "Softmax", 15_010, 5_000, "64,8", "64,8");
    build.shaped(0, "Cast", 20_020, 1_000, "64,8", "64,8");
    build.shaped(0, "GroupedMatmul", 21_030, 40_000, "512,7168", "512,2048");
    let found = overlap(&build.done(), &given(&[1], &[0], &["GroupedMatmul"]));
    assert_eq!(found.verdict, Verdict::Serial);
    assert_eq!(found.barriers, []);
}

/// A side of 100 us that begins `after` ns after a dominator of 200 us did.
fn shifted(after: u64) -> Build {
    let mut build = Build::default();
    build.op(0, "GroupedMatmul", Core::AiCore, 0, 200_000);
    build.op(1, "MatMulV2", Core::AiCore, after, 100_000);
    build
}

#[test]
fn the_thresholds_are_at_a_half_and_at_a_twentieth() {
    let verdict = |after| overlap(&shifted(after).done(), &given(&[1], &[0], &["GroupedMatmul"])).verdict;
    assert_eq!(verdict(0), Verdict::True);
    assert_eq!(verdict(150_000), Verdict::True);
    assert_eq!(verdict(150_001), Verdict::Partial);
    assert_eq!(verdict(194_999), Verdict::Partial);
    assert_eq!(verdict(195_000), Verdict::Serial);
    assert_eq!(verdict(200_000), Verdict::Serial);
    assert_eq!(verdict(900_000), Verdict::Serial);
}

#[test]
fn hidden_share_and_tail_say_what_the_published_share_hides() {
    let mut build = Build::default();
    build.op(0, "GroupedMatmul", Core::AiCore, 10_000, 100_000);
    build.op(1, "MatMulV2", Core::AiCore, 10_000, 400_000);
    let figures = overlap(&build.done(), &given(&[1], &[0], &["GroupedMatmul"])).figures;
    assert_eq!((figures.overlap_ns, figures.overlap_pct), (100_000, 1.0));
    assert_eq!((figures.hidden_share, figures.cover), (0.25, 1.0));
    assert_eq!(figures.exposed_tail_ns, 300_000);
}

#[test]
fn windows_have_holes_and_a_dominator_in_one_is_not_overlapped() {
    let mut build = Build::default();
    build.op(1, "MatMulV2", Core::AiCore, 0, 10_000);
    build.op(0, "GroupedMatmul", Core::AiCore, 20_000, 60_000);
    build.op(1, "MatMulV2", Core::AiCore, 90_000, 10_000);
    let found = overlap(&build.done(), &given(&[1], &[0], &["GroupedMatmul"]));
    assert_eq!((found.figures.overlap_ns, found.figures.overlap_pct), (60_000, 1.0));
    assert_eq!(found.figures.published_verdict, Verdict::True);
    assert_eq!((found.figures.busy_overlap_ns, found.verdict), (0, Verdict::Serial));
    assert_eq!(found.gate(), 0.0);
}

#[test]
fn several_dominators_are_one_window_made_of_all() {
    let mut build = Build::default();
    build.op(0, "Dispatch", Core::AiCore, 0, 40_000);
    build.op(0, "Cast", Core::AiVectorCore, 40_000, 10_000);
    build.op(0, "GroupedMatmul", Core::AiCore, 50_000, 50_000);
    build.op(1, "MatMulV2", Core::AiCore, 0, 100_000);
    let figures = overlap(&build.done(), &given(&[1], &[0], &["Dispatch", "GroupedMatmul"])).figures;
    assert_eq!(figures.main_window_ns, Window::new(0, 100_000));
    assert_eq!((figures.main_ns, figures.overlap_ns), (90_000, 90_000));
    assert_eq!((figures.overlap_pct, figures.hidden_share), (1.0, 0.9));
    assert_eq!(figures.main_busy_overlap_ns, 100_000);
}

#[test]
fn the_check_is_owed_up_to_a_sum_of_1_05_of_the_wall() {
    let owed = |after| {
        let found = overlap(&shifted(after).done(), &given(&[1], &[0], &["GroupedMatmul"]));
        (found.owed[1].applies, found.sum_over_wall)
    };
    assert_eq!(owed(0), (Some(false), 1.5));
    assert_eq!(owed(200_000), (Some(true), 1.0));
}

#[test]
fn a_partial_overlap_says_how_the_two_lie() {
    let found = overlap(&shifted(160_000).done(), &given(&[1], &[0], &["GroupedMatmul"]));
    assert_eq!(found.verdict, Verdict::Partial);
    let cause = found.causes.iter().find(|finding| finding.cause == Cause::Misaligned).expect("is said");
    assert!(cause.text.contains("ends 60.000 us after it"), "{}", cause.text);
}

#[test]
fn a_dominator_that_is_not_there_is_refused_with_what_is() {
    let capture = worked().done();
    let analysis = multicore_timeline::analysis::Analysis::new(&capture, &given(&[1], &[0], &["FusedMoe"])).unwrap();
    let error = analysis.overlap().unwrap_err().to_string();
    assert_eq!(
        error,
        "no operator named FusedMoe on the main stream; the longest there: GroupedMatmul, TopK, Swish, Cast"
    );
}
