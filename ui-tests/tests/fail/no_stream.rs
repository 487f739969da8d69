use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(cores(cube = 3), { x.silu()? }); //~ the stream is missing
    Ok(y)
}

fn main() {}
