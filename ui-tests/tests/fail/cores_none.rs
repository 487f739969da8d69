use multicore::prelude::*;

#[multicore(streams(s1))]
fn f(x: &Tensor) -> Result<Tensor> {
    stream!(s1, cores(cube = 3, vector = none), { x.silu() }) //~ no limit
}

fn main() {}
