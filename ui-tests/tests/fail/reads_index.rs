use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(xs: &[Tensor]) -> Result<Tensor> {
    let y = stream!(s1, reads(xs[0]), { xs[0].silu()? }); //~ part of a variable
    Ok(y)
}

fn main() {}
