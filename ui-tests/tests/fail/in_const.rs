use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    const N: u32 = stream!(s1, { 3 }); //~ in a constant
    let y = stream!(s1, cores(cube = N), { x.silu()? });
    Ok(y)
}

fn main() {}
