use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1 { x.silu()? }); //~ the comma is missing
    Ok(y)
}

fn main() {}
