use multicore::prelude::*;

#[multicore(serial, streams(s1), serial)] //~ set twice
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? });
    Ok(y)
}

fn main() {}
