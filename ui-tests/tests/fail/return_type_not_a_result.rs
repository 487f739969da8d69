use multicore::prelude::*;

#[multicore(streams(s1))]
fn f(x: &Tensor) -> Option<Tensor> { //~ not a Result
    let y = stream!(s1, { x.silu().ok()? });
    Some(y)
}

fn main() {}
