use multicore::prelude::*;

#[multicore(streams(s1, s2, s1))] //~ declared twice
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? });
    Ok(y)
}

fn main() {}
