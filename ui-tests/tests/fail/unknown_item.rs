use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, core(cube = 3), priority = 1, { x.silu()? }); //~ two unknown items
    Ok(y)
}

fn main() {}
