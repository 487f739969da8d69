//! What only a run can tell: streams of two devices in one function, and limits above the device's.

#![deny(warnings)]

use multicore::prelude::*;

#[multicore(device(cube = 24, vector = 48))]
fn limited(x: &Tensor, s1: &Stream, cube: u32) -> Result<Tensor> {
    stream!(s1, cores(cube = cube, vector = 48), { x.silu() })
}

fn main() -> Result<()> {
    let (device, other) = (Device::open("host")?, Device::open("host:20x40")?);
    let _on = device.default_stream().enter();
    let x = Tensor::from_slice(&[1.0f32], &[1, 1])?;
    let here = device.new_stream()?;
    limited(&x, &here, 24)?;

    let error = limited(&x, &other.new_stream()?, 3).expect_err("a stream of another device");
    assert!(matches!(error, Error::DeviceMismatch { .. }), "{error}");
    assert!(
        error.to_string().starts_with("a `stream!` block in a `#[multicore]` function: one is on device"),
        "{error}"
    );

    let error = limited(&x, &here, 25).expect_err("more than there are");
    assert_eq!(
        error.to_string(),
        "a limit of 25 cube cores is out of range: write 1 to 24, or leave the key out for no limit"
    );
    Ok(())
}
