use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, after(), { x.silu()? }); //~ nothing to wait for
    Ok(y)
}

fn main() {}
