//! Layers: many checks in one line.

use multicore_timeline::Core;
use multicore_timeline::analysis::{Verdict, Window};

use crate::support::{Build, given, overlap};

/// Layers of attention, a dominator, and a side of three operators that starts 20 us before it; `late` layers have a
/// side that starts behind the dominator.
fn moe(layers: u64, late: &[u64]) -> Build {
    let mut build = Build::default();
    for layer in 0..layers {
        let at = layer * 700_000;
        build.op(214, "SparseFlashAttention", Core::MixAic, at, 90_000);
        build.op(214, "DispatchFFNCombine", Core::MixAic, at + 200_000, 280_000);
        build.op(214, "AddRmsNorm", Core::AiVectorCore, at + 490_000, 10_000);
        let side = at + if late.contains(&layer) { 481_000 } else { 180_000 };
        build.op(216, "QuantBatchMatmulV3", Core::MixAic, side, 40_000);
        build.op(216, "SwiGlu", Core::AiVectorCore, side + 42_000, 3_000);
        build.op(216, "QuantBatchMatmulV3", Core::MixAic, side + 46_000, 30_000);
    }
    build
}

#[test]
fn seventy_five_layers_are_one_line_with_median_and_worst() {
    let found = overlap(&moe(75, &[]).done(), &given(&[], &[], &[]));
    assert_eq!((found.side.as_slice(), found.main.as_slice()), (&[216][..], &[214][..]));
    assert_eq!(found.dominators, ["DispatchFFNCombine"]);
    assert_eq!((found.verdict, found.layers.count, found.layers.overlapped), (Verdict::True, 75, 75));
    assert_eq!((found.layers.period, found.layers.outliers.as_slice()), (Some(3), &[][..]));
    assert_eq!(found.layers.median_overlap_pct, 56.0 / 76.0);
    assert_eq!((found.layers.median_side_ns, found.layers.median_main_ns), (76_000, 280_000));
    assert_eq!(found.figures.side_window_ns.len_ns(), 76_000);
}

#[test]
fn the_outlier_is_named() {
    let found = overlap(&moe(75, &[41]).done(), &given(&[], &[], &[]));
    assert_eq!((found.verdict, found.layers.overlapped, found.layers.serial), (Verdict::True, 74, 1));
    assert_eq!((found.layers.outliers.as_slice(), found.layers.worst), (&[41][..], Some(41)));
    let outlier = &found.layers.layers[41];
    assert_eq!((outlier.number, outlier.verdict), (42, Verdict::Serial));
    assert_eq!(outlier.figures.exposed_tail_ns, 76_000);
}

#[test]
fn a_layer_without_side_is_counted_and_moves_no_other_side() {
    let mut build = moe(10, &[]);
    build.capture.rows.retain(|row| {
        row.stream != Some(216)
            || row.start_ns - crate::support::CLOCK < 3 * 700_000
            || row.start_ns - crate::support::CLOCK > 4 * 700_000
    });
    let found = overlap(&build.done(), &given(&[216], &[214], &["DispatchFFNCombine"]));
    assert_eq!((found.layers.count, found.layers.without_side, found.layers.overlapped), (9, 1, 9));
}

#[test]
fn a_side_that_does_not_repeat_goes_to_the_dominators_beside_it() {
    let mut build = Build::default();
    for (layer, op_type) in ["Sort", "TopK", "Gather", "Unique"].into_iter().enumerate() {
        let at = layer as u64 * 500_000;
        build.op(0, "GroupedMatmul", Core::AiCore, at, 200_000);
        build.op(1, op_type, Core::AiVectorCore, at + 100_000, 50_000);
    }
    let found = overlap(&build.done(), &given(&[1], &[0], &["GroupedMatmul"]));
    assert_eq!((found.layers.count, found.layers.overlapped, found.layers.period), (4, 4, None));
    assert_eq!(found.layers.layers[2].figures.side_window_ns, Window::new(1_100_000, 1_150_000));
}

#[test]
fn what_runs_around_each_of_many_dominators_overlaps_none() {
    let mut build = Build::default();
    for layer in 0..6u64 {
        let at = layer * 1_000_000;
        build.op(140, "hcom_allReduce_", Core::Communication, at, 10_000);
        build.op(139, "DispatchFFNCombine", Core::MixAic, at + 100_000, 300_000);
        build.op(140, "hcom_allGather_", Core::Communication, at + 450_000, 10_000);
    }
    let found = overlap(&build.done(), &given(&[140], &[139], &["DispatchFFNCombine"]));
    assert_eq!((found.verdict, found.layers.count, found.layers.serial), (Verdict::Serial, 12, 12));
    assert_eq!((found.figures.overlap_ns, found.figures.busy_overlap_ns), (0, 0));
}
