use multicore::prelude::*;

#[multicore(streams(s1))]
pub const fn f(x: &Tensor) -> Result<Tensor> { //~ const
    let y = stream!(s1, { x.silu()? });
    Ok(y)
}

fn main() {}
