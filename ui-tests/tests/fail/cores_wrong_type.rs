use multicore::prelude::*;

#[multicore(streams(s1))]
fn f(x: &Tensor, wide: bool) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = "3".len()), { x.silu()? }); //~ a `usize`
    stream!(s1, cores(vector = if wide { 40 } else { 8u64 }), { y.silu() }) //~ a `u64`
}

fn main() {}
