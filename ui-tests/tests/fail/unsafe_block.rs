use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, unsafe { x.silu()? }); //~ not a plain block
    Ok(y)
}

fn main() {}
