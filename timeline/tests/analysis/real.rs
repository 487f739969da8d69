//! The real profiles, to the last digit. Times in tables are microseconds, as text.

use multicore_timeline::analysis::{
    Analysis, Cause, Class, Evidence, Options, Phases, Role, StarvedGroup, Verdict, Window, compare,
};

use crate::support::{given, overlap, real};

/// Nanoseconds of microseconds with three digits.
fn ns(micros: &str) -> u64 {
    micros.replace('.', "").parse().expect("digits")
}

/// File, wall, sum, sum without duplicates, union, sum over wall, the same without duplicates.
const TOTALS: [(&str, &str, &str, &str, &str, &str, &str); 7] = [
    ("kd_glm5_decode_a.csv", "35962.540", "51718.900", "50117.900", "34898.660", "1.4381", "1.3936"),
    ("kd_dsv3_decode.csv", "41789.806", "41801.122", "39475.894", "39309.616", "1.0003", "0.9446"),
    ("kd_qwen3_32b_prefill.csv", "309882.968", "325272.808", "325253.968", "169620.970", "1.0497", "1.0496"),
    ("kd_level1_rank0_crlf.csv", "136581.009", "114865.613", "114865.613", "110836.940", "0.8410", "0.8410"),
    ("kd_train_rank0_2463rows.csv", "810022.360", "651464.360", "651464.360", "651464.360", "0.8043", "0.8043"),
    ("kd_train_591rows_hccl.csv", "516885.540", "396807.040", "396807.040", "394576.980", "0.7677", "0.7677"),
    ("kd_old_rank0_ragged.csv", "267849.918", "37369.125", "37369.125", "37213.686", "0.1395", "0.1395"),
];

#[test]
fn walls_sums_and_unions() {
    for (file, wall, sum, cleaned, union, raw_ratio, cleaned_ratio) in TOTALS {
        let Some(capture) = real(file) else { return };
        let summary = Analysis::new(&capture, &Options::default()).unwrap().summary();
        assert_eq!(summary.wall_ns, ns(wall), "wall of {file}");
        assert_eq!(summary.sum_ns, ns(sum), "sum of {file}");
        assert_eq!(summary.cleaned_sum_ns, ns(cleaned), "cleaned sum of {file}");
        assert_eq!(summary.union_ns, ns(union), "union of {file}");
        assert_eq!(format!("{:.4}", summary.sum_over_wall), raw_ratio, "{file}");
        assert_eq!(format!("{:.4}", summary.cleaned_sum_over_wall), cleaned_ratio, "{file}");
    }
}

/// File, the two ids (`None` for no stream), time in common, whether that is twins of one collective.
type Common = (&'static str, Option<u32>, Option<u32>, &'static str, bool);

const PAIRS: [Common; 13] = [
    ("kd_glm5_decode_a.csv", Some(214), Some(216), "14793.300", false),
    ("kd_glm5_decode_a.csv", Some(215), Some(216), "353.220", false),
    ("kd_glm5_decode_a.csv", Some(16), Some(214), "72.720", false),
    ("kd_glm5_decode_a.csv", Some(215), None, "1601.000", true),
    ("kd_dsv3_decode.csv", Some(139), Some(141), "0.000", false),
    ("kd_dsv3_decode.csv", Some(139), Some(140), "0.000", false),
    ("kd_dsv3_decode.csv", None, Some(140), "2405.088", true),
    ("kd_level1_rank0_crlf.csv", None, Some(2), "4028.673", false),
    ("kd_train_591rows_hccl.csv", Some(16), Some(17), "1236.720", false),
    ("kd_train_591rows_hccl.csv", Some(17), None, "993.340", false),
    ("kd_qwen3_32b_prefill.csv", Some(39), Some(2), "77365.464", false),
    ("kd_qwen3_32b_prefill.csv", Some(39), None, "78189.638", false),
    ("kd_qwen3_32b_prefill.csv", Some(2), None, "0.000", false),
];

#[test]
fn pairs_of_streams() {
    for (file, a, b, common, duplicates) in PAIRS {
        let Some(capture) = real(file) else { return };
        let analysis = Analysis::new(&capture, &Options::default()).unwrap();
        let pair = analysis.streams().unwrap().pair(a, b).unwrap();
        assert_eq!((pair.overlap_ns, pair.duplicates), (ns(common), duplicates), "{a:?} x {b:?} of {file}");
    }
}

#[test]
fn no_stream_of_the_real_tables_overlaps_itself() {
    for (file, ..) in TOTALS {
        let Some(capture) = real(file) else { return };
        let analysis = Analysis::new(&capture, &Options::default()).unwrap();
        for lane in analysis.streams().unwrap().lanes.iter().filter(|lane| lane.id.is_some()) {
            assert_eq!(lane.sum_ns, lane.busy_ns, "stream {:?} of {file}", lane.id);
        }
        assert_eq!(analysis.summary().suspects, [], "{file}");
    }
}

#[test]
fn twins_and_shells_of_the_real_tables() {
    let count = |file: &str, class: Class| {
        let capture = real(file)?;
        let analysis = Analysis::new(&capture, &Options::default()).unwrap();
        Some(analysis.rows().filter(|(_, _, found)| *found == class).count())
    };
    let Some(twins) = count("kd_dsv3_decode.csv", Class::Duplicate) else { return };
    assert_eq!(twins, 181, "of 182 rows without stream");
    assert_eq!(count("kd_glm5_decode_a.csv", Class::Duplicate), Some(150));
    assert_eq!(count("kd_qwen3_32b_prefill.csv", Class::Duplicate), Some(1));
    assert_eq!(count("kd_qwen3_32b_prefill.csv", Class::Shell), Some(258));
    assert_eq!(count("kd_train_591rows_hccl.csv", Class::Shell), Some(0), "its AI_CPU rows are casts");
}

#[test]
fn without_shells_the_prefill_is_busy_half_of_the_time() {
    let Some(capture) = real("kd_qwen3_32b_prefill.csv") else { return };
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    let summary = analysis.summary();
    assert_eq!((summary.shell_rows, summary.shell_ns), (258, ns("156377.056")));
    assert_eq!(summary.work_sum_ns, ns("325253.968") - ns("156377.056"));
    assert_eq!(format!("{:.3} {:.4}", summary.utilisation, summary.work_sum_over_wall), "0.547 0.5450");
    let streams = analysis.streams().unwrap();
    assert_eq!(streams.pair(Some(39), Some(2)).unwrap().work_overlap_ns, 0);
    assert_eq!(streams.of(39).unwrap().role, Role::Control);
}

#[test]
fn the_starved_decode_is_not_called_a_true_overlap() {
    let Some(capture) = real("kd_glm5_decode_a.csv") else { return };
    for options in [Options::default(), given(&[216], &[214], &["DispatchFFNCombine"])] {
        let found = overlap(&capture, &options);
        assert_eq!((found.side.as_slice(), found.main.as_slice()), (&[216][..], &[214][..]));
        assert_eq!(found.dominators, ["DispatchFFNCombine"]);
        assert_eq!((found.verdict, found.figures.published_verdict), (Verdict::Starved, Verdict::True));
        assert_eq!((found.layers.count, found.layers.starved, found.layers.published_true), (48, 47, 47));
        assert_eq!((found.layers.median_overlap_pct, found.layers.period), (1.0, Some(5)));
        assert_eq!(found.causes[0].cause, Cause::StarvedOfCores);
        assert_eq!(found.gate(), 0.0);
        // The outlier is the layer whose second matrix product found cores.
        assert_eq!((found.layers.outliers.as_slice(), found.layers.worst), (&[10][..], Some(10)));
        assert_eq!(found.layers.layers[10].verdict, Verdict::Partial);
        assert_eq!(format!("{:.2}", found.figures.core_busy_share.unwrap()), "0.12");
    }
}

#[test]
fn the_first_layer_of_the_starved_decode_to_the_nanosecond() {
    let Some(capture) = real("kd_glm5_decode_a.csv") else { return };
    let whole = overlap(&capture, &given(&[216], &[214], &["DispatchFFNCombine"]));
    let range = Options { from_ns: Some(0), to_ns: Some(2_000_000), ..given(&[216], &[214], &["DispatchFFNCombine"]) };
    let alone = overlap(&capture, &range);
    for figures in [&whole.layers.layers[0].figures, &alone.figures] {
        assert_eq!(figures.side_window_ns, Window::new(ns("1551.160"), ns("1905.220")));
        assert_eq!(figures.main_window_ns, Window::new(ns("1604.920"), ns("1896.700")));
        assert_eq!((figures.overlap_ns, figures.overlap_pct), (ns("291.780"), 1.0));
        assert_eq!(format!("{:.3}", figures.hidden_share), "0.824");
        assert_eq!(figures.exposed_tail_ns, ns("8.520"));
    }
    assert_eq!(alone.verdict, Verdict::Starved);
    let inflated = whole.starved.iter().find(|starved| starved.op.task == Some(5)).unwrap();
    assert_eq!((inflated.op.duration_ns, inflated.core_ns), (ns("298.980"), ns("10.773")));
    assert_eq!((inflated.reference_ns, inflated.over), (ns("18.320"), Some(true)));
    assert_eq!((inflated.asked.cube, inflated.beside.op_type.as_str()), (48, "DispatchFFNCombine"));
}

#[test]
fn the_starved_operator_is_the_second_matrix_product_of_the_side() {
    let Some(capture) = real("kd_glm5_decode_a.csv") else { return };
    let starvation = Analysis::new(&capture, &Options::default()).unwrap().starved();
    let StarvedGroup { op_type, input_shapes, stream, count, of, reference_ns, .. } = &starvation.groups[0];
    assert_eq!(
        (op_type.as_str(), input_shapes.as_str(), *stream, *count, *of, *reference_ns),
        ("QuantBatchMatmulV3", "3,512;192,32,16,32;6144;3", Some(216), 47, 48, ns("18.320"))
    );
}

#[test]
fn a_renumbered_main_stream_is_one_stream() {
    let Some(capture) = real("kd_dsv3_decode.csv") else { return };
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    let main = analysis.streams().unwrap().main().unwrap();
    assert_eq!((main.ids.as_slice(), main.rows), (&[139, 141][..], 1938));
    assert_eq!(main.continuations[0].gap_ns, 21_798);
    assert_eq!(analysis.overlap().unwrap().verdict, Verdict::NoSide);
    let asked = overlap(&capture, &given(&[141], &[139], &[]));
    assert_eq!((asked.verdict, asked.figures.overlap_ns), (Verdict::SameStream, 0));
    assert_eq!(asked.causes[0].cause, Cause::SameStream);
}

#[test]
fn collectives_of_the_decode_overlap_no_computing() {
    let Some(capture) = real("kd_dsv3_decode.csv") else { return };
    for dominators in [&[][..], &["DispatchFFNCombine"][..]] {
        let found = overlap(&capture, &given(&[140], &[139, 141], dominators));
        assert_eq!((found.verdict, found.figures.overlap_ns, found.figures.overlap_pct), (Verdict::Serial, 0, 0.0));
        assert_eq!((found.figures.busy_overlap_ns, found.layers.serial), (0, found.layers.count));
    }
    let phases = Analysis::new(&capture, &Options::default()).unwrap().phases();
    assert_eq!((phases.overlapped_ns, phases.hidden_share), (0, Some(0.0)));
}

/// Whether figures lie within 5 ns a collective of the profiler's own.
fn near(phases: &Phases, column: &str, ours: u64, theirs: u64) {
    let allowed = 5 * phases.collectives as u64;
    assert!(ours.abs_diff(theirs) <= allowed, "{column}: {ours} against {theirs}, {allowed} ns allowed");
}

#[test]
fn the_profilers_own_step_times_are_met() {
    let Some(capture) = real("kd_level1_rank0_crlf.csv") else { return };
    let phases = Analysis::new(&capture, &Options::default()).unwrap().phases();
    assert_eq!((phases.steps.len(), phases.steps[0].step, phases.collectives), (1, 50, 4));
    let step = &phases.steps[0].phases;
    near(&phases, "Computing", step.computing_ns, ns("8873.756"));
    near(&phases, "Communication(Not Overlapped)", step.exposed_ns, ns("101963.203"));
    near(&phases, "Overlapped", step.overlapped_ns, ns("4028.675"));
    near(&phases, "Communication", step.communication_ns, ns("105991.878"));
    near(&phases, "Free", step.free_ns, ns("25744.050"));
    near(&phases, "Stage", step.wall_ns, ns("136581.000"));

    let Some(capture) = real("kd_train_rank0_2463rows.csv") else { return };
    let phases = Analysis::new(&capture, &Options::default()).unwrap().phases();
    let step = &phases.steps[0].phases;
    assert_eq!(
        (phases.steps[0].step, step.computing_ns, step.communication_ns),
        (13, ns("231290.100"), ns("420174.260"))
    );
    assert_eq!((step.overlapped_ns, step.exposed_ns, step.free_ns), (0, ns("420174.260"), ns("158558.000")));
    // The file says 810022.25: its own Computing + exposed + Free is 810022.36, which is what the rows say.
    assert_eq!(step.wall_ns, ns("810022.360"));
}

#[test]
fn a_timeline_shows_the_barriers_that_the_table_hides() {
    let Some(capture) = real("trace_view_level1_rank0_npu.json") else { return };
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    assert_eq!(analysis.summary().wall_ns, ns("136581.009"), "as the table of the same run");
    let barriers = analysis.barriers();
    let waits: Vec<u64> = barriers.iter().map(|barrier| barrier.waited_ns).collect();
    assert_eq!(waits, [ns("65554.570"), ns("21871.657"), ns("2145.583"), ns("2112.522")]);
    for barrier in &barriers {
        assert_eq!(barrier.evidence, Evidence::Shown);
        let (wait, recorded) = (barrier.wait.as_ref().unwrap(), barrier.recorded.as_ref().unwrap());
        let after = recorded.after.as_ref().unwrap();
        assert_eq!((wait.stream, after.op_type.as_str()), (2, "hcom_allReduce_"));
        let lag = wait.window_ns.end_ns - after.window().end_ns;
        assert!((1_900..2_100).contains(&lag), "{lag}");
    }
}

#[test]
fn a_designed_overlap_is_seen() {
    let Some(capture) = real("cuda_dualpipe_train_gpu.json") else { return };
    let analysis = Analysis::new(&capture, &Options::default()).unwrap();
    let summary = analysis.summary();
    assert_eq!((summary.wall_ns, summary.sum_ns), (ns("129012.000"), ns("244041.000")));
    assert_eq!(format!("{:.3}", summary.sum_over_wall), "1.892");
    let pair = analysis.streams().unwrap().pair(Some(7), Some(27)).unwrap();
    assert_eq!(pair.overlap_ns, ns("104193.000"));
    assert_eq!(format!("{:.2}", pair.share_of_b), "0.91");
    assert_eq!(overlap(&capture, &given(&[27], &[7], &[])).verdict, Verdict::True);
}

#[test]
fn streams_joined_by_a_wait_are_serial_and_the_wait_is_named() {
    let Some(capture) = real("cuda_event_sync_multi_stream_gpu.json") else { return };
    let found = overlap(&capture, &given(&[24], &[20], &[]));
    assert_eq!((found.verdict, found.figures.overlap_ns), (Verdict::Serial, 0));
    let recorded = found.barriers[0].recorded.as_ref().unwrap();
    assert_eq!((found.barriers[0].evidence, recorded.stream), (Evidence::Shown, Some(20)));
    assert_eq!(recorded.after.as_ref().unwrap().name, "ampere_sgemm_128x64_nn");
}

#[test]
fn a_capture_compared_with_itself_is_the_same_and_levels_compare_by_durations() {
    let Some(level1) = real("kd_level1_rank0_crlf.csv") else { return };
    let Some(level2) = real("kd_level2_rank0_lf.csv") else { return };
    let (a, b) =
        (Analysis::new(&level1, &Options::default()).unwrap(), Analysis::new(&level2, &Options::default()).unwrap());
    let same = compare(&a, &a);
    assert_eq!((same.counts[0], same.counts[1], same.wall_ratio), (0, 0, 1.0));
    let levels = compare(&a, &b);
    assert_eq!((levels.counts[4], levels.counts[5]), (0, 0), "the same model has the same operators");
    assert!(levels.operators.iter().all(|operator| operator.before.count == operator.after.count));
}
