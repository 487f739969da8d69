use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, after(s1), { x.silu()? }); //~ its own stream
    Ok(y)
}

fn main() {}
