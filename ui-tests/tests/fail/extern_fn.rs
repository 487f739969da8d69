use multicore::prelude::*;

#[multicore(streams(s1))]
pub extern "C" fn f(x: &Tensor) -> Result<()> { //~ extern
    stream!(s1, { x.silu()? });
    Ok(())
}

fn main() {}
