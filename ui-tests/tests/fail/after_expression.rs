use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, after(x.silu()?), { x.silu()? }); //~ not a place
    Ok(y)
}

fn main() {}
