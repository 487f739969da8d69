use multicore::prelude::*;

#[multicore(streams(s1), device(cube = 24, vector = 48))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 25, vector = 48), { x.silu()? }); //~ more than 24
    stream!(s1, cores(vector = 4_000), { y.silu() }) //~ more than 48
}

fn main() {}
