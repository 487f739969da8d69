use multicore::prelude::*;

#[multicore]
fn f(x: &Tensor, streams: &[Stream]) -> Result<Tensor> {
    let y = stream!(streams, { x.silu()? }); //~ many streams
    let z = stream!(2, { x.silu()? }); //~ a number
    y.add(&z)
}

fn main() {}
