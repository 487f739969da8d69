use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = #[stream(s1, cores(vector = 0))] { x.silu()? }; //~ zero cores
    Ok(y)
}

fn main() {}
