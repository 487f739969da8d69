//! An operator of one's own, in safe Rust: a kernel says what it is and computes one tile; the device runs tiles on as many
//! cores as the limit grants. Inside `#[multicore]` it is an operator like any other.

use multicore::prelude::*;

/// `y = cap · tanh(x / cap)`: keeps scores between -cap and cap.
struct SoftCap {
    cap: f32,
    elements: usize,
}

impl Kernel for SoftCap {
    fn name(&self) -> &'static str {
        "SoftCap"
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        Work::new(3.0 * self.elements as f64, 8.0 * self.elements as f64)
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let x = tile.input::<f32>(0)?;
        // This tile's own rows of the output: nobody else has them.
        let mut y = tile.output::<f32>(0)?;
        for (i, row) in y.rows().enumerate() {
            for (y, x) in y.row_mut(i).iter_mut().zip(x.row(row)?) {
                *y = self.cap * (x / self.cap).tanh();
            }
        }
        Ok(())
    }
}

/// The operator as others see it: it launches on the current stream and returns at once.
fn soft_cap(x: &Tensor, cap: f32) -> Result<Tensor> {
    let mut y = Tensor::empty(x.shape(), DType::F32)?;
    let whole_rows = x.shape().last().copied().unwrap_or(1).max(1);
    Launch::new(SoftCap { cap, elements: x.numel() }).input(x).output(&mut y, [16, whole_rows]).submit()?;
    Ok(y)
}

/// The scores of each head: while the vector cores cap those of one, the cube cores compute those of the next.
#[multicore(streams(cube, vector))]
fn scores(heads: &[Tensor], cap: f32) -> Result<Vec<Tensor>> {
    let mut all = Vec::new();
    for q in heads {
        let raw = stream!(cube, { q.matmul(&q.t()?)? });
        all.push(stream!(vector, cores(vector = 4), { soft_cap(&raw, cap)? })); // waits for `raw`
    }
    Ok(all)
}

fn main() -> Result<()> {
    let device = Device::try_default()?;
    let q: Vec<f32> = (0..100 * 64).map(|i| (i * 31 % 97) as f32 / 16.0 - 3.0).collect();
    let q = Tensor::from_slice(&q, &[100, 64])?;

    device.set_tracing(true);
    let before = device.stats();
    let all = scores(&[q.clone(), q.mul(&q)?], 30.0)?;
    let y = all[0].to_vec::<f32>()?;
    let hazards = device.stats().hazards - before.hazards;

    let trace = device.take_trace().operators;
    let own = trace.iter().find(|op| op.op_type == "SoftCap").expect("it was launched");
    println!("SoftCap ran on {} of the {} cores it may use", own.block_num, 4);
    assert_eq!(own.block_num, 4, "7 tiles of 16 rows, 4 cores");
    assert_eq!(hazards, 0, "every order was planned");

    let raw = q.matmul(&q.t()?)?.to_vec::<f32>()?;
    let expected: Vec<f32> = raw.iter().map(|x| 30.0 * (x / 30.0).tanh()).collect();
    assert_eq!(y, expected);
    let max = |v: &[f32]| v.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    println!("largest score {:.1}, capped {:.1}", max(&raw), max(&y));
    Ok(())
}
