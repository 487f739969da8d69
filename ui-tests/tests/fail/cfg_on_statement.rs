use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    #[cfg(debug_assertions)] //~ cfg on a statement with a block
    for _ in 0..2 {
        stream!(s1, { x.silu()? });
    }
    Ok(x.clone())
}

fn main() {}
