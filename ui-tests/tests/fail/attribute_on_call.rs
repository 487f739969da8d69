use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    #[stream(s1)] //~ not a block
    let y = x.silu()?;
    Ok(y)
}

fn main() {}
