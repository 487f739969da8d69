use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(); //~ no stream, no block
    Ok(y)
}

fn main() {}
