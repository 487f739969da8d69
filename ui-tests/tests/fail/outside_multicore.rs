use multicore::prelude::*;

fn f(s1: &Stream, x: &Tensor) -> Result<Tensor> {
    let y: Tensor = stream!(s1, { x.silu()? }); //~ no `#[multicore]`
    Ok(y)
}

fn main() {}
