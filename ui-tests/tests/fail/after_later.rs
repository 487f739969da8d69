use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor, y: &mut Tensor) -> Result<Tensor> {
    let z = stream!(s1, after(y), { x.silu()? });
    stream!(s2, { y.add_(x)? }); //~ too late
    Ok(z)
}

fn main() {}
