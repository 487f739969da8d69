use multicore::prelude::*;

#[multicore(streams(s1))]
fn f(x: &Tensor) { //~ launches can fail
    let y = stream!(s1, { x.silu()? });
    println!("{:?}", y.shape());
}

fn main() {}
