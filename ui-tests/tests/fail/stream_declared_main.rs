use multicore::prelude::*;

#[multicore(streams(main, s1))] //~ `main` is there already
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? });
    Ok(y)
}

fn main() {}
