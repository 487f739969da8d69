use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = "3"), { x.silu()? }); //~ text
    Ok(y)
}

fn main() {}
