use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 3u64), { x.silu()? }); //~ not a `u32`
    Ok(y)
}

fn main() {}
