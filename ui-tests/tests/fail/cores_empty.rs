use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(), { x.silu()? }); //~ no key
    Ok(y)
}

fn main() {}
