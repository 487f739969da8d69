use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = -1), { x.silu()? }); //~ less than no cores
    Ok(y)
}

fn main() {}
