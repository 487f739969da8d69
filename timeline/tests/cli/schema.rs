//! The fields of JSON: each is explained and documented, and each that is documented exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Profiles, json, said};

fn keys(value: &Value, to: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                to.insert(key.clone());
                keys(value, to);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, to)),
        _ => {}
    }
}

/// A run with what the others lack: two steps, a collective twice, a renumbered stream, a row that runs into the next,
/// a row that cannot be read.
fn odd(profiles: &Profiles) -> PathBuf {
    let mut text =
        "Step Id,Device_id,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\n"
            .to_owned();
    let mut row = |step: u32, stream: &str, name: &str, op_type: &str, core: &str, start: u64, duration: u64| {
        text.push_str(&format!("{step},0,1,{stream},{name},{op_type},{core},{start}.000,{duration}.000,0\n"));
    };
    for (step, stream, at) in [(1, "2", 1000), (2, "5", 2000)] {
        for number in 0..6 {
            row(step, stream, "mm", "MatMulV2", "AI_CORE", at + number * 20, 15);
            row(step, stream, "cast", "Cast", "AI_VECTOR_CORE", at + number * 20 + 15, 4);
        }
        row(step, "N/A", "hcom_allReduce__1", "hcom_allReduce_", "COMMUNICATION", at + 10, 30);
        row(step, "4", "AivKernel", "AivKernel", "COMMUNICATION", at + 10, 30);
    }
    row(2, "5", "mm", "MatMulV2", "AI_CORE", 2200, 900);
    row(2, "5", "cast", "Cast", "AI_VECTOR_CORE", 2220, 4);
    text.push_str("2,0,1,5,broken,Cast,AI_CORE,soon,1,0\n");
    profiles.file("odd.csv", text)
}

/// Every field of every answer to every profile.
fn answered(profiles: &Profiles) -> BTreeSet<String> {
    odd(profiles);
    let mut all = BTreeSet::new();
    for file in ["parallel.csv", "serial.csv", "waits.json", "starved.csv", "one.csv", "odd.csv"] {
        for command in ["report", "overlap", "streams", "barriers", "starved"] {
            let answer = json(profiles.path(), &[command, file]);
            assert_eq!(answer["schema"], 1);
            assert_eq!(answer["command"], command);
            assert_eq!(answer["files"][0]["path"], file);
            keys(&answer, &mut all);
        }
        keys(&json(profiles.path(), &["compare", "parallel.csv", file]), &mut all);
    }
    keys(&json(profiles.path(), &["explain"]), &mut all);
    all
}

/// The rows of the table of fields in docs/timeline.md.
fn documented() -> Vec<[String; 4]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/timeline.md");
    let text = std::fs::read_to_string(path).expect("docs/timeline.md");
    let (_, table) = text.split_once("<!-- fields -->\n").expect("a mark where the table begins");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<_> =
            row.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
        cells.try_into().unwrap_or_else(|cells| panic!("four cells: {cells:?}"))
    })
    .collect()
}

#[test]
fn every_field_is_explained_and_every_explained_field_exists() {
    let profiles = Profiles::new();
    let explained = json(profiles.path(), &["explain"]);
    let explained: Vec<_> = explained["fields"].as_array().expect("a list").iter().collect();
    let names: BTreeSet<String> =
        explained.iter().map(|field| field["name"].as_str().expect("a name").to_owned()).collect();
    assert_eq!(names.len(), explained.len(), "a field twice");
    let answered = answered(&profiles);
    let unknown: Vec<_> = answered.difference(&names).collect();
    assert!(unknown.is_empty(), "in answers and not explained: {unknown:?}");
    let gone: Vec<_> = names.difference(&answered).collect();
    assert!(gone.is_empty(), "explained and in no answer: {gone:?}");
    for name in &names {
        assert!(said(profiles.path(), &["explain", name]).starts_with(name.as_str()));
    }
}

#[test]
fn the_documentation_says_what_explain_says() {
    let profiles = Profiles::new();
    let explained = json(profiles.path(), &["explain"]);
    let text = |field: &Value, key: &str| field[key].as_str().expect("a text").replace('|', "\\|");
    let expected: Vec<[String; 4]> = explained["fields"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|field| ["name", "unit", "good", "meaning"].map(|key| text(field, key)))
        .collect();
    let table: String = expected
        .iter()
        .map(|[name, unit, good, meaning]| format!("| `{name}` | {unit} | {good} | {meaning} |\n"))
        .collect();
    assert!(documented() == expected, "the table in docs/timeline.md has to be:\n{table}");
}

#[test]
fn the_promised_fields_are_where_they_were_promised() {
    let profiles = Profiles::new();
    let report = json(profiles.path(), &["report", "serial.csv"]);
    for key in ["wall_ns", "sum_ns", "cleaned_sum_ns", "union_ns", "rows", "dropped_rows"] {
        assert!(report[key].is_u64(), "{key}: {}", report[key]);
    }
    let overlap = json(profiles.path(), &["overlap", "serial.csv"]);
    for key in ["overlap_ns", "exposed_tail_ns", "busy_overlap_ns"] {
        assert!(overlap[key].is_u64(), "{key}: {}", overlap[key]);
    }
    for key in ["overlap_pct", "hidden_share", "cover", "core_busy_share"] {
        assert!(overlap[key].is_f64(), "{key}: {}", overlap[key]);
    }
    for key in ["side_window_ns", "main_window_ns"] {
        assert!(overlap[key][0].is_u64() && overlap[key][1].is_u64(), "{key}: {}", overlap[key]);
    }
    assert_eq!(overlap["verdict"], "serial");
    assert_eq!(overlap["barriers"][0]["evidence"], "inferred");
    assert_eq!(overlap["barriers"][0]["op"]["op_type"], "Cast");
}

#[test]
fn waits_of_our_own_are_shown_with_their_place_in_the_source() {
    let profiles = Profiles::new();
    for path in ["waits.json", "run"] {
        shown_with_its_place(&json(profiles.path(), &["overlap", path]));
        let report = json(profiles.path(), &["report", path]);
        assert_eq!((&report["rows"], &report["waits"]), (&12.into(), &4.into()), "{path}");
    }
}

fn shown_with_its_place(overlap: &Value) {
    let shown: Vec<_> = overlap["barriers"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|barrier| barrier["evidence"] == "shown")
        .collect();
    let cast = shown.iter().find(|barrier| barrier["op"]["op_type"] == "Cast").expect("the cast waited");
    let site = cast["wait"]["site"].as_str().expect("a site");
    assert!(site.contains("src/layer.rs:14") && site.contains("beside"), "{site}");
    assert!(cast["recorded"]["site"].as_str().expect("a site").contains("src/layer.rs:11"));
    assert_eq!(cast["recorded"]["by_event"], true);
    assert_eq!(cast["recorded"]["after"]["op_type"], "SharedMatMul");
}

#[test]
fn every_table_has_cells_for_its_header() {
    let profiles = Profiles::new();
    odd(&profiles);
    for file in ["parallel.csv", "serial.csv", "waits.json", "starved.csv", "odd.csv"] {
        for command in [
            vec!["report"],
            vec!["overlap"],
            vec!["streams"],
            vec!["streams", "--pairs"],
            vec!["barriers"],
            vec!["starved"],
            vec!["compare", "one.csv"],
        ] {
            let arguments = [&command[..], &[file, "--csv"]].concat();
            let text = said(profiles.path(), &arguments);
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let width = reader.headers().expect("a header").len();
            for row in reader.records() {
                assert_eq!(row.expect("as many cells as titles").len(), width);
            }
        }
    }
}
