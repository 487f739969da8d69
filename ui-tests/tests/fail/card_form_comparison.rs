use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    stream!(s1, cores(cube = 3, vector = 8)) < x.silu()?; //~ not Rust syntax
    x.silu()? >
    Ok(x.clone())
}

fn main() {}
