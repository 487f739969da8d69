use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let ys = vec![stream!(s1, { x.silu()? }), stream!(s2, { x.silu()? })]; //~ in `vec!`
    Ok(ys[0].clone())
}

fn main() {}
