#![deny(deprecated)]

use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<(Tensor, Tensor)> {
    stream!(s1, cores(cube = 3), {}); //~ launches nothing
    stream!(s1, cores(cube = 3, vector = 8), { //~ `vector` is set inside
        let y = stream!(s1, cores(vector = 40), { x.silu()? });
        Ok((y, stream!(s2, { x.silu()? })))
    })
}

fn main() {}
