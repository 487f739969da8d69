//! What was measured on real chips with limited cores and with two operators side by side, as ranges.

use multicore::prelude::*;

#[multicore(streams(left, right))]
fn matmul_and_mul(x: &Tensor, w: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
    let product = stream!(left, { x.matmul(w)? });
    let scaled = stream!(right, { v.mul(v)? });
    Ok((product, scaled))
}

fn us<T>(spec: &str, program: impl FnOnce() -> Result<T>) -> f64 {
    let run = || -> Result<f64> {
        let device = Device::open(spec)?;
        let _on = device.default_stream().enter();
        program()?;
        device.synchronize()?;
        Ok(device.now_ns() as f64 / 1e3)
    };
    run().expect("the program runs")
}

fn bf16(rows: usize, cols: usize) -> Result<Tensor> {
    Tensor::empty(&[rows, cols], DType::BF16)
}

/// The RFC's experiment: a gain that is positive, at most v / (m + v), gone when there is nothing to hide, and about 12 %
/// for some v / m between 0.14 and 0.31.
#[test]
fn a_matmul_beside_a_multiplication() {
    const BESIDE: &str = "sim:910b,dry,issue=0";
    const SERIAL: &str = "sim:910b,dry,issue=0,serial";
    let matmul = us(SERIAL, || bf16(4096, 8192)?.matmul(&bf16(8192, 8192)?));
    let mut seen = Vec::new();
    for rows in (1..=48).map(|n| n * 512) {
        let mul = us(SERIAL, || bf16(rows, 8192)?.mul(&bf16(rows, 8192)?));
        let both = |spec| us(spec, || matmul_and_mul(&bf16(4096, 8192)?, &bf16(8192, 8192)?, &bf16(rows, 8192)?));
        let gain = 1.0 - both(BESIDE) / both(SERIAL);
        assert!(gain > 0.0 && gain <= mul / (matmul + mul) + 1e-9, "{rows} rows: {gain}");
        seen.push((mul / matmul, gain));
    }
    assert!(seen[0].1 < 0.02, "nothing to hide: {:?}", seen[0]);
    let twelve = seen.iter().find(|(ratio, gain)| (0.14..=0.31).contains(ratio) && (gain - 0.12).abs() < 0.01);
    assert!(twelve.is_some(), "{seen:?}");
}

/// Two matmuls that each fill the cube cores gain nothing side by side (deepseek-ai/profile-data, weight gradients on two
/// streams).
#[test]
fn two_matmuls_that_fill_the_chip_gain_nothing() {
    #[multicore(streams(left, right))]
    fn two(x: &Tensor) -> Result<(Tensor, Tensor)> {
        let a = stream!(left, { x.matmul(x)? });
        let b = stream!(right, { x.matmul(x)? });
        Ok((a, b))
    }
    let run = |spec| us(spec, || two(&bf16(8192, 8192)?));
    let (serial, beside) = (run("sim:910b,dry,issue=0,serial"), run("sim:910b,dry,issue=0"));
    assert!((beside / serial - 1.0).abs() < 0.03, "{beside} for {serial}");
}

/// 4 to 8 vector cores fill the links: a dispatch on them is within 5 % of one on all cores.
#[test]
fn a_dispatch_needs_a_few_vector_cores() {
    let dispatch = |cores: u32| {
        us("sim:910_9391,dry,issue=0,ranks=64", || {
            Stream::current()?.set_core_limit(CoreLimit::NONE.with_vector(cores))?;
            let experts = Tensor::empty(&[4096, 8], DType::I32)?;
            let routing = experts.moe_route(256)?;
            Tensor::empty(&[4096, 7168], DType::U8)?.moe_dispatch(&routing)
        })
    };
    let all = dispatch(48);
    for cores in 4..=8 {
        assert!(dispatch(cores) < 1.05 * all, "{cores} cores");
    }
    assert!(dispatch(1) > 1.3 * all);
}
