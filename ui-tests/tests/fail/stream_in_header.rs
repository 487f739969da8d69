use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = stream!(s2, { 3 })), { x.silu()? }); //~ a block in a header
    Ok(y)
}

fn main() {}
