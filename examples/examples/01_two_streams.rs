//! Two streams: a matrix product on the cube cores beside a chain of element-wise operators on the vector cores. Nothing
//! is said about order; the last block uses both results, so it waits for the other stream.

use multicore::prelude::*;

#[multicore(streams(matrix, elementwise))]
fn gated_product(a: &Tensor, b: &Tensor, x: &Tensor) -> Result<Tensor> {
    // One core, so that a machine with two processors has one left for the other stream.
    let product = stream!(matrix, cores(cube = 1), { a.matmul(b)? });
    let gate = stream!(elementwise, { x.silu()?.mul(x)? }); // runs beside the product
    stream!(matrix, { product.mul(&gate) }) // waits for `gate`
}

fn main() -> Result<()> {
    let n = 768;
    let numbers: Vec<f32> = (0..n * n).map(|i| (i % 17) as f32 / 17.0 - 0.5).collect();
    let x = Tensor::from_slice(&numbers, &[n, n])?;

    let device = Device::try_default()?;
    device.set_tracing(true);
    let before = device.stats();
    let y = gated_product(&x, &x, &x)?;
    device.synchronize()?;
    let after = device.stats();

    let trace = device.take_trace().operators;
    let first = trace.first().map_or(0, |op| op.start_ns);
    println!("stream  operator   start (us)    end (us)  cores");
    for op in &trace {
        let us = |ns: u64| (ns - first) as f64 / 1e3;
        let stream = op.stream_id.unwrap_or_default();
        println!(
            "{stream:>6}  {:<9} {:>11.1} {:>11.1} {:>6}",
            op.op_type,
            us(op.start_ns),
            us(op.end_ns()),
            op.block_num
        );
    }
    let waits = after.waits - before.waits;
    println!("{} launches, {waits} waits", after.launches - before.launches);
    assert_eq!(after.hazards, before.hazards, "every order was planned");

    // The meaning is that of the blocks one after another.
    let serial = x.matmul(&x)?.mul(&x.silu()?.mul(&x)?)?;
    assert_eq!(y.to_vec::<f32>()?, serial.to_vec::<f32>()?);
    println!("equal to the operators one after another");
    Ok(())
}
