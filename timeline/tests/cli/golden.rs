//! What people see, to the letter.

use crate::{Profiles, said};

#[test]
fn a_run_that_overlaps() {
    let profiles = Profiles::new();
    insta::assert_snapshot!("parallel_report", said(profiles.path(), &["report", "parallel.csv"]));
    insta::assert_snapshot!("parallel_overlap", said(profiles.path(), &["overlap", "parallel.csv"]));
    insta::assert_snapshot!("parallel_streams", said(profiles.path(), &["streams", "parallel.csv"]));
}

#[test]
fn a_run_that_does_not_and_what_stopped_it() {
    let profiles = Profiles::new();
    insta::assert_snapshot!("serial_report", said(profiles.path(), &["report", "serial.csv"]));
    insta::assert_snapshot!("serial_barriers_inferred", said(profiles.path(), &["barriers", "serial.csv"]));
    insta::assert_snapshot!("serial_barriers_shown", said(profiles.path(), &["barriers", "waits.json"]));
}

#[test]
fn a_run_that_waits_for_cores() {
    let profiles = Profiles::new();
    insta::assert_snapshot!("starved_report", said(profiles.path(), &["report", "starved.csv"]));
    insta::assert_snapshot!("starved_starved", said(profiles.path(), &["starved", "starved.csv"]));
}

#[test]
fn a_run_without_a_side() {
    let profiles = Profiles::new();
    insta::assert_snapshot!("one_overlap", said(profiles.path(), &["overlap", "one.csv"]));
}

#[test]
fn two_runs_compared() {
    let profiles = Profiles::new();
    insta::assert_snapshot!("compare", said(profiles.path(), &["compare", "serial.csv", "parallel.csv"]));
}

#[test]
fn a_field_explained() {
    let profiles = Profiles::new();
    insta::assert_snapshot!("explain", said(profiles.path(), &["explain", "overlap_pct"]));
}

#[test]
fn tables() {
    let profiles = Profiles::new();
    insta::assert_snapshot!("overlap_csv", said(profiles.path(), &["overlap", "serial.csv", "--csv"]));
    insta::assert_snapshot!("pairs_csv", said(profiles.path(), &["streams", "parallel.csv", "--csv", "--pairs"]));
}

#[test]
fn colour_is_for_terminals() {
    let profiles = Profiles::new();
    let plain = said(profiles.path(), &["report", "serial.csv"]);
    assert!(!plain.contains('\u{1b}'));
    let coloured = said(profiles.path(), &["report", "serial.csv", "--color", "always"]);
    let mut bare = String::new();
    for (index, part) in coloured.split("\u{1b}[").enumerate() {
        bare.push_str(if index == 0 { part } else { part.split_once('m').expect("a code ends in m").1 });
    }
    assert!(coloured.contains("\u{1b}[31;1mSERIAL\u{1b}[0m"));
    assert_eq!(bare, plain, "colour changes nothing else");
}

#[test]
fn a_report_fits_a_screen() {
    let profiles = Profiles::new();
    for name in ["parallel.csv", "serial.csv", "waits.json", "starved.csv", "one.csv"] {
        let report = said(profiles.path(), &["report", name]);
        assert!(report.lines().count() <= 24, "{report}");
        assert!(report.lines().all(|line| line.chars().count() <= 100), "{report}");
    }
}
