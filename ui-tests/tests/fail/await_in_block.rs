use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { fetch(x).await? }); //~ await
    Ok(y)
}

fn main() {}

async fn fetch(x: &Tensor) -> Result<Tensor> {
    x.silu()
}
