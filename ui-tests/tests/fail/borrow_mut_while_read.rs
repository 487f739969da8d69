use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor, mut y: Tensor) -> Result<Tensor> {
    let view = stream!(s1, { &y });
    stream!(s2, { y.add_(x)? }); //~ `view` is used later
    view.silu()
}

fn main() {}
