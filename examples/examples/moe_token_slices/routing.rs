//! How many tokens each expert gets: the shares to follow, and the gate's bias that makes its choice follow them.
//!
//! The weights are random, so by itself the gate would spread tokens evenly. DeepSeek-V3's gate adds a bias to the scores
//! for the choice alone (not for the weights); training moves it until the load is balanced. Here it is moved until the
//! load is as *unbalanced* as in the recorded histogram. What was reached is measured and printed.

use std::path::Path;

use multicore::ops::GateConfig;

/// The share of the routed tokens of each expert, with a sum of 1.
pub(crate) type Shares = Vec<f64>;

/// Reads the row `layer` (the first one if `None`) of a histogram `layer,e0,e1,..`.
///
/// # Errors
/// A message with the file, and the line or what the file has instead.
pub(crate) fn read_counts(path: &Path, layer: Option<u32>) -> Result<Shares, String> {
    let at = |line: u64| format!("{}:{line}", path.display());
    let mut reader = csv::Reader::from_path(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let mut layers = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let line = row.position().map_or(0, csv::Position::line);
        let numbers: Vec<u64> = row
            .iter()
            .map(|cell| cell.trim().parse().map_err(|_| format!("{}: `{cell}` is not a whole number", at(line))))
            .collect::<Result<_, _>>()?;
        let Some((&row_layer, counts)) = numbers.split_first() else { continue };
        if layer.is_some_and(|layer| u64::from(layer) != row_layer) {
            layers.push(row_layer.to_string());
            continue;
        }
        let sum: u64 = counts.iter().sum();
        if sum == 0 {
            return Err(format!("{}: no tokens in the row of layer {row_layer}", at(line)));
        }
        return Ok(counts.iter().map(|&n| n as f64 / sum as f64).collect());
    }
    Err(match layer {
        Some(layer) => format!("no layer {layer} in {}: it has {}", path.display(), layers.join(", ")),
        None => format!("no rows in {}: write `layer,e0,e1,..` and one row a layer", path.display()),
    })
}

/// The default: the expert of rank r (1, 2, ..) gets a share proportional to 1/sqrt(r). Ranks are dealt out over the
/// experts so that hot ones do not sit in one group.
pub(crate) fn skewed(experts: usize) -> Shares {
    // A step that shares no divisor with the number of experts visits each once.
    let step = (experts * 5 / 8..).find(|step| gcd(*step, experts) == 1).unwrap_or(1);
    let load = |expert: usize| 1.0 / ((expert * step % experts + 1) as f64).sqrt();
    let sum: f64 = (0..experts).map(load).sum();
    (0..experts).map(|expert| load(expert) / sum).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The shares of experts that were chosen.
pub(crate) fn shares_of(chosen: impl IntoIterator<Item = usize>, experts: usize) -> Shares {
    let mut counts = vec![0u64; experts];
    let mut sum = 0u64;
    for expert in chosen {
        counts[expert] += 1;
        sum += 1;
    }
    counts.iter().map(|&n| n as f64 / sum.max(1) as f64).collect()
}

/// The part of the tokens that would have to go to another expert for `a` to become `b`: 0 for equal, 1 for disjoint.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}

/// The bias with which the gate's choice follows `target`, found on the scores of a batch (`tokens × experts`).
///
/// Each round moves an expert's bias up when it got too few tokens and down when it got too many, by ever smaller
/// steps; the best round wins.
pub(crate) fn fit_bias(scores: &[f32], gate: &GateConfig, target: &[f64]) -> Vec<f32> {
    const ROUNDS: i32 = 120;
    let mut bias = vec![0.0; gate.experts];
    let mut best = (f64::INFINITY, bias.clone());
    for round in 0..ROUNDS {
        let got = shares_of(scores.chunks_exact(gate.experts).flat_map(|row| choose(row, &bias, gate)), gate.experts);
        let error = distance(&got, target);
        if error < best.0 {
            best = (error, bias.clone());
        }
        let step = 0.3 * 0.95f64.powi(round);
        for ((bias, got), target) in bias.iter_mut().zip(&got).zip(target) {
            *bias += (step * (target - got) / (target + got).max(f64::MIN_POSITIVE)) as f32;
        }
    }
    best.1
}

/// The gate's choice for one token, as the operator makes it: the groups with the greatest sum of two, then the top
/// experts in them.
fn choose(scores: &[f32], bias: &[f32], gate: &GateConfig) -> Vec<usize> {
    let biased: Vec<f32> = scores.iter().zip(bias).map(|(s, b)| s + b).collect();
    let size = gate.experts / gate.groups;
    let top_two = |group: usize| {
        let (first, second) = biased[group * size..][..size]
            .iter()
            .fold((f32::NEG_INFINITY, f32::NEG_INFINITY), |(a, b), &x| if x > a { (x, a) } else { (a, b.max(x)) });
        first + second
    };
    let groups = top((0..gate.groups).map(top_two), gate.topk_groups);
    let candidates: Vec<usize> = groups.iter().flat_map(|g| g * size..(g + 1) * size).collect();
    top(candidates.iter().map(|&e| biased[e]), gate.top_k).into_iter().map(|i| candidates[i]).collect()
}

/// The indices of the `n` greatest values, the lower index first among equals.
fn top(values: impl Iterator<Item = f32>, n: usize) -> Vec<usize> {
    let mut order: Vec<(usize, f32)> = values.enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order.into_iter().take(n).map(|(i, _)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_shares_follow_the_rank() {
        let mut shares = skewed(64);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        shares.sort_by(|a, b| b.total_cmp(a));
        for (rank, share) in shares.iter().enumerate() {
            assert!((share / shares[0] - 1.0 / ((rank + 1) as f64).sqrt()).abs() < 1e-12);
        }
    }

    #[test]
    fn the_choice_stays_in_the_best_groups() {
        // Groups of two; sums 1.0, 1.1, 0.9, 0.2: group 1 and 0 win, although expert 4 has the highest score.
        let scores = [0.5, 0.5, 0.6, 0.5, 0.9, 0.0, 0.1, 0.1];
        let gate = GateConfig { experts: 8, groups: 4, topk_groups: 2, top_k: 3, route_scale: 1.0 };
        assert_eq!(choose(&scores, &[0.0; 8], &gate), [2, 3, 0]);
    }

    #[test]
    fn the_bias_makes_the_choice_follow_the_shares() {
        let gate = GateConfig { experts: 16, groups: 4, topk_groups: 2, top_k: 4, route_scale: 1.0 };
        let scores = crate::model::uniform(7)
            .take(2048 * 16)
            .map(|x| 2.0 * x)
            .map(|x| 1.0 / (1.0 + (-x).exp()))
            .collect::<Vec<f32>>();
        let target = skewed(16);
        let bias = fit_bias(&scores, &gate, &target);
        let error = |bias: &[f32]| {
            distance(&shares_of(scores.chunks(16).flat_map(|row| choose(row, bias, &gate)), 16), &target)
        };
        assert!(error(&[0.0; 16]) > 0.1, "{}", error(&[0.0; 16]));
        assert!(error(&bias) < 0.02, "{}", error(&bias));
    }

    #[test]
    fn a_missing_layer_is_an_error_that_lists_the_others() {
        let path = std::env::temp_dir().join(format!("multicore-counts-{}.csv", std::process::id()));
        std::fs::write(&path, "layer,e0,e1\n3,1,3\n7,2,2\n").expect("a file in the temporary folder");
        let (first, seven, four) = (read_counts(&path, None), read_counts(&path, Some(7)), read_counts(&path, Some(4)));
        std::fs::remove_file(&path).expect("the file is ours");
        assert_eq!(first, Ok(vec![0.25, 0.75]));
        assert_eq!(seven, Ok(vec![0.5, 0.5]));
        let message = four.expect_err("there is no layer 4");
        assert!(message.starts_with("no layer 4 in ") && message.ends_with("it has 3, 7"), "{message}");
    }
}
