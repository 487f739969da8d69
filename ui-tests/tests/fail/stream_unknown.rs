use multicore::prelude::*;

#[multicore(streams(s1))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, { x.silu()? });
    let z = stream!(s3, cores(vector = 8), { x.silu()? }); //~ never declared
    y.add(&z)
}

fn main() {}
