use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    #[cfg(debug_assertions)] //~ cfg on a block
    stream!(s1, { x.silu()? });
    let y = #[stream(s1)] #[cfg(not(windows))] { x.silu()? }; //~ cfg on a block
    Ok(y)
}

fn main() {}
