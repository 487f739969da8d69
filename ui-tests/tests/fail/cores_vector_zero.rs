use multicore::prelude::*;

#[multicore(streams(s1))]
fn f(x: &Tensor) -> Result<Tensor> {
    stream!(s1, cores(cube = 3, vector = 0), { x.silu() }) //~ zero cores
}

fn main() {}
