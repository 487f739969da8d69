use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, after(s2), { x.silu()? }); //~ a stream, not a value
    Ok(y)
}

fn main() {}
