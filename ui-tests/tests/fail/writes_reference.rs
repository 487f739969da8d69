use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor, mut p: Tensor) -> Result<Tensor> {
    let y = stream!(s1, writes(&mut p), { x.silu()? }); //~ a reference to the variable
    Ok(y)
}

fn main() {}
