use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    #[stream(s1)] //~ not a block
    for _ in 0..2 {
        x.silu()?;
    }
    Ok(x.clone())
}

fn main() {}
