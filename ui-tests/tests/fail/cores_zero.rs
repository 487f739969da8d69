use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 0, vector = 8), { x.silu()? }); //~ zero cores
    Ok(y)
}

fn main() {}
