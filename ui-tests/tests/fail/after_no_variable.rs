use multicore::prelude::*;

const LIMIT: u32 = 3;

#[multicore(streams(s1))]
fn f(x: &Tensor) -> Result<Tensor> {
    stream!(s1, after(LIMIT), { x.silu() }) //~ a constant
}

fn main() {}
