#![deny(warnings)]

use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, {
        let unused = x.silu()?; //~ unused variable
        let mut z = x.silu()?; //~ needs no `mut`
        z.silu()?
    });
    stream!(s2, {
        x.silu(); //~ unused `Result`
        x.shape().is_empty(); //~ unused `bool`
    });
    return y.add(x);
    stream!(s2, { y.silu() }) //~ never reached
}

fn main() {}
