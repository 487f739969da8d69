use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 4294967296), { x.silu()? }); //~ more than a `u32` holds
    Ok(y)
}

fn main() {}
