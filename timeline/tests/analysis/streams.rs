//! Which ids are one stream, what each is for, and how long pairs were busy at once.

use multicore_timeline::analysis::{Analysis, Error, Options, Role, Verdict};
use multicore_timeline::{Capture, Core};

use crate::support::{Build, given, overlap};

/// Two operators a layer on `stream`, ten layers from `at` on.
fn layers(build: &mut Build, stream: u32, at: u64) {
    for layer in 0..10 {
        build.op(stream, "MatMulV2", Core::AiCore, at + layer * 10_000, 6_000);
        build.op(stream, "AddRmsNorm", Core::AiVectorCore, at + layer * 10_000 + 6_000, 3_000);
    }
}

fn streams(capture: &Capture, options: &Options) -> Vec<(Vec<u32>, Role)> {
    let analysis = Analysis::new(capture, options).unwrap();
    analysis.streams().unwrap().streams.iter().map(|stream| (stream.ids.clone(), stream.role)).collect()
}

#[test]
fn a_stream_that_goes_on_under_another_id_is_one_stream() {
    let mut build = Build::default();
    layers(&mut build, 139, 0);
    layers(&mut build, 141, 120_000);
    let capture = build.done();
    assert_eq!(streams(&capture, &Options::default()), [(vec![139, 141], Role::Main)]);
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    let found = analysis.streams().unwrap();
    let went_on = &found.streams[0].continuations[0];
    assert_eq!((went_on.from, went_on.to, went_on.gap_ns), (139, 141, 21_000));
    assert!((went_on.likeness - 1.0).abs() < 1e-9);
    assert!(found.notes[0].starts_with("stream 139 continues as 141"), "{:?}", found.notes);
    // Asked about as if they were two, they are not false parallel.
    assert_eq!(overlap(&capture, &given(&[141], &[139], &[])).verdict, Verdict::SameStream);
}

#[test]
fn forty_replays_with_new_ids_are_a_main_and_a_side() {
    let mut build = Build::default();
    for replay in 0..40u64 {
        layers(&mut build, 40 + 2 * replay as u32, replay * 200_000);
        for op in 0..10 {
            build.op(41 + 2 * replay as u32, "SwiGlu", Core::AiVectorCore, replay * 200_000 + op * 10_000, 4_000);
        }
    }
    let capture = build.done();
    let found = streams(&capture, &Options::default());
    assert_eq!(
        found.iter().map(|(ids, role)| (ids.len(), *role)).collect::<Vec<_>>(),
        [(40, Role::Main), (40, Role::Side)]
    );
    assert_eq!(&found[0].0[..3], [40, 42, 44]);
}

#[test]
fn streams_that_run_side_by_side_or_do_other_work_are_not_one() {
    let mut build = Build::default();
    layers(&mut build, 2, 0);
    layers(&mut build, 3, 99_000 - 1);
    for op in 0..20 {
        build.op(4, "Conv2D", Core::AiCore, 300_000 + op * 1_000, 900);
    }
    let ids: Vec<Vec<u32>> = streams(&build.done(), &Options::default()).into_iter().map(|(ids, _)| ids).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
}

#[test]
fn roles_are_guessed_from_work_and_changed_by_option() {
    let mut build = Build::default();
    layers(&mut build, 2, 0);
    for layer in 0..10 {
        build.op(3, "SwiGlu", Core::AiVectorCore, layer * 10_000 + 5_000, 2_000);
        build.collective(4, layer * 10_000 + 9_000, 500);
    }
    build.op(5, "MEMCPY_ASYNC", Core::Copy, 1_000, 500);
    build.op(6, "DSARandomUniform", Core::Dsa, 2_000, 100);
    build.op(7, "allreduceAicpuKernel", Core::AiCpu, 2_000, 9_000);
    let capture = build.done();
    let roles = |options: &Options| -> Vec<(u32, Role)> {
        let mut roles: Vec<_> = streams(&capture, options).into_iter().map(|(ids, role)| (ids[0], role)).collect();
        roles.sort();
        roles
    };
    use Role::{Communication, Control, Copy, Main, Minor, Side};
    assert_eq!(
        roles(&Options::default()),
        [(2, Main), (3, Side), (4, Communication), (5, Copy), (6, Minor), (7, Control)]
    );
    let swapped = Options { roles: vec![(3, Main), (2, Side)], ..Options::default() };
    assert_eq!(roles(&swapped)[..2], [(2, Side), (3, Main)]);
    let analysis = Analysis::new(&capture, &swapped).unwrap();
    assert!(!analysis.streams().unwrap().of(3).unwrap().guessed);
    assert_eq!(analysis.overlap().unwrap().main, [3]);
}

#[test]
fn kernels_of_other_vendors_are_told_apart_by_name() {
    let mut build = Build::default();
    build.op(7, "cutlass::device_kernel<GemmUniversal>", Core::Gpu, 0, 100_000);
    build.op(27, "void deep_ep::internode::dispatch<false>", Core::Gpu, 0, 90_000);
    build.op(28, "ncclDevKernel_AllReduce_Sum_bf16", Core::Gpu, 0, 80_000);
    let capture = build.done();
    let found = streams(&capture, &Options::default());
    assert_eq!(found[0], (vec![7], Role::Main));
    assert!(found[1..].iter().all(|(_, role)| *role == Role::Communication), "{found:?}");
    assert_eq!(Analysis::new(&capture, &Options::default()).unwrap().phases().communication_ns, 90_000);
}

#[test]
fn all_pairs_are_in_the_matrix_and_twins_are_marked() {
    let mut build = Build::default();
    build.op(1, "MatMulV2", Core::AiCore, 0, 100_000);
    build.op(2, "MatMulV2", Core::AiCore, 50_000, 100_000);
    build.op(3, "MatMulV2", Core::AiCore, 90_000, 20_000);
    build.collective(4, 95_000, 5_000);
    let capture = build.done();
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    let found = analysis.streams().unwrap();
    assert_eq!((found.lanes.len(), found.pairs.len()), (5, 10));
    let pair = |a, b| found.pair(a, b).unwrap();
    assert_eq!(pair(Some(1), Some(2)).overlap_ns, 50_000);
    assert_eq!(pair(Some(3), Some(1)).overlap_ns, 10_000);
    assert_eq!((pair(Some(1), Some(2)).share_of_a, pair(Some(1), Some(2)).share_of_b), (0.5, 0.5));
    let twins = pair(Some(4), None);
    assert_eq!((twins.overlap_ns, twins.work_overlap_ns, twins.duplicates), (5_000, 0, true));
    assert!(!pair(Some(1), None).duplicates);
}

#[test]
fn a_stream_that_is_not_there_is_refused_with_those_that_are() {
    let mut build = Build::default();
    layers(&mut build, 2, 0);
    let capture = build.done();
    let refused = |options: &Options| Analysis::new(&capture, options).err();
    assert_eq!(refused(&given(&[5], &[2], &[])), Some(Error::NoStream { stream: 5, have: vec![2] }));
    assert_eq!(refused(&given(&[2], &[2], &[])), Some(Error::SameStream(2)));
    assert!(refused(&Options { roles: vec![(9, Role::Side)], ..Options::default() }).is_some());
}
