use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cub = 3), { x.silu()? }); //~ not a kind of core
    Ok(y)
}

fn main() {}
