use multicore::prelude::*;

#[multicore(streams(s1), speed = 11)] //~ unknown argument
fn f(x: &Tensor) -> Result<Tensor> {
    let a = stream!(s1, cores(cube = 0), { x.silu()? }); //~ zero cores
    let b = stream!(s1, cores(8), { a.silu()? }); //~ no keys
    let c = [1].map(|_| stream!(s1, { 1 })); //~ in a closure
    println!("{c:?}");
    Ok(b)
}

fn still_checked(x: &Tensor) -> Result<Tensor> {
    f(x)
}

fn main() {}
