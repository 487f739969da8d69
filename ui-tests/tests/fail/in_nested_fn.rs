use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    fn inner(s1: &Stream, y: &Tensor) -> Result<Tensor> {
        let z = stream!(s1, { y.silu()? }); //~ `inner` is not `#[multicore]`
        Ok(z)
    }
    inner(&s1, x)
}

fn main() {}
