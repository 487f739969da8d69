use multicore::prelude::*;

#[multicore(streams(s1), device)] //~ no cores
fn f(x: &Tensor) -> Result<Tensor> {
    stream!(s1, { x.silu() })
}

#[multicore(streams(s1), device(24, 48))] //~ no keys
fn g(x: &Tensor) -> Result<Tensor> {
    stream!(s1, { x.silu() })
}

#[multicore(streams(s1), device(cube = CUBE, vector = 0))] //~ not a number, and none
fn h(x: &Tensor) -> Result<Tensor> {
    stream!(s1, { x.silu() })
}

const CUBE: u32 = 24;

fn main() {}
