use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? }, cores(cube = 3)); //~ the block comes last
    Ok(y)
}

fn main() {}
