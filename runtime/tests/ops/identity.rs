//! The same bits whatever the limits, the workers and the streams.

use multicore::ops::{self, GateConfig};
use multicore::prelude::*;

use crate::support::{FLOATS, Rng, bits, on};

/// Each operator on operands that take several tiles.
fn everything(dtype: DType) -> Result<Vec<Vec<u64>>> {
    let mut rng = Rng::new(50);
    let (a, b) = (rng.tensor(&[600, 300], dtype)?, rng.tensor(&[1100, 300], dtype)?);
    let logits = rng.tensor(&[600, 64], dtype)?;
    let config = GateConfig { experts: 64, ..GateConfig::DEEPSEEK_V3 };
    let (weights, experts) = logits.moe_gate(None, &config)?;
    let (rows, routing) = a.moe_permute(&experts, config.experts)?;
    let expert_weights = rng.tensor(&[config.experts, 300, 40], dtype)?;
    let grouped = rows.grouped_matmul(&expert_weights, &routing.offsets)?;
    let long = a.reshape(&[600 * 300])?;
    let mut in_place = a.clone();
    in_place.mul_(&a)?;
    in_place.scale_(0.3)?;
    let (values, places) = a.top_k(9)?;
    let results = [
        a.matmul(&b.t()?)?,
        a.reshape(&[3, 200, 300])?.batch_matmul(&b.slice(..900)?.reshape(&[3, 300, 300])?)?,
        grouped.moe_unpermute(&routing)?,
        grouped.moe_combine(&routing, &weights)?,
        a.moe_dispatch(&routing)?,
        rows,
        grouped,
        weights,
        experts,
        a.add(&in_place)?,
        in_place,
        a.swiglu()?,
        a.silu()?,
        a.softmax()?,
        a.t()?.softmax()?,
        a.rms_norm(&b.slice(..1)?.reshape(&[300])?, 1e-5)?,
        a.sum(0)?,
        a.sum(1)?,
        a.sum_all()?,
        long.sum(0)?,
        values,
        places,
        ops::concat(&[a.view(), b.view()], 0)?,
        a.t()?.contiguous()?,
        a.cast(DType::BF16)?,
    ];
    results.iter().map(bits).collect()
}

#[test]
fn no_limit_worker_or_stream_changes_a_bit() {
    for dtype in FLOATS {
        let expected = on("host,workers=1", || everything(dtype));
        for spec in ["host,workers=2", "host,workers=4", "host:1x1,workers=2", "host:5x7,workers=4", "host,serial"] {
            assert_eq!(on(spec, || everything(dtype)), expected, "{spec}");
        }
        let device = Device::open("host,workers=4").unwrap();
        for limit in
            [CoreLimit::NONE.with_cube(1).with_vector(1), CoreLimit::NONE.with_cube(3), CoreLimit::NONE.with_vector(2)]
        {
            let stream = device.new_stream().unwrap();
            stream.set_core_limit(limit).unwrap();
            let _on = stream.enter();
            assert_eq!(everything(dtype).unwrap(), expected, "{limit:?}");
        }
        assert_eq!(device.stats().hazards, 0);
    }
}
