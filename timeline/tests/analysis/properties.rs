//! What holds for every capture.

use multicore_timeline::analysis::{Analysis, Options, compare};
use multicore_timeline::capture::Row;
use multicore_timeline::{Capture, Core, SyncKind};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::Build;

/// An operator: stream, what it is, gap to the one before on its stream, duration, step.
type Op = (u32, usize, u64, u64, u32);

const KINDS: [(&str, Core); 9] = [
    ("MatMulV2", Core::AiCore),
    ("GroupedMatmul", Core::MixAic),
    ("Cast", Core::AiVectorCore),
    ("SwiGlu", Core::AiVectorCore),
    ("hcom_allReduce_", Core::Communication),
    ("allreduceAicpuKernel", Core::AiCpu),
    ("EVENT_WAIT_SQE", Core::Other),
    ("MEMCPY_ASYNC", Core::Copy),
    ("DSARandomUniform", Core::Dsa),
];

fn capture(ops: &[Op], waits: &[(u32, u64, u64)]) -> Build {
    let mut build = Build::default();
    let mut ends = [0u64; 5];
    for &(stream, kind, gap, ns, step) in ops {
        let (op_type, core) = KINDS[kind];
        let at = ends[stream as usize] + gap;
        ends[stream as usize] = at + ns;
        let shapes = build.capture.strings.intern(if ns % 2 == 0 { "64,128" } else { "32,64" });
        let row = build.op(stream, op_type, core, at, ns);
        (row.step, row.input_shapes, row.output_shapes) = (Some(step), shapes, shapes);
        row.blocks = Some(8 + stream * 8);
        row.aicore_ns = (ns % 3 == 0).then_some(ns / 3 + 1);
        if core == Core::Communication && ns % 4 < 3 {
            build.op(None, op_type, core, at, ns).step = Some(step);
        }
    }
    for &(stream, at, ns) in waits {
        build.sync(SyncKind::Wait, stream, at, ns, None);
        build.sync(SyncKind::Record, (stream + 1) % 5, at + ns / 2, 0, None);
    }
    build
}

fn captures() -> impl Strategy<Value = Build> {
    let op = (0..5u32, 0..KINDS.len(), 0..20_000u64, 0..60_000u64, 0..3u32);
    let wait = (0..5u32, 0..400_000u64, 0..50_000u64);
    (prop::collection::vec(op, 1..80), prop::collection::vec(wait, 0..6)).prop_map(|(ops, waits)| capture(&ops, &waits))
}

/// Everything the analysis says, as text; `None` if it refuses. Line numbers, and names that tests make of them, stay.
fn report(capture: &Capture) -> Option<String> {
    let analysis = Analysis::new(capture, &Options::default()).ok()?;
    let (streams, overlap) = (analysis.streams(), analysis.overlap());
    let mut summary = analysis.summary();
    summary.origin_ns = 0;
    Some(format!(
        "{summary:?}\n{streams:?}\n{overlap:?}\n{:?}\n{:?}\n{:?}",
        analysis.starved(),
        analysis.barriers(),
        analysis.phases()
    ))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_the_rows_gives_the_same_report(build in captures(), swaps in prop::collection::vec(any::<(Index, Index)>(), 40)) {
        let sorted = build.clone().done();
        let mut shuffled = build.capture;
        let rows: &mut Vec<Row> = &mut shuffled.rows;
        for (a, b) in swaps {
            let (a, b) = (a.index(rows.len()), b.index(rows.len()));
            rows.swap(a, b);
        }
        shuffled.syncs.sort_by_key(|sync| sync.start_ns);
        prop_assert_eq!(report(&sorted), report(&shuffled));
    }

    #[test]
    fn a_shift_of_the_clock_changes_nothing(build in captures(), shift in 1..1u64 << 60) {
        let capture = build.done();
        let mut shifted = capture.clone();
        shifted.rows.iter_mut().for_each(|row| row.start_ns += shift);
        shifted.syncs.iter_mut().for_each(|sync| sync.start_ns += shift);
        prop_assert_eq!(report(&capture), report(&shifted));
    }

    #[test]
    fn sums_add_up_and_shares_are_shares(build in captures()) {
        let capture = build.done();
        let Ok(analysis) = Analysis::new(&capture, &Options::default()) else { return Ok(()) };
        let summary = analysis.summary();
        prop_assert!(summary.union_ns <= summary.sum_ns && summary.union_ns <= summary.wall_ns);
        prop_assert!(summary.work_union_ns <= summary.union_ns && summary.work_union_ns <= summary.work_sum_ns);
        prop_assert_eq!(summary.cleaned_sum_ns + summary.duplicate_ns, summary.sum_ns);
        let excluded: u64 = summary.suspects.iter().filter(|suspect| suspect.excluded).map(|s| s.op.duration_ns).sum();
        prop_assert_eq!(
            summary.work_sum_ns + summary.shell_ns + summary.control_ns + excluded,
            summary.cleaned_sum_ns
        );
        prop_assert!((0.0..=1.0).contains(&summary.utilisation) && (0.0..=1.0).contains(&summary.work_utilisation));

        let phases = analysis.phases();
        for phases in phases.steps.iter().map(|step| &step.phases).chain([&phases]) {
            prop_assert_eq!(phases.computing_ns + phases.exposed_ns + phases.free_ns, phases.wall_ns);
            prop_assert_eq!(phases.exposed_ns + phases.overlapped_ns, phases.communication_ns);
            prop_assert!(phases.exposed_copy_ns <= phases.free_ns);
            prop_assert!(phases.hidden_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        }

        let streams = analysis.streams().expect("streams are given");
        for pair in &streams.pairs {
            let (a, b) = (&streams.lanes[pair.a], &streams.lanes[pair.b]);
            prop_assert!(pair.overlap_ns <= a.busy_ns.min(b.busy_ns));
            prop_assert!(pair.work_overlap_ns <= pair.overlap_ns && pair.work_overlap_ns <= a.work_ns.min(b.work_ns));
            prop_assert!((0.0..=1.0).contains(&pair.share_of_a) && (0.0..=1.0).contains(&pair.share_of_b));
        }

        let overlap = analysis.overlap().expect("streams are given");
        for figures in overlap.layers.layers.iter().map(|layer| &layer.figures).chain([&overlap.figures]) {
            for share in [figures.overlap_pct, figures.hidden_share, figures.cover, figures.busy_pct()] {
                prop_assert!((0.0..=1.0).contains(&share), "{:?}", figures);
            }
            prop_assert!(figures.core_busy_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
            prop_assert!(figures.overlap_ns <= figures.side_window_ns.len_ns().min(figures.main_ns));
            prop_assert!(figures.busy_overlap_ns <= figures.main_busy_overlap_ns);
            prop_assert!(figures.main_busy_overlap_ns <= figures.side_busy_ns);
            prop_assert!(figures.exposed_tail_ns + figures.exposed_head_ns <= figures.side_window_ns.len_ns());
        }
        prop_assert!((0.0..=1.0).contains(&overlap.gate()));
    }

    #[test]
    fn a_capture_compared_with_itself_did_not_change(build in captures()) {
        let capture = build.done();
        let Ok(analysis) = Analysis::new(&capture, &Options::default()) else { return Ok(()) };
        let same = compare(&analysis, &analysis);
        prop_assert_eq!(same.work_before_ns, same.work_after_ns);
        prop_assert!(same.operators.iter().all(|operator| operator.sum_change_ns == 0));
        prop_assert_eq!(same.counts[2], same.operators.len());
    }
}
