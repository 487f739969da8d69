use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let later = async {
        let y = stream!(s1, { x.silu()? }); //~ in an async block
        Ok::<Tensor, Error>(y)
    };
    drop(later);
    Ok(x.clone())
}

fn main() {}
