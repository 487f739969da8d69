//! Each warning is off where it is allowed: on the statement, on the block, on the function.

#![deny(warnings)]

use multicore::prelude::*;

#[multicore]
#[allow(deprecated)]
fn no_block(x: &Tensor) -> Result<Tensor> {
    x.silu()
}

#[multicore(streams(s1, s2))]
fn on_the_statement(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? });
    #[allow(deprecated)]
    let z = stream!(s2, { y.silu()? });
    #[allow(deprecated)]
    stream!(s1, cores(cube = 3), {});
    Ok(z)
}

#[multicore(streams(s1, s2))]
fn on_the_block(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? });
    let z = stream!(
        s2,
        #[allow(deprecated)]
        {
            y.silu()?
        }
    );
    #[stream(s1, cores(cube = 3))]
    #[allow(deprecated)]
    {}
    Ok(z)
}

#[allow(deprecated, unused_variables)]
#[multicore(streams(s1, s2, s3), device(cube = 24))]
fn on_the_function(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 24), { x.silu()? });
    let z = stream!(s2, cores(cube = 1), { x.silu()? });
    stream!(s2, cores(cube = 3), {});
    y.add(&z)
}

#[multicore(streams(_s1, s2, s3), device(cube = 24))]
fn each_end(x: &Tensor) -> Result<Tensor> {
    #[allow(deprecated)]
    let y = stream!(s2, cores(cube = 24), { x.silu()? });
    #[allow(deprecated)]
    let z = stream!(s3, cores(cube = 1), { x.silu()? });
    y.add(&z)
}

#[deprecated]
#[multicore(streams(s1, s2), serial)]
#[allow(dead_code)]
fn one_after_another_on_purpose(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? });
    stream!(s2, { y.silu() })
}

fn main() -> Result<()> {
    let device = Device::open("host")?;
    let _on = device.default_stream().enter();
    let x = Tensor::from_slice(&[0.0f32], &[1, 1])?;
    for f in [no_block, on_the_statement, on_the_block, on_the_function, each_end] {
        assert_eq!(f(&x)?.to_vec::<f32>()?, [0.0]);
    }
    Ok(())
}
