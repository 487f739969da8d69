//! The command on real profiles. They are read from the folder in MULTICORE_DATA; without it these tests say so and pass.

use std::path::PathBuf;

use crate::{json, said, timeline};

fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("MULTICORE_DATA").map(|data| PathBuf::from(data).join("profiles"));
    if folder.is_none() {
        eprintln!("skipped: MULTICORE_DATA is not set");
    }
    folder
}

#[test]
fn the_figures_of_the_sample_files_are_in_the_report() {
    let Some(data) = data() else { return };
    // File, wall, sum, without duplicates, union.
    for (file, wall, sum, cleaned, union) in [
        ("kd_glm5_decode_a.csv", 35_962_540, 51_718_900, 50_117_900, 34_898_660),
        ("kd_dsv3_decode.csv", 41_789_806, 41_801_122, 39_475_894, 39_309_616),
        ("kd_qwen3_32b_prefill.csv", 309_882_968, 325_272_808, 325_253_968, 169_620_970),
        ("kd_level1_rank0_crlf.csv", 136_581_009, 114_865_613, 114_865_613, 110_836_940),
        ("kd_train_rank0_2463rows.csv", 810_022_360, 651_464_360, 651_464_360, 651_464_360),
        ("kd_train_591rows_hccl.csv", 516_885_540, 396_807_040, 396_807_040, 394_576_980),
        ("kd_old_rank0_ragged.csv", 267_849_918u64, 37_369_125u64, 37_369_125u64, 37_213_686u64),
    ] {
        let report = json(&data, &["report", file]);
        let got = ["wall_ns", "sum_ns", "cleaned_sum_ns", "union_ns"].map(|key| report[key].as_u64());
        assert_eq!(got, [wall, sum, cleaned, union].map(Some), "{file}");
    }
    assert_eq!(json(&data, &["report", "kd_old_rank0_ragged.csv"])["dropped_rows"], 1);
}

#[test]
fn a_starved_side_fails_the_gate_that_the_published_number_passes() {
    let Some(data) = data() else { return };
    let overlap = json(&data, &["overlap", "kd_glm5_decode_a.csv"]);
    assert_eq!(overlap["verdict"], "starved");
    assert_eq!(overlap["published_verdict"], "true");
    let output = timeline(&data, &["overlap", "kd_glm5_decode_a.csv", "--fail-under", "0.5"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn every_sample_is_answered_or_refused_in_one_line() {
    let Some(data) = data() else { return };
    let mut files: Vec<_> =
        std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.retain(|name| name.ends_with(".csv") || name.ends_with(".json"));
    files.sort();
    let mut answered = 0;
    for file in &files {
        let output = timeline(&data, &["report", file]);
        let code = output.status.code().unwrap();
        if code == 0 {
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.lines().count() <= 24, "{text}");
            answered += 1;
        } else {
            assert!((3..=5).contains(&code), "{file}: {code}");
            assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1, "{file}");
        }
    }
    assert!(answered >= 17, "{answered} of {}", files.len());
}

#[test]
fn pictures_and_traces_of_real_runs_are_written() {
    let Some(data) = data() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (command, name) in [("gantt", "x.svg"), ("gantt", "x.html"), ("trace", "trace_view.json")] {
        let to = folder.path().join(name);
        assert_eq!(said(&data, &[command, "kd_glm5_decode_a.csv", "-o", to.to_str().unwrap()]), "");
        assert!(std::fs::metadata(&to).unwrap().len() > 10_000);
    }
}
