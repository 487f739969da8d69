use multicore::prelude::*;

#[multicore(streams(s1))]
fn f(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    stream!(s1, after(y), { x.silu() }) //~ an argument
}

fn main() {}
