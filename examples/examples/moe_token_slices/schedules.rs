//! One layer under several schedules, on a chip whose time is modelled: serial, on streams without core limits, on streams
//! with a share of the cores each; in 1, 2, 4 and 8 slices; for a prefill and a decode batch; balanced and skewed.
//!
//! Skewed means that this device is the hottest of the group: it gets as many rows more than the mean as the histogram
//! says.

use multicore::prelude::*;
use serde_json::{Value, json};

use crate::analysis::{communication_hidden, lower_bound_ns};
use crate::layer::{Shape, Split};
use crate::model::Model;
use crate::options::Options;

const SLICES: [usize; 4] = [1, 2, 4, 8];

/// Tokens of a decode step: a batch of one token each.
const DECODE_TOKENS: usize = 128;

/// What one schedule gives.
struct Outcome {
    ms: f64,
    lower_bound_ms: f64,
    comm_hidden: f64,
}

/// Prints the comparison, as text or as JSON (one object, `schedules` with an object for each line of the table).
///
/// # Errors
/// Those of the operators.
pub(crate) fn compare(spec: &str, shape: Shape, options: &Options, target: &[f64]) -> Result<()> {
    let hottest = hottest_rank(target, options.ranks);
    let mut lines: Vec<Value> = Vec::new();
    for (phase, tokens) in [("prefill", options.tokens), ("decode", DECODE_TOKENS.min(options.tokens))] {
        for (routing, factor) in [("balanced", 1.0), ("skewed", hottest)] {
            let shape = more_rows(shape, factor);
            let run = |schedule: &str, slices, serial, split| -> Result<Value> {
                let outcome = measure(spec, shape, options.layers, tokens, slices, serial, split)?;
                Ok(json!({
                    "phase": phase, "tokens": tokens, "routing": routing, "rows_over_mean": factor,
                    "schedule": schedule, "slices": slices, "ms": outcome.ms,
                    "lower_bound_ms": outcome.lower_bound_ms, "eta": outcome.lower_bound_ms / outcome.ms,
                    "comm_hidden": outcome.comm_hidden,
                }))
            };
            let chip = Device::open(spec)?.chip();
            let first = lines.len();
            lines.push(run("serial", 1, true, Split::none(chip))?);
            for (schedule, split) in [("streams", Split::none(chip)), ("core split", Split::of(chip))] {
                for slices in SLICES.into_iter().filter(|slices| *slices <= tokens) {
                    lines.push(run(schedule, slices, false, split)?);
                }
            }
            let serial = lines[first]["ms"].as_f64().unwrap_or(f64::NAN);
            for line in &mut lines[first..] {
                line["speedup"] = json!(serial / line["ms"].as_f64().unwrap_or(f64::NAN));
            }
            if !options.json {
                print_table(&lines[first..]);
            }
        }
    }
    if options.json {
        println!("{}", json!({ "device": spec, "ranks": options.ranks, "schedules": lines }));
    }
    Ok(())
}

fn print_table(lines: &[Value]) {
    let number = |line: &Value, key: &str| line[key].as_f64().unwrap_or(f64::NAN);
    let first = &lines[0];
    println!(
        "{}: {} tokens, {} ({:.2} x the mean)",
        first["phase"].as_str().unwrap_or_default(),
        first["tokens"],
        first["routing"].as_str().unwrap_or_default(),
        number(first, "rows_over_mean"),
    );
    println!(
        "  {:12}{:>7}{:>11}{:>10}{:>14}{:>6}{:>14}",
        "schedule", "slices", "ms", "speed-up", "lower bound", "eta", "comm hidden"
    );
    for line in lines {
        println!(
            "  {:12}{:>7}{:11.3}{:10.2}{:14.3}{:6.2}{:12.0} %",
            line["schedule"].as_str().unwrap_or_default(),
            line["slices"],
            number(line, "ms"),
            number(line, "speedup"),
            number(line, "lower_bound_ms"),
            number(line, "eta"),
            number(line, "comm_hidden") * 100.0,
        );
    }
}

/// Rows of the device that gets most, over the mean: experts belong to devices in the order of their numbers.
fn hottest_rank(target: &[f64], ranks: usize) -> f64 {
    let local = target.len() / ranks;
    let loads = target.chunks(local).map(|shares| shares.iter().sum::<f64>());
    loads.fold(0.0, f64::max) * ranks as f64
}

/// The shape of a device that gets `factor` times as many rows: as if each token went to as many more experts.
fn more_rows(shape: Shape, factor: f64) -> Shape {
    let mut shape = shape;
    shape.gate.top_k = ((shape.gate.top_k as f64 * factor).round() as usize).clamp(1, shape.gate.experts);
    // Groups only decide which experts are chosen, and nothing is chosen here.
    (shape.gate.groups, shape.gate.topk_groups) = (1, 1);
    shape
}

fn measure(
    spec: &str,
    shape: Shape,
    layers: usize,
    tokens: usize,
    slices: usize,
    serial: bool,
    split: Split,
) -> Result<Outcome> {
    let pass = |spec: &str, split: Split| -> Result<(f64, Vec<multicore::timeline::Record>)> {
        let device = Device::open(spec)?;
        let main = device.default_stream();
        let _on = main.enter();
        let model = Model::without_values(shape, layers, DType::BF16)?;
        let x = Tensor::empty(&[tokens, shape.hidden], DType::BF16)?;
        device.set_tracing(true);
        model.forward(&x, slices, split)?;
        device.synchronize()?;
        Ok((device.now_ns() as f64 * 1e-6, device.take_trace().operators))
    };
    let alone = format!("{spec},serial");
    let (ms, trace) = pass(if serial { &alone } else { spec }, split)?;
    let (_, one_by_one) = pass(&alone, Split::none(Device::open(spec)?.chip()))?;
    Ok(Outcome {
        ms,
        lower_bound_ms: lower_bound_ns(&one_by_one, slices) as f64 * 1e-6,
        comm_hidden: communication_hidden(&trace),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DeepSeek-V3's layer over 64 devices, on one of them.
    fn deepseek(tokens: usize, slices: usize, serial: bool) -> Outcome {
        let mut shape = Shape::new(7168, 2048, 256, 8);
        shape.local = 4;
        let chip = multicore::Cores { cube: 24, vector: 48 };
        let split = if serial { Split::none(chip) } else { Split::of(chip) };
        measure("sim:910_9391,dry,issue=graph,ranks=64", shape, 1, tokens, slices, serial, split).expect("it runs")
    }

    #[test]
    fn slices_hide_the_exchange_in_prefill() {
        let serial = deepseek(4096, 1, true);
        let eta = |outcome: &Outcome| outcome.lower_bound_ms / outcome.ms;
        let (two, four) = (deepseek(4096, 2, false), deepseek(4096, 4, false));
        assert!(two.ms < serial.ms && four.ms < serial.ms);
        assert!(eta(&two) >= 0.80, "two slices: {}", eta(&two));
        assert!(eta(&four) >= 0.85, "four slices: {}", eta(&four));
        assert!(four.comm_hidden > 0.5);
    }

    /// The weights are read again for each slice.
    #[test]
    fn slices_lose_in_decode() {
        let times: Vec<f64> = SLICES.iter().map(|&slices| deepseek(128, slices, false).ms).collect();
        assert!(times.windows(2).all(|pair| pair[1] > pair[0]), "{times:?}");
    }

    #[test]
    fn the_same_run_twice_takes_the_same_time() {
        assert_eq!(deepseek(1024, 4, false).ms, deepseek(1024, 4, false).ms);
    }
}
