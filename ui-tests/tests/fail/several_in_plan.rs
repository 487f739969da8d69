use multicore::prelude::*;

const LIMIT: u32 = 3;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor, y: &mut Tensor) -> Result<Tensor> {
    let a = stream!(s1, after(x), { x.silu()? }); //~ nothing produces `x`
    let b = stream!(s1, after(y), { x.silu()? }); //~ too early
    stream!(s2, reads(LIMIT), { y.add_(&a)? }); //~ not a variable
    Ok(b)
}

fn main() {}
