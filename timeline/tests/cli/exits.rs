//! Exit codes, one line on standard error for each, and no output that looks like an answer.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::{Profiles, json, said, timeline};

/// The code and the one line of a run that fails.
fn fails(profiles: &Profiles, arguments: &[&str]) -> (i32, String) {
    let output = timeline(profiles.path(), arguments);
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(line.trim_end().lines().count(), 1, "{arguments:?}: {line}");
    assert!(line.starts_with("timeline: "), "{line}");
    let code = output.status.code().expect("no signal");
    assert!(code == 1 || output.stdout.is_empty(), "{arguments:?} answers although it fails");
    (code, line)
}

const HEADER: &str = "Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)";

#[test]
fn each_kind_of_failure_has_its_code() {
    let profiles = Profiles::new();
    profiles.file("empty.csv", "");
    profiles.file("header.csv", format!("{HEADER},Stream ID\n"));
    profiles.file("level0.csv", format!("{HEADER}\nCast,N/A,N/A,1.5,2,0\n"));
    profiles.file("poem.txt", "Roses are red\n");

    for (file, code) in [("empty.csv", 3), ("header.csv", 3), ("poem.txt", 4), ("nowhere.csv", 4), ("level0.csv", 5)] {
        for command in ["report", "overlap", "streams", "barriers", "starved"] {
            let (got, line) = fails(&profiles, &[command, file]);
            assert_eq!(got, code, "{line}");
            assert!(line.contains(file), "{line}");
        }
        assert_eq!(fails(&profiles, &["gantt", file, "-o", "x.svg"]).0, code);
        assert_eq!(fails(&profiles, &["compare", "serial.csv", file]).0, code);
        assert!(!profiles.path().join("x.svg").exists());
    }
    assert_eq!(fails(&profiles, &["report", "serial.csv", "--from", "1s"]).0, 3);
    assert_eq!(fails(&profiles, &["report", "serial.csv", "--step", "7"]).0, 3);
    assert_eq!(fails(&profiles, &["gantt", "serial.csv", "-o", "nowhere/x.svg"]).0, 6);
}

#[test]
fn a_gate_fails_below_its_threshold_and_still_answers() {
    let profiles = Profiles::new();
    said(profiles.path(), &["overlap", "parallel.csv", "--fail-under", "0.5"]);
    said(profiles.path(), &["report", "parallel.csv", "--fail-under", "1"]);
    for (file, why) in [("serial.csv", "serial"), ("starved.csv", "starved"), ("one.csv", "no_side")] {
        let output = timeline(profiles.path(), &["overlap", file, "--json", "--fail-under", "0.5"]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        let answer: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("the answer is there all the same");
        assert_eq!(answer["verdict"], why);
        let (code, line) = fails(&profiles, &["report", file, "--fail-under", "0.5"]);
        assert_eq!(code, 1);
        assert!(line.contains(why), "{line}");
    }
    said(profiles.path(), &["overlap", "serial.csv", "--fail-under", "0"]);
}

#[test]
fn wrong_options_get_one_clear_line() {
    let profiles = Profiles::new();
    for (arguments, says) in [
        (vec![], "timeline report PATH"),
        (vec!["reprot", "serial.csv"], "reprot"),
        (vec!["report"], "<PATH>"),
        (vec!["report", "serial.csv", "--step", "one"], "--step"),
        (vec!["report", "serial.csv", "--from", "5"], "unit"),
        (vec!["report", "serial.csv", "--fail-under", "50"], "between 0 and 1"),
        (vec!["report", "serial.csv", "--json", "--csv"], "--csv"),
        (vec!["report", "serial.csv", "--cores", "24"], "24,48"),
        (vec!["report", "serial.csv", "--role", "2=boss"], "communication"),
        (vec!["overlap", "serial.csv", "--side", "77"], "stream 77"),
        (vec!["overlap", "serial.csv", "--side", "2", "--main", "2"], "side and as main"),
        (vec!["overlap", "serial.csv", "--dominator", "Nothing"], "MatMulV2"),
        (vec!["gantt", "serial.csv"], "--output"),
        (vec!["gantt", "serial.csv", "-o", "x.png"], ".svg or .html"),
        (vec!["explain", "overlap_percent"], "overlap_pct"),
        (vec!["explain", "x"], "timeline explain"),
    ] {
        let (code, line) = fails(&profiles, &arguments);
        assert_eq!(code, 2, "{line}");
        assert!(line.contains(says), "{arguments:?}: {line}");
    }
}

#[test]
fn help_is_no_failure() {
    let profiles = Profiles::new();
    let help = said(profiles.path(), &["--help"]);
    assert!(help.contains("Exit codes: 0 done, 1 below --fail-under"), "{help}");
    for command in ["report", "overlap", "streams", "barriers", "starved", "compare", "gantt", "trace", "explain"] {
        assert!(help.contains(command), "{help}");
        assert!(said(profiles.path(), &[command, "--help"]).contains("Usage: timeline"));
    }
    assert!(said(profiles.path(), &["--version"]).starts_with("timeline "));
}

#[test]
fn a_reader_that_stops_is_no_failure() {
    let profiles = Profiles::new();
    // More than a pipe holds, so that writing goes on after the reader is gone.
    let mut rows = "Name,Type,Accelerator Core,Start Time(us),Duration(us),Stream ID\n".to_owned();
    for row in 0..4000 {
        rows.push_str(&format!("Op{row},Kind{row},AI_CORE,{}.000,1.000,{}\n", 10 + row * 2, row % 2));
    }
    profiles.file("long.csv", rows);
    let mut command = Command::new(env!("CARGO_BIN_EXE_timeline"));
    command.current_dir(profiles.path()).args(["report", "long.csv", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut first = [0; 1];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("it answers");
    // The pipe is closed here.
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn a_part_of_a_run_is_that_part() {
    let profiles = Profiles::new();
    let all = json(profiles.path(), &["report", "serial.csv"]);
    let part = json(profiles.path(), &["report", "serial.csv", "--from", "140us"]);
    assert_eq!((&all["rows"], &part["rows"]), (&12.into(), &6.into()));
    assert_eq!(part["wall_ns"], 130_000);
    let part = json(profiles.path(), &["overlap", "serial.csv", "--to", "0.14ms"]);
    assert_eq!(part["side_window_ns"], serde_json::json!([12_000, 52_000]));
}
