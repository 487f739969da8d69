#![deny(deprecated)]

use multicore::prelude::*;

#[multicore]
fn f(x: &Tensor) -> Result<Tensor> { //~ no block
    x.silu()
}

fn main() {}
