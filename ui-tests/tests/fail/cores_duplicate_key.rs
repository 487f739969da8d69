use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 3, vector = 8, cube = 4), { x.silu()? }); //~ a key set twice
    Ok(y)
}

fn main() {}
