use multicore::prelude::*;

fn consume(x: Tensor) -> Result<Tensor> {
    x.silu()
}

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = x.clone();
    let z = stream!(s1, cores(vector = 8), { consume(y)? });
    let v = stream!(s2, { y.silu()? }); //~ moved on `s1`
    v.add(&z)
}

fn main() {}
