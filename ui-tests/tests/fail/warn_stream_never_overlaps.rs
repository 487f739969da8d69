#![deny(deprecated)]

use multicore::prelude::*;

#[multicore(streams(matrix, vector))]
fn waits(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = stream!(matrix, { x.matmul(w)? });
    stream!(vector, cores(vector = 8), { y.silu() }) //~ every block waits
}

#[multicore]
fn in_turn(mut x: Tensor, w: &Tensor, matrix: &Stream, vector: &Stream) -> Result<Tensor> {
    for _ in 0..3 {
        let y = stream!(matrix, { x.matmul(w)? });
        x = stream!(vector, { y.silu()? }); //~ each round waits for the one before
    }
    Ok(x)
}

#[multicore(streams(first, a, b))]
fn fork(x: &Tensor) -> Result<Tensor> {
    let y = stream!(first, { x.silu()? }); //~ everything waits for it
    let u = stream!(a, { y.silu()? });
    let v = stream!(b, { y.silu()? });
    stream!(a, { u.add(&v) })
}

#[multicore(streams(a, b))]
fn used_where_it_stands(x: &Tensor) -> Result<Tensor> {
    let y = stream!(a, { x.silu()? });
    let z = stream!(b, { y.silu() }).map(|z| (z.shape().to_vec(), z))?; //~ `map` may launch
    Ok(z.1)
}

fn main() {}
