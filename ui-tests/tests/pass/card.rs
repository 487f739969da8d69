//! `stream!(s1, cores(..)) < .. >` in `multicore_fn!`.

#![allow(deprecated)] // what waits for what is not the subject

use multicore::prelude::*;

multicore_fn! {
    /// The streams are parameters.
    fn f(s1: &Stream, s2: &Stream, x: &Tensor) -> Result<Tensor> {
        let y = stream!(s1, cores(cube = 3, vector = 8)) <
            let rows: Vec<Vec<usize>> = vec![x.shape().to_vec()];
            if rows[0][0] > 0 { x.add(x)? } else { x.clone() }
        >;
        let mut z = stream!(s2) < y.add(x)? >;
        for _ in 0..2 {
            stream!(s1, cores(vector = 8)) <
                z = z.add(x)?;
            >
            stream!(s2) < z = z.add(x)?; >
        }
        Ok(z)
    }

    #[multicore(streams(s1))]
    fn g(x: &Tensor) -> Result<bool> {
        let large = stream!(s1) < x.to_vec::<f32>()?[0] > 6.5 >;
        Ok(large)
    }
}

struct Layer(Stream);

multicore_fn! {
    impl Layer {
        fn stream(&self) -> &Stream {
            &self.0
        }

        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            let y = stream!(self.stream()) < x.add(x)? >;
            Ok(y)
        }
    }
}

fn main() -> Result<()> {
    let device = Device::open("host")?;
    let _on = device.default_stream().enter();
    let x = Tensor::from_slice(&[1.0f32], &[1, 1])?;
    let z = f(&device.new_stream()?, &device.new_stream()?, &x)?;
    assert!(g(&z)?);
    assert_eq!(Layer(device.new_stream()?).forward(&z)?.to_vec::<f32>()?, [14.0]);
    Ok(())
}
