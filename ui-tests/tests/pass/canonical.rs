//! `stream!(s1, cores(..), { .. })` as a statement, a value, an argument and a tail; with every kind of stream.

#![allow(deprecated)] // what waits for what is not the subject

use multicore::prelude::*;

struct Layer {
    side: Stream,
    bias: Tensor,
}

impl Layer {
    #[multicore]
    fn forward(&self, x: &Tensor, streams: &[Stream], wide: u32) -> Result<Vec<Tensor>> {
        let mut outs = Vec::new();
        for i in 0..3 {
            let y = stream!(&streams[i % streams.len()], cores(cube = 3, vector = wide), { x.add(&self.bias)? });
            outs.push(stream!(self.side, cores(vector = wide / 2), after(y), { y.add(&y)? },));
        }
        let (a, b) = stream!(main, { (x.add(x)?, x.add(&self.bias)?) });
        stream!(&self.side, reads(x), {
            outs.push(a);
        });
        stream!(self.side, { outs.push(b) });
        Ok(outs)
    }
}

fn main() -> Result<()> {
    let device = Device::open("host")?;
    let streams = [device.new_stream()?, device.new_stream()?];
    let _on = device.default_stream().enter();
    let layer = Layer { side: device.new_stream()?, bias: Tensor::from_slice(&[1.0f32, 2.0], &[1, 2])? };
    let x = Tensor::from_slice(&[10.0f32, 20.0], &[1, 2])?;
    let outs = layer.forward(&x, &streams, 8)?;
    let numbers: Vec<Vec<f32>> = outs.iter().map(|out| out.to_vec()).collect::<Result<_>>()?;
    let twice = vec![22.0, 44.0];
    assert_eq!(numbers, [twice.clone(), twice.clone(), twice, vec![20.0, 40.0], vec![11.0, 22.0]]);
    Ok(())
}
