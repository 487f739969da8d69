//! Core limits: how many cores an operator may use follows, for each kind of core by itself, from the block it is in,
//! else from the stream, else from the device. The result does not: it is the same to the last bit.

use multicore::prelude::*;

#[multicore(streams(side))]
fn limits(x: &Tensor) -> Result<Tensor> {
    let x = stream!(side, cores(vector = 8), {
        let x = x.silu()?; // 8
        let x = stream!(side, cores(vector = 3), { x.silu()? }); // 3: the inner block
        x.silu()? // 8 again
    });
    let x = stream!(side, cores(cube = 6), { x.silu()? }); // no limit on vector cores here: the stream's
    x.silu() // on `main`: the device's
}

fn main() -> Result<()> {
    let device = Device::open("host:24x48")?;
    let main = device.default_stream();
    let _on = main.enter();
    let x = Tensor::from_slice(&vec![0.5f32; 1 << 20], &[1024, 1024])?;

    let unlimited = blocks(&device, &x)?;
    device.set_core_limit(CoreLimit::NONE.with_vector(20))?;
    let limited = blocks(&device, &x)?;
    device.reset_core_limit();
    let reset = blocks(&device, &x)?;

    println!("cores of the five operators, 48 vector cores on the chip:");
    println!("  no limit on the device      {:?}", unlimited.0);
    println!("  20 vector cores a device    {:?}", limited.0);
    println!("  after reset                 {:?}", reset.0);
    assert_eq!(unlimited.0, [8, 3, 8, 48, 48]);
    assert_eq!(limited.0, [8, 3, 8, 20, 20]);
    assert_eq!(reset.0, unlimited.0);
    assert_eq!(unlimited.1, limited.1, "a limit never changes a result");

    let error = device.set_core_limit(CoreLimit::NONE.with_cube(25)).expect_err("the chip has 24");
    println!("25 cube cores: {error}");
    Ok(())
}

/// What one call was granted, operator by operator, and what it computed.
fn blocks(device: &Device, x: &Tensor) -> Result<(Vec<u32>, Vec<f32>)> {
    device.set_tracing(true);
    let y = limits(x)?.to_vec::<f32>()?;
    let blocks = device.take_trace().operators.iter().map(|op| op.block_num).collect();
    device.set_tracing(false);
    Ok((blocks, y))
}
