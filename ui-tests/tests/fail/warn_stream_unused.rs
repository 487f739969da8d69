#![deny(unused)]

use multicore::prelude::*;

#[multicore(streams(s1, s2, _s3))] //~ `s2` has no block
fn f(x: &Tensor) -> Result<Tensor> {
    stream!(s1, { x.silu() })
}

fn main() {}
