//! `stream!(s1, cores(..) < .. >)`, also with comparisons and generics in it.

#![allow(deprecated)] // what waits for what is not the subject

use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 3, vector = 8) <
        let rows: Vec<Vec<usize>> = vec![x.shape().to_vec()];
        if rows[0][0] > 0 && rows[0].len() < 3 { x.add(x)? } else { x.clone() }
    >);
    let z = stream!(s2 < y.add(&stream!(s1 < x.add(x)? >))? >);
    Ok(z)
}

fn main() -> Result<()> {
    let device = Device::open("host")?;
    let _on = device.default_stream().enter();
    let x = Tensor::from_slice(&[1.0f32], &[1, 1])?;
    assert_eq!(f(&x)?.to_vec::<f32>()?, [4.0]);
    Ok(())
}
