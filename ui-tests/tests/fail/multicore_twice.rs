use multicore::prelude::*;

#[multicore(streams(s1))]
#[multicore] //~ duplicate
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? });
    Ok(y)
}

fn main() {}
