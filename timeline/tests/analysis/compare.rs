//! Two captures, by durations alone.

use multicore_timeline::Capture;
use multicore_timeline::analysis::{Analysis, Comparison, OperatorVerdict, Options, compare};

use crate::support::Build;

/// Ten matrix products that take `ns` and up to `spread` ns more, apart by `pitch`.
fn run(ns: u64, spread: u64, pitch: u64) -> Build {
    let mut build = Build::default();
    for at in 0..10 {
        build.shaped(2, "MatMulV2", at * pitch, ns + at * spread / 9, "64,7168;7168,2048", "64,2048");
    }
    build
}

fn compared(before: &Capture, after: &Capture) -> Comparison {
    let options = Options::default();
    compare(&Analysis::new(before, &options).unwrap(), &Analysis::new(after, &options).unwrap())
}

#[test]
fn a_change_beyond_noise_is_faster_or_slower_and_within_it_the_same() {
    let before = run(10_000, 400, 20_000).done();
    let verdict = |after: Build| compared(&before, &after.done()).operators[0].verdict;
    assert_eq!(verdict(run(8_000, 400, 20_000)), OperatorVerdict::Faster);
    assert_eq!(verdict(run(12_000, 400, 20_000)), OperatorVerdict::Slower);
    assert_eq!(verdict(run(10_150, 400, 20_000)), OperatorVerdict::Same);
    assert_eq!(verdict(run(8_000, 9_000, 20_000)), OperatorVerdict::Same);
}

#[test]
fn start_times_of_the_two_clocks_do_not_matter() {
    let before = run(10_000, 0, 20_000).done();
    let mut after = run(10_000, 0, 20_000);
    after.capture.rows.iter_mut().for_each(|row| row.start_ns -= 1_000_000_000_000);
    let same = compared(&before, &before);
    assert_eq!(compared(&before, &after.done()), same);
    assert_eq!((same.verdict, same.wall_ratio, same.overlap_check_owed), (OperatorVerdict::Same, 1.0, true));
}

#[test]
fn a_wall_that_did_not_change_by_5_percent_owes_the_check() {
    let before = run(10_000, 0, 20_000).done();
    assert!(compared(&before, &run(10_000, 0, 19_500).done()).overlap_check_owed);
    let faster = compared(&before, &run(10_000, 0, 15_000).done());
    assert_eq!((faster.verdict, faster.overlap_check_owed), (OperatorVerdict::Faster, false));
}

#[test]
fn shapes_keep_operators_apart_and_new_and_gone_are_told() {
    let mut before = run(10_000, 0, 20_000);
    before.shaped(2, "Cast", 300_000, 1_000, "64", "64");
    let mut after = run(10_000, 0, 20_000);
    after.shaped(2, "Cast", 300_000, 9_000, "128", "128");
    let found = compared(&before.done(), &after.done());
    let verdicts: Vec<_> = found.operators.iter().map(|o| (o.input_shapes.as_str(), o.verdict)).collect();
    assert_eq!(
        verdicts,
        [("128", OperatorVerdict::New), ("64", OperatorVerdict::Gone), ("64,7168;7168,2048", OperatorVerdict::Same)]
    );
    assert_eq!(found.counts, [0, 0, 1, 0, 1, 1]);
}

#[test]
fn few_repetitions_are_unsure() {
    let (mut before, mut after) = (Build::default(), Build::default());
    before.shaped(2, "Cast", 0, 1_000, "64", "64");
    after.shaped(2, "Cast", 0, 2_000, "64", "64");
    let found = compared(&before.done(), &after.done());
    assert_eq!((found.operators[0].verdict, found.operators[0].ratio), (OperatorVerdict::Unsure, Some(2.0)));
}
