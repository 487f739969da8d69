use multicore::prelude::*;

#[multicore(streams(s1))]
async fn f(x: &Tensor) -> Result<Tensor> { //~ async
    let y = stream!(s1, { x.silu()? });
    Ok(y)
}

fn main() {}
