use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn tensor_for_number(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 3), {
        let n: usize = x.silu()?; //~ a tensor
        x.silu()?
    });
    Ok(y)
}

#[multicore(streams(s1))]
fn number_for_tensor(x: &Tensor) -> Result<Tensor> {
    let y: Tensor = stream!(s1, {
        x.shape()[0] //~ a number
    });
    stream!(s1, { y.silu() })
}

#[multicore(streams(s1))]
fn number_for_operand(x: &Tensor, n: usize) -> Result<Tensor> {
    stream!(s1, { x.matmul(n) }) //~ a number
}

fn main() {}
