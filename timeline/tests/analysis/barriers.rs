//! Waits that a profile shows.

use multicore_timeline::analysis::{Analysis, Evidence, Options, Verdict};
use multicore_timeline::{Core, Site, SyncKind};

use crate::support::{Build, given, overlap};

/// A main stream that stands in a wait for a side operator before it starts its dominator.
fn waits(event: Option<u64>) -> Build {
    let mut build = Build::default();
    build.op(38, "TopK", Core::AiVectorCore, 0, 5_000);
    build.op(46, "ReduceScatter", Core::AiCore, 0, 60_000);
    build.op(46, "MatMulV2", Core::AiCore, 60_000, 40_000);
    build.op(38, "GroupedMatmul", Core::AiCore, 102_000, 80_000);
    build.sync(SyncKind::Record, 46, 60_010, 0, event.map(|event| event + 1));
    build.sync(SyncKind::Record, 46, 100_010, 0, event);
    build.sync(SyncKind::Wait, 38, 5_000, 96_900, event);
    build
}

#[test]
fn a_wait_names_its_stream_the_operator_behind_it_and_what_it_followed() {
    let found = overlap(&waits(None).done(), &given(&[46], &[38], &["GroupedMatmul"]));
    assert_eq!(found.verdict, Verdict::Serial);
    let barrier = &found.barriers[0];
    assert_eq!((barrier.evidence, barrier.waited_ns, barrier.layer), (Evidence::Shown, 96_900, Some(1)));
    assert_eq!(barrier.op.op_type, "GroupedMatmul");
    let recorded = barrier.recorded.as_ref().unwrap();
    assert_eq!((recorded.stream, recorded.record_ns, recorded.by_event), (Some(46), Some(100_010), false));
    assert_eq!(recorded.after.as_ref().unwrap().op_type, "MatMulV2");
    assert_eq!(
        barrier.because,
        ["stream 38 stood 96.900 us in a wait that followed MatMulV2_4 (MatMulV2) on stream 46"]
    );
}

#[test]
fn an_event_number_finds_the_record_whatever_ran_in_between() {
    let mut build = waits(Some(4));
    build.capture.syncs[2].event = Some(5);
    let found = overlap(&build.done(), &given(&[46], &[38], &["GroupedMatmul"]));
    let recorded = found.barriers[0].recorded.as_ref().unwrap();
    assert_eq!((recorded.by_event, recorded.record_ns), (true, Some(60_010)));
    assert_eq!(recorded.after.as_ref().unwrap().op_type, "ReduceScatter");
}

#[test]
fn places_in_the_source_are_told() {
    let mut build = waits(Some(4));
    build.capture.syncs[2].site = Some(Site {
        function: "moe".into(),
        file: "src/moe.rs".into(),
        line: 12,
        variables: "shared".into(),
        index: 0,
    });
    let found = overlap(&build.done(), &given(&[46], &[38], &["GroupedMatmul"]));
    let wait = found.barriers[0].wait.as_ref().unwrap();
    assert_eq!(wait.site.as_deref(), Some("moe, src/moe.rs:12 (shared)"));
}

#[test]
fn a_wait_for_a_collective_without_stream_names_the_collective() {
    let mut build = Build::default();
    build.op(2, "MatMulV2", Core::AiCore, 0, 10_000);
    build.op(None, "hcom_allReduce_", Core::Communication, 5_000, 60_000);
    build.op(2, "Mul", Core::AiVectorCore, 67_500, 2_000);
    build.sync(SyncKind::Wait, 2, 10_000, 57_000, None);
    let capture = build.done();
    let barriers = Analysis::new(&capture, &Options::default()).unwrap().barriers();
    assert_eq!(barriers.len(), 1);
    let recorded = barriers[0].recorded.as_ref().unwrap();
    assert_eq!((recorded.stream, recorded.record_ns), (None, None));
    assert_eq!(recorded.after.as_ref().unwrap().op_type, "hcom_allReduce_");
    assert!(barriers[0].because[0].contains("on the collective lane"), "{:?}", barriers[0].because);
}

#[test]
fn satisfied_waits_and_waits_of_other_devices_hold_nobody_up() {
    let mut build = waits(None);
    build.capture.syncs.retain(|sync| sync.kind == SyncKind::Record);
    build.sync(SyncKind::Wait, 38, 5_000, 20, None);
    build.sync(SyncKind::Wait, 38, 5_000, 90_000, None);
    build.capture.syncs.last_mut().unwrap().device_id = 1;
    let capture = build.done();
    let barriers = Analysis::new(&capture, &Options::default()).unwrap().barriers();
    assert!(barriers.iter().all(|barrier| barrier.evidence == Evidence::Inferred), "{barriers:?}");
}

#[test]
fn a_true_overlap_has_no_barriers() {
    let mut build = Build::default();
    build.op(38, "GroupedMatmul", Core::AiCore, 0, 80_000);
    build.op(46, "MatMulV2", Core::AiCore, 10_000, 40_000);
    build.op(38, "Add", Core::AiVectorCore, 90_000, 1_000);
    build.sync(SyncKind::Wait, 38, 80_000, 9_000, None);
    assert_eq!(overlap(&build.done(), &given(&[46], &[38], &["GroupedMatmul"])).barriers, []);
}
