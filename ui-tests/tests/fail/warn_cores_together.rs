#![deny(deprecated)]

use multicore::prelude::*;

#[multicore(streams(s1, s2, s3), device(cube = 24, vector = 48))]
fn f(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let a = stream!(s1, cores(cube = 20, vector = 20), { x.matmul(w)? }); //~ with `s2` 27 cube cores
    let b = stream!(s2, cores(cube = 7, vector = 20), { x.matmul(w)? });
    let c = stream!(s3, cores(vector = 20), { x.silu()? }); //~ all three 60 vector cores
    let sum = stream!(s1, cores(vector = 20), { a.add(&b)? });
    stream!(s1, cores(vector = 48), { c.add(&sum) }) // when nothing else runs
}

fn main() {}
