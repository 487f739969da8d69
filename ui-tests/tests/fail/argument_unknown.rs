use multicore::prelude::*;

#[multicore(stream(s1))] //~ unknown argument
fn f(s1: &Stream, x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? });
    Ok(y)
}

fn main() {}
