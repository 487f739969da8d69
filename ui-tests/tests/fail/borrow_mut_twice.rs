use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor, y: &mut Tensor) -> Result<()> {
    let first = stream!(s1, { &mut *y });
    let second = stream!(s2, { &mut *y }); //~ still borrowed
    first.add_(x)?;
    second.add_(x)
}

fn main() {}
