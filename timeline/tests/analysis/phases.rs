//! Computing and communication.

use multicore_timeline::Core;
use multicore_timeline::analysis::{Analysis, Options};

use crate::support::Build;

#[test]
fn computing_exposed_communication_and_free_make_the_wall() {
    let mut build = Build::default();
    build.op(2, "MatMulV2", Core::AiCore, 0, 40_000).step = Some(1);
    build.op(3, "MatMulV2", Core::AiCore, 30_000, 20_000).step = Some(1);
    build.op(None, "hcom_allReduce_", Core::Communication, 45_000, 30_000).step = Some(1);
    build.op(2, "MatMulV2", Core::AiCore, 90_000, 10_000).step = Some(1);
    build.op(5, "MEMCPY_ASYNC", Core::Copy, 80_000, 15_000).step = Some(1);
    let capture = build.done();
    let phases = Analysis::new(&capture, &Options::default()).unwrap().phases();
    assert_eq!((phases.computing_ns, phases.communication_ns), (60_000, 30_000));
    assert_eq!((phases.overlapped_ns, phases.exposed_ns, phases.free_ns), (5_000, 25_000, 15_000));
    assert_eq!(phases.computing_ns + phases.exposed_ns + phases.free_ns, phases.wall_ns);
    assert_eq!((phases.exposed_copy_ns, phases.collectives), (10_000, 1));
    assert_eq!((phases.steps.len(), phases.steps[0].step, phases.steps[0].rows), (1, 1, 4));
    assert_eq!(phases.steps[0].phases.computing_ns, phases.computing_ns);
}

#[test]
fn steps_are_apart() {
    let mut build = Build::default();
    for step in 0..3u64 {
        build.op(2, "MatMulV2", Core::AiCore, step * 100_000, 40_000 + step).step = Some(step as u32);
        build.op(None, "hcom_allReduce_", Core::Communication, step * 100_000 + 20_000, 40_000).step =
            Some(step as u32);
    }
    let capture = build.done();
    let phases = Analysis::new(&capture, &Options::default()).unwrap().phases();
    let overlapped: Vec<u64> = phases.steps.iter().map(|step| step.phases.overlapped_ns).collect();
    assert_eq!(overlapped, [20_000, 20_001, 20_002]);
    assert_eq!(phases.overlapped_ns, 60_003);
}

#[test]
fn twins_do_not_count_as_two_collectives() {
    let mut build = Build::default();
    build.op(2, "MatMulV2", Core::AiCore, 0, 40_000);
    build.collective(9, 40_000, 10_000);
    let capture = build.done();
    let phases = Analysis::new(&capture, &Options::default()).unwrap().phases();
    assert_eq!((phases.collectives, phases.communication_ns, phases.hidden_share), (1, 10_000, Some(0.0)));
}
