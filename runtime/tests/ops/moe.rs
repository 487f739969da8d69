//! The mixture of experts: the gate against its formula, the way of rows to the experts and back.

use multicore::ops::GateConfig;
use multicore::prelude::*;

use crate::support::{FLOATS, Rng, assert_close, on, read, rounding, tensor};

/// The places of the `k` largest, largest first, of equal ones the lower place first.
fn best(x: &[f64], k: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&a, &b| x[b].total_cmp(&x[a]));
    order.truncate(k);
    order
}

/// `Gate.forward` of DeepSeek-V3 (inference/model.py), line by line, for one token.
fn gate(logits: &[f64], bias: Option<&[f64]>, config: &GateConfig) -> (Vec<usize>, Vec<f64>) {
    let scores: Vec<f64> = logits.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect();
    let original_scores = scores.clone();
    let mut scores = scores;
    if let Some(bias) = bias {
        scores = scores.iter().zip(bias).map(|(s, b)| s + b).collect();
    }
    if config.groups > 1 {
        let size = config.experts / config.groups;
        let group_scores: Vec<f64> = scores
            .chunks(size)
            .map(|group| {
                let counted = if bias.is_none() { 1 } else { 2 };
                best(group, counted).iter().map(|&i| group[i]).sum()
            })
            .collect();
        let indices = best(&group_scores, config.topk_groups);
        for (e, score) in scores.iter_mut().enumerate() {
            if !indices.contains(&(e / size)) {
                *score = f64::NEG_INFINITY;
            }
        }
    }
    let indices = best(&scores, config.top_k);
    let weights: Vec<f64> = indices.iter().map(|&i| original_scores[i]).collect();
    let sum: f64 = weights.iter().sum();
    (indices, weights.iter().map(|w| w / sum * f64::from(config.route_scale)).collect())
}

fn check_gate(logits: &dyn Operand, bias: Option<&Tensor>, config: &GateConfig) -> Result<()> {
    let logits = logits.view();
    let (weights, experts) = logits.moe_gate(bias.map(|b| b as &dyn Operand), config)?;
    let tokens = logits.shape()[0];
    assert_eq!((weights.shape(), weights.dtype()), (&[tokens, config.top_k][..], DType::F32));
    assert_eq!((experts.shape(), experts.dtype()), (&[tokens, config.top_k][..], DType::I32));
    let bias = bias.map(read).transpose()?;
    let (mut expected_experts, mut expected_weights) = (Vec::new(), Vec::new());
    for row in read(&logits)?.chunks(config.experts) {
        let (experts, weights) = gate(row, bias.as_deref(), config);
        expected_experts.extend(experts.iter().map(|&e| e as i32));
        // A power, a sum and a quotient for each score; k scores added; a quotient and a product.
        expected_weights.extend(weights.iter().map(|&w| (w, (10.0 + config.top_k as f64) * rounding(w, DType::F32))));
    }
    assert_eq!(experts.to_vec::<i32>()?, expected_experts);
    assert_close(&read(&weights)?, &expected_weights, "weights");
    Ok(())
}

#[test]
fn the_gate_is_that_of_deepseek_v3() {
    on("host,workers=2", || {
        let mut rng = Rng::new(40);
        let v3 = GateConfig::DEEPSEEK_V3;
        let small = GateConfig { experts: 12, groups: 3, topk_groups: 2, top_k: 4, route_scale: 1.0 };
        let plain = GateConfig { experts: 60, groups: 1, topk_groups: 1, top_k: 4, route_scale: 1.5 };
        let lonely = GateConfig { experts: 4, groups: 4, topk_groups: 2, top_k: 2, route_scale: 1.0 };
        for config in [v3, small, plain, lonely] {
            for tokens in [0, 1, 130] {
                let logits = Tensor::from_slice(&rng.floats(tokens * config.experts), &[tokens, config.experts])?;
                // Biases below minus one make every choice negative: a mask of 0 would win over all of them.
                let negative: Vec<f32> = rng.floats(config.experts).iter().map(|b| b * 0.2 - 3.0).collect();
                let mixed: Vec<f32> = rng.floats(config.experts).iter().map(|b| b * 0.1).collect();
                check_gate(&logits, None, &config)?;
                check_gate(&logits, Some(&Tensor::from_slice(&negative, &[config.experts])?), &config)?;
                check_gate(&logits, Some(&Tensor::from_slice(&mixed, &[config.experts])?), &config)?;
            }
        }
        Ok(())
    });
}

#[test]
fn equal_scores_and_equal_groups_go_to_the_lower_number() {
    on("host,workers=2", || {
        let mut rng = Rng::new(41);
        let config = GateConfig { experts: 16, groups: 4, topk_groups: 2, top_k: 5, route_scale: 1.0 };
        let zeros = Tensor::zeros(&[16], DType::F32)?;
        for dtype in FLOATS {
            // Three different logits: ties everywhere, and they are exact in every type.
            let logits: Vec<f32> = (0..50 * 16).map(|_| rng.below(3) as f32 - 1.0).collect();
            let logits = tensor(&logits, &[50, 16], dtype)?;
            check_gate(&logits, None, &config)?;
            check_gate(&logits, Some(&zeros), &config)?;
            let turned = Tensor::zeros(&[16, 3], dtype)?;
            check_gate(&turned.t()?, Some(&zeros), &config)?;
        }
        Ok(())
    });
}

#[test]
fn the_bias_chooses_but_does_not_weigh() {
    on("host,workers=1", || {
        let config = GateConfig { experts: 4, groups: 2, topk_groups: 1, top_k: 2, route_scale: 2.0 };
        let logits = Tensor::from_slice(&[0.0f32, 0.0, 2.0, 2.0], &[1, 4])?;
        let bias = Tensor::from_slice(&[5.0f32, 4.0, 0.0, 0.0], &[4])?;
        let (weights, experts) = logits.moe_gate(Some(&bias), &config)?;
        assert_eq!(experts.to_vec::<i32>()?, [0, 1]);
        assert_eq!(weights.to_vec::<f32>()?, [1.0, 1.0]);
        Ok(())
    });
}

/// Random experts for each token.
fn choices(rng: &mut Rng, tokens: usize, top_k: usize, experts: usize) -> Vec<i32> {
    (0..tokens * top_k).map(|_| rng.below(experts) as i32).collect()
}

#[test]
fn rows_go_to_their_experts_in_order_and_come_back() {
    on("host,workers=2", || {
        let mut rng = Rng::new(42);
        for dtype in FLOATS {
            for (tokens, top_k, experts, hidden) in [
                (1, 1, 1, 1),
                (50, 3, 7, 33),
                (0, 2, 3, 4),
                (5, 0, 3, 4),
                (40, 8, 256, 5000),
                (9, 2, 5, 0),
                (700, 2, 2, 3),
            ] {
                let x = rng.tensor(&[tokens, hidden], dtype)?;
                let chosen = choices(&mut rng, tokens, top_k, experts);
                let indices = Tensor::from_slice(&chosen, &[tokens, top_k])?;
                let (rows, routing) = x.moe_permute(&indices, experts)?;
                let slots = tokens * top_k;
                assert_eq!((rows.shape(), rows.dtype()), (&[slots, hidden][..], dtype));

                let mut order: Vec<usize> = (0..slots).collect();
                order.sort_by_key(|&slot| chosen[slot]);
                assert_eq!(routing.slots.to_vec::<i32>()?, order.iter().map(|&s| s as i32).collect::<Vec<_>>());
                let offsets = (0..=experts).map(|e| chosen.iter().filter(|&&c| (c as usize) < e).count() as i32);
                assert_eq!(routing.offsets.to_vec::<i32>()?, offsets.collect::<Vec<_>>());
                let data = read(&x)?;
                let expected: Vec<f64> =
                    order.iter().flat_map(|slot| &data[slot / top_k * hidden..][..hidden]).copied().collect();
                assert_eq!(read(&rows)?, expected);
                assert_eq!(read(&x.moe_dispatch(&routing)?)?, expected);

                // Back in the order of the slots: each token `top_k` times.
                let repeated: Vec<f64> =
                    (0..slots).flat_map(|slot| &data[slot / top_k * hidden..][..hidden]).copied().collect();
                assert_eq!(read(&rows.moe_unpermute(&routing)?)?, repeated);
            }
        }
        Ok(())
    });
}

#[test]
fn combine_is_the_weighted_sum() {
    on("host,workers=2", || {
        let mut rng = Rng::new(43);
        for dtype in FLOATS {
            for (tokens, top_k, experts, hidden) in
                [(1, 1, 1, 1), (30, 8, 16, 65), (0, 2, 3, 4), (5, 0, 3, 4), (3, 2, 2, 20_000)]
            {
                let indices = Tensor::from_slice(&choices(&mut rng, tokens, top_k, experts), &[tokens, top_k])?;
                let routing = indices.moe_route(experts)?;
                let y = rng.tensor(&[tokens * top_k, hidden], dtype)?;
                let weights = rng.tensor(&[tokens, top_k], DType::F32)?;
                let sums = y.moe_combine(&routing, &weights)?;
                assert_eq!((sums.shape(), sums.dtype()), (&[tokens, hidden][..], dtype));
                let (y, w, rows) = (read(&y)?, read(&weights)?, routing.rows.to_vec::<i32>()?);
                let mut expected = Vec::new();
                for t in 0..tokens {
                    for h in 0..hidden {
                        let terms: Vec<f64> =
                            (t * top_k..(t + 1) * top_k).map(|s| w[s] * y[rows[s] as usize * hidden + h]).collect();
                        let (sum, magnitude) = (terms.iter().sum::<f64>(), terms.iter().map(|t| t.abs()).sum::<f64>());
                        // Each of k products and sums is rounded.
                        let bound = (top_k + 1) as f64 * 2f64.powi(-24) * magnitude;
                        expected.push((sum, bound + rounding(sum.abs() + bound, dtype)));
                    }
                }
                assert_close(&read(&sums)?, &expected, &format!("{dtype} {tokens} {top_k} {hidden}"));
            }
        }
        Ok(())
    });
}

#[test]
fn what_goes_to_other_devices_is_communication_and_the_rest_is_not() {
    let device = Device::open("host,workers=1").unwrap();
    let stream = device.default_stream();
    let _on = stream.enter();
    device.set_tracing(true);
    let x = Tensor::from_slice(&[1.0f32, 2.0], &[2, 1]).unwrap();
    let indices = Tensor::from_slice(&[1, 0], &[2, 1]).unwrap();
    let (rows, routing) = x.moe_permute(&indices, 2).unwrap();
    let weights = Tensor::from_slice(&[1.0f32, 1.0], &[2, 1]).unwrap();
    x.moe_dispatch(&routing).unwrap();
    let here = rows.moe_combine(&routing, &weights).unwrap();
    let fetched = rows.moe_collect(&routing, &weights).unwrap();
    assert_eq!(here.to_vec::<f32>().unwrap(), fetched.to_vec::<f32>().unwrap());
    device.synchronize().unwrap();
    let names: Vec<String> =
        device.take_trace().operators.into_iter().map(|r| format!("{} {}", r.name, r.core.name())).collect();
    let expected = [
        "MoeInitRouting AI_VECTOR_CORE",
        "MoeTokenPermute AI_VECTOR_CORE",
        "MoeDispatch COMMUNICATION",
        "MoeFinalizeRouting AI_VECTOR_CORE",
        "MoeCombine COMMUNICATION",
    ];
    assert_eq!(names, expected);
}

#[test]
fn an_index_that_is_no_expert_makes_the_operator_fail() {
    let device = Device::open("host,workers=2").unwrap();
    let stream = device.default_stream();
    let _on = stream.enter();
    for wrong in [-1, 3] {
        let indices = Tensor::from_slice(&[0, 1, wrong, 2], &[2, 2]).unwrap();
        let message = indices.moe_route(3).unwrap().offsets.to_vec::<i32>().unwrap_err().to_string();
        assert!(message.contains("`MoeInitRouting` failed"), "{message}");
        let text = format!("index {wrong} in place 2: expected the number of one of 3 experts");
        assert!(message.contains(&text), "{message}");
    }
}
