//! Operators that hold a stream and wait for cores.

use multicore_timeline::Core;
use multicore_timeline::analysis::{Analysis, Cause, Cores, Options, Reference, Verdict};

use crate::support::{Build, given, overlap};

/// Layers of a dominator that takes all 24 cube cores, and a side operator that needs 12 us of them; `beside` of
/// `layers` layers are launched together, so that the side operator sits there until the dominator is done.
fn decode(layers: u64, beside: u64) -> Build {
    let mut build = Build::default();
    for layer in 0..layers {
        let at = layer * 1_000_000;
        let dominator = build.shaped(214, "DispatchFFNCombine", at + 50_000, 300_000, "3,6144", "3,6144");
        (dominator.blocks, dominator.aicore_ns, dominator.core) = (Some(24), Some(290_000), Core::MixAic);
        let together = layer < beside;
        let (start, ns) = if together { (at + 60_000, 295_000) } else { (at + 400_000, 18_000) };
        let side = build.shaped(216, "QuantBatchMatmulV3", start, ns, "3,512;192,32,16,32", "3,6144");
        (side.blocks, side.aicore_ns, side.core) =
            (Some(24), Some(if together { 12_600 } else { 15_000 }), Core::MixAic);
    }
    build
}

#[test]
fn a_full_overlap_that_waits_for_cores_is_starved_not_true() {
    let found = overlap(&decode(8, 7).done(), &given(&[216], &[214], &["DispatchFFNCombine"]));
    assert_eq!((found.verdict, found.figures.published_verdict), (Verdict::Starved, Verdict::True));
    assert!(found.figures.overlap_pct > 0.9);
    assert!(found.figures.core_busy_share.unwrap() < 0.05, "{:?}", found.figures.core_busy_share);
    assert_eq!(found.figures.held_ns, 277_000);
    assert_eq!((found.layers.starved, found.layers.published_true), (7, 7));
    assert_eq!(found.causes[0].cause, Cause::StarvedOfCores);
    assert_eq!(found.gate(), 0.0);
}

#[test]
fn the_operator_its_reference_and_the_core_sum_are_named() {
    let capture = decode(8, 7).done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    let starvation = analysis.starved();
    assert_eq!(analysis.cores(), Some(Cores { cube: 24, vector: 0 }));
    let group = &starvation.groups[0];
    assert_eq!((group.op_type.as_str(), group.count, group.of), ("QuantBatchMatmulV3", 7, 8));
    assert_eq!((group.median_ns, group.median_core_ns, group.reference_ns), (295_000, 12_600, 18_000));
    assert_eq!((group.held_ns, group.beside.as_str()), (7 * 277_000, "DispatchFFNCombine"));
    let first = &starvation.operators[0];
    assert_eq!(first.asked, Cores { cube: 48, vector: 0 });
    assert_eq!(first.over, Some(true));
    let Reference::Alike { op, core_ns, count } = &first.reference else { panic!("{:?}", first.reference) };
    assert_eq!((op.duration_ns, *core_ns, *count), (18_000, 15_000, 8));
}

#[test]
fn with_no_healthy_run_the_core_time_is_the_reference() {
    let found = overlap(&decode(8, 8).done(), &given(&[216], &[214], &["DispatchFFNCombine"]));
    assert_eq!((found.verdict, found.layers.starved), (Verdict::Starved, 8));
    assert_eq!(found.starved[0].reference, Reference::CoreTime);
    assert_eq!(found.starved[0].held_ns, 295_000 - 12_600);
}

#[test]
fn an_operator_that_computes_longer_is_not_starved() {
    let mut build = decode(8, 7);
    for row in build.capture.rows.iter_mut().filter(|row| row.duration_ns == 295_000) {
        row.aicore_ns = Some(290_000);
    }
    let found = overlap(&build.done(), &given(&[216], &[214], &["DispatchFFNCombine"]));
    assert_eq!((found.verdict, found.starved.len()), (Verdict::True, 0));
}

#[test]
fn a_long_operator_with_nothing_beside_it_waits_for_something_else() {
    let mut build = decode(8, 7);
    build.capture.rows.retain(|row| row.stream == Some(216));
    let capture = build.done();
    assert_eq!(Analysis::new(&capture, &Options::default()).unwrap().starved().operators, []);
}

#[test]
fn with_cores_to_spare_a_long_launch_is_not_called_starved() {
    let capture = decode(8, 8).done();
    let roomy = Options { cores: Some(Cores { cube: 64, vector: 128 }), ..Options::default() };
    assert_eq!(Analysis::new(&capture, &roomy).unwrap().starved().operators, []);
}

#[test]
fn without_core_times_nothing_is_said() {
    let mut build = decode(8, 7);
    build.capture.rows.iter_mut().for_each(|row| row.aicore_ns = None);
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    assert!(!analysis.starved().measured);
    assert_eq!(analysis.overlap().unwrap().figures.core_busy_share, None);
}

#[test]
fn blocks_beyond_any_chip_are_no_cores() {
    let mut build = decode(2, 1);
    build.op(214, "TritonKernel", Core::AiVectorCore, 5_000_000, 1_000).blocks = Some(1024);
    let capture = build.done();
    assert_eq!(Analysis::new(&capture, &Options::default()).unwrap().cores(), Some(Cores { cube: 24, vector: 0 }));
}
