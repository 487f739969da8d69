//! `#[stream(..)]` on a statement, a value, a `let`, an argument, a match arm and a tail.

use multicore::prelude::*;

#[multicore(streams(s1, s2))]
fn f(x: &Tensor, again: bool) -> Result<Vec<Tensor>> {
    let mut outs = Vec::new();
    #[stream(s1, cores(cube = 3, vector = 8))]
    {
        outs.push(x.add(x)?);
    }
    #[stream(s2)]
    let y = { x.add(x)? };
    let z = #[stream(s1)]
    {
        y.add(x)?
    };
    outs.push(
        #[stream(s2)]
        {
            z.add(x)?
        },
    );
    match again {
        true =>
        #[stream(s1)]
        {
            outs.push(y)
        }
        false => {}
    }
    #[stream(s2)]
    {
        Ok(outs)
    }
}

fn main() -> Result<()> {
    let device = Device::open("host")?;
    let _on = device.default_stream().enter();
    let x = Tensor::from_slice(&[1.0f32], &[1, 1])?;
    let numbers: Vec<Vec<f32>> = f(&x, true)?.iter().map(|out| out.to_vec()).collect::<Result<_>>()?;
    assert_eq!(numbers, [[2.0], [4.0], [2.0]]);
    Ok(())
}
