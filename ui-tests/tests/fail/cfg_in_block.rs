use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, {
        #[cfg(debug_assertions)] //~ cfg in a block
        let x = &x.silu()?;
        x.silu()?
    });
    Ok(y)
}

fn main() {}
