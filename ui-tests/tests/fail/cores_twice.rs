use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 3), cores(vector = 8), { x.silu()? }); //~ a second `cores`
    Ok(y)
}

fn main() {}
