//! What two operators gain side by side on a modelled chip: a matmul beside a multiplication, which need different cores,
//! and two matmuls, which share them.
//!
//! `cargo run --example 08_side_by_side [FOLDER]` also writes `side_by_side.svg` into the folder.

use examples::plot::{self, Curve, Failure};
use multicore::prelude::*;

#[multicore(streams(left, right))]
fn matmul_and_mul(x: &Tensor, w: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
    let product = stream!(left, { x.matmul(w)? });
    let scaled = stream!(right, { v.mul(v)? });
    Ok((product, scaled))
}

#[multicore(streams(left, right))]
fn two_matmuls(x: &Tensor, cube: u32) -> Result<(Tensor, Tensor)> {
    let a = stream!(left, cores(cube = cube), { x.matmul(x)? });
    let b = stream!(right, cores(cube = cube), { x.matmul(x)? });
    Ok((a, b))
}

/// The time of a program in us; with `serial`, one operator after the other.
fn time<T>(serial: bool, program: impl FnOnce() -> Result<T>) -> Result<f64> {
    let device = Device::open(if serial { "sim:910b,dry,issue=0,serial" } else { "sim:910b,dry,issue=0" })?;
    let _on = device.default_stream().enter();
    program()?;
    device.synchronize()?;
    Ok(device.now_ns() as f64 / 1e3)
}

fn bf16(rows: usize, cols: usize) -> Result<Tensor> {
    Tensor::empty(&[rows, cols], DType::BF16)
}

fn main() -> Result<(), Failure> {
    println!("MatMul 4096 x 8192 x 8192 beside Mul of r x 8192");
    println!("{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}", "r", "v/m", "serial", "beside", "gain", "v/(m+v)");
    let matmul = time(true, || bf16(4096, 8192)?.matmul(&bf16(8192, 8192)?))?;
    let (mut gains, mut bounds) = (Vec::new(), Vec::new());
    for rows in [1024, 2048, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152] {
        let mul = time(true, || bf16(rows, 8192)?.mul(&bf16(rows, 8192)?))?;
        let both = |serial| time(serial, || matmul_and_mul(&bf16(4096, 8192)?, &bf16(8192, 8192)?, &bf16(rows, 8192)?));
        let (serial, beside) = (both(true)?, both(false)?);
        let (ratio, gain, bound) = (mul / matmul, 1.0 - beside / serial, mul / (matmul + mul));
        println!("{rows:8}{ratio:10.3}{serial:10.1}{beside:10.1}{:9.1}%{:9.1}%", gain * 100.0, bound * 100.0);
        gains.push((ratio, gain * 100.0));
        bounds.push((ratio, bound * 100.0));
    }
    println!("\ntwo MatMul 4096 x 4096 x 4096, each on so many cube cores");
    println!("{:>8}{:>10}{:>10}{:>10}", "cores", "serial", "beside", "gain");
    for cube in [6, 8, 12, 16, 24] {
        let run = |serial| time(serial, || two_matmuls(&bf16(4096, 4096)?, cube));
        // One after the other, each may have all cores.
        let serial = time(true, || two_matmuls(&bf16(4096, 4096)?, 24))?;
        let beside = run(false)?;
        println!("{cube:8}{serial:10.1}{beside:10.1}{:9.1}%", (1.0 - beside / serial) * 100.0);
    }
    if let Some(folder) = plot::folder_from_args() {
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("side_by_side.svg");
        let curves: [Curve; 2] = [("gain".to_owned(), gains), ("bound v/(m+v)".to_owned(), bounds)];
        let axes = ["time of Mul / time of MatMul", "time saved, %"];
        plot::curves(&path, "MatMul beside Mul (910B1, modelled)", axes, &curves)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
