use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(3, 8), { x.silu()? }); //~ no keys
    Ok(y)
}

fn main() {}
