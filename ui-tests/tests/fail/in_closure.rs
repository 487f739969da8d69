use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let g = |y: &Tensor| -> Result<Tensor> {
        let z = stream!(s1, { y.silu()? }); //~ in a closure
        Ok(z)
    };
    g(x)
}

fn main() {}
