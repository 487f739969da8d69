//! The cost model beside published times: predicted, published, and the error, by family. The points are those of
//! `moe/validation_points.csv` in `MULTICORE_DATA`, on which the constants of the model were fitted.

use std::collections::BTreeMap;

use benches::Report;
use multicore::sim::{self, Chip};
use multicore::{CoreKind, Cores, Pattern, Work};

/// How a published operator looks to the model.
struct Case {
    id: &'static str,
    family: &'static str,
    chip: &'static str,
    kind: CoreKind,
    work: Work,
    cores: Cores,
    /// What is published is a rate of so many bytes, in GB/s, not a time in us.
    rate_of: Option<f64>,
}

const MIB: f64 = 1048576.0;

fn case(id: &'static str, family: &'static str, kind: CoreKind, work: Work, cube: u32, vector: u32) -> Case {
    Case { id, family, chip: "910b1", kind, work, cores: Cores { cube, vector }, rate_of: None }
}

/// A matmul of 16-bit operands in blocks of 128 x 128, each read from memory by the core that needs it: what the examples
/// of the sources do before they are tuned.
fn untuned(m: f64, n: f64, k: f64) -> Work {
    Work::new(2.0 * m * n * k, 2.0 * m * n * k * (1.0 / 128.0 + 1.0 / 128.0))
}

fn products(batch: f64, m: f64, n: f64, k: f64, element: f64, output: f64) -> Work {
    let bytes = batch * (element * (m * k + k * n) + output * m * n);
    Work::new(2.0 * batch * m * n * k, bytes).with_pattern(Pattern::Products { batch, m, n, k, element })
}

/// Pieces of 4 bytes from anywhere, read and written: `count` of them.
fn gather(count: f64) -> Work {
    Work::new(0.0, 8.0 * count).with_pattern(Pattern::Pieces { bytes: 4.0 })
}

fn exchange(id: &'static str, family: &'static str, tokens: f64, row: f64, ranks: f64, is_rate: bool) -> Case {
    let sent = tokens * 8.0 * row;
    let work = Work::default().with_pattern(Pattern::AllToAll { sent, ranks });
    let rate_of = is_rate.then_some(sent);
    Case { chip: "910_9391", rate_of, ..case(id, family, CoreKind::Comm, work, 0, 24) }
}

/// One operator each.
fn cases() -> Vec<Case> {
    use CoreKind::{Comm, Cube, Mix, Vector};
    let add = |piece| Work::new(67.1e6, 3.0 * 128.0 * MIB).with_pattern(Pattern::Pieces { bytes: piece });
    let copy = Work::new(0.0, 12288.0 * 12288.0 * 2.0);
    let all_reduce = Work::default().with_pattern(Pattern::AllReduce { operand: 64.0 * MIB, ranks: 8.0 });
    vec![
        case("add-1c", "add", Vector, add(32768.0), 0, 1),
        case("add-48c-ev", "add", Vector, add(8192.0), 0, 48),
        case("add-48c-big", "add", Vector, add(32768.0), 0, 48),
        case("copy-ub-l", "copy", Vector, copy, 0, 48),
        case("copy-l1-l", "copy", Cube, copy, 24, 0),
        case("mm8k-1c", "matmul", Cube, untuned(8192.0, 8192.0, 8192.0), 1, 0),
        case("mm8k-24c-c2", "matmul", Cube, untuned(8192.0, 8192.0, 8192.0), 24, 0),
        Case { chip: "910b3", ..case("mm4k5k-4c", "matmul", Cube, untuned(4096.0, 5120.0, 4096.0), 4, 0) },
        case("mmk-1c", "matmul", Cube, products(1.0, 16.0, 16.0, 1024.0, 2.0, 2.0), 1, 0),
        case("mc2-mm", "matmul", Cube, products(1.0, 4096.0, 8192.0, 3072.0, 2.0, 2.0), 24, 0),
        case("gmm-13", "matmul", Mix, products(8.0, 128.0, 8192.0, 1024.0, 1.0, 2.0), 8, 8),
        case("gather-4", "gather", Vector, gather(8.0 * 2048.0), 0, 4),
        case("gather-16", "gather", Vector, gather(8.0 * 2048.0), 0, 16),
        case("gather-64", "gather", Vector, gather(8.0 * 2048.0), 0, 64),
        case("gatherL-32", "gather", Vector, gather(1024.0 * 2048.0), 0, 32),
        case("mc2-ar", "all-reduce", Comm, all_reduce, 0, 48),
        exchange("a3-disp-8", "all-to-all", 4096.0, 7168.0, 8.0, true),
        exchange("a3-disp-64", "all-to-all", 4096.0, 7168.0, 64.0, true),
        exchange("a3-comb-8", "all-to-all", 4096.0, 14336.0, 8.0, true),
        exchange("a3-comb-64", "all-to-all", 4096.0, 14336.0, 64.0, true),
        exchange("a3-lldisp-8", "all-to-all", 128.0, 7168.0, 8.0, false),
        exchange("cm-disp-8", "all-to-all", 128.0, 7168.0, 8.0, false),
    ]
}

/// Why a point is no operator of a modelled chip.
fn left_out(id: &str) -> &'static str {
    match id {
        "lc-mlap-12" | "lc-mlap-24" | "lc-fa-12" | "lc-fa-24" => {
            "shapes are not published: an operator with its own cost"
        }
        "lcl-serial" | "prefill-serial" | "ios-toy-seq" => "the start of a schedule, not an operator",
        "cann-toy-110" | "ds-train-span" => "a schedule: exact in runtime/tests/sim/golden.rs",
        "hinge-57-ep8" => "a law of load balance",
        _ => "another chip",
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut report = Report::from_args();
    let Some(data) = std::env::var_os("MULTICORE_DATA") else {
        eprintln!("nothing to compare with: set MULTICORE_DATA to the folder that has moe/validation_points.csv");
        return Ok(());
    };
    let path = std::path::Path::new(&data).join("moe/validation_points.csv");
    let cases = cases();
    let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut reader = csv::Reader::from_path(&path)?;
    let titles = reader.headers()?.clone();
    let column = |name: &str| titles.iter().position(|t| t == name).ok_or(format!("no column `{name}`"));
    let (id, value, unit) = (column("id")?, column("value")?, column("unit")?);
    report.line(format_args!("{:12} {:11} {:>11} {:>11}  {:>7}", "point", "family", "published", "predicted", "error"));
    let mut others = Vec::new();
    for row in reader.records() {
        let row = row?;
        let Some(case) = cases.iter().find(|case| case.id == &row[id]) else {
            others.push(row[id].to_owned());
            continue;
        };
        let published: f64 = row[value].parse()?;
        let cost = sim::cost(&Chip::named(case.chip)?, case.kind, &case.work, case.cores);
        let predicted = case.rate_of.map_or(cost.total_ns() / 1e3, |bytes| bytes / cost.total_ns());
        let error = predicted / published - 1.0;
        errors.entry(case.family).or_default().push(error.abs());
        let text = format!(
            "{:12} {:11} {published:11.2} {predicted:11.2}  {:+6.1} %  ({})",
            case.id,
            case.family,
            error * 100.0,
            &row[unit]
        );
        report.figure(&format!("{}_error", case.id), error, text);
    }
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    for (family, errors) in &errors {
        let text = format!("{family:24} mean absolute error {:5.1} %  ({} points)", mean(errors) * 100.0, errors.len());
        report.figure(&format!("{family}_mean_error"), mean(errors), text);
    }
    let all: Vec<f64> = errors.into_values().flatten().collect();
    let text = format!("{:24} mean absolute error {:5.1} %  ({} points)", "all", mean(&all) * 100.0, all.len());
    report.figure("mean_error", mean(&all), text);
    for id in others {
        report.line(format_args!("{id:12} not here: {}", left_out(&id)));
    }
    report.finish();
    Ok(())
}
