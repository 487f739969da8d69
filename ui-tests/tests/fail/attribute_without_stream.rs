use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = #[stream] { x.silu()? }; //~ no stream
    Ok(y)
}

fn main() {}
