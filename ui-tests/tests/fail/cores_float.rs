use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(vector = 1.5), { x.silu()? }); //~ half a core
    Ok(y)
}

fn main() {}
