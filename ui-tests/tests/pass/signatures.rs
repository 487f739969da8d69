//! Generics, lifetimes, receivers, `unsafe fn`, aliases of `Result`, attributes, and a `#[multicore]` function in another.

use multicore::prelude::*;

type Done<T> = std::result::Result<T, Error>;

trait Twice {
    fn twice(&self, s1: &Stream) -> Done<Tensor>;
}

impl Twice for Tensor {
    #[multicore]
    #[inline]
    fn twice(&self, s1: &Stream) -> Done<Tensor> {
        #[allow(clippy::let_and_return)]
        let y = stream!(
            s1,
            #[allow(unused_variables)]
            {
                let z = 1;
                self.add(self)?
            }
        );
        Ok(y)
    }
}

#[multicore(streams(s1), serial)]
unsafe fn f<'a, T: Twice + ?Sized, const N: u32>(x: &'a T, s2: &Stream) -> Result<(Tensor, &'a T)>
where
    T: 'a,
{
    #[multicore(streams(s1))]
    fn inner(x: &Tensor) -> Result<Tensor> {
        let y = stream!(s1, { x.add(x)? });
        Ok(y)
    }
    let y = stream!(s1, cores(cube = N), { x.twice(s2)? });
    let z = stream!(s2, { inner(&y)? });
    Ok((z, x))
}

fn main() -> Result<()> {
    let device = Device::open("host")?;
    let _on = device.default_stream().enter();
    let x = Tensor::from_slice(&[1.0f32], &[1, 1])?;
    // SAFETY: the function asks for nothing.
    let (y, _) = unsafe { f::<Tensor, 3>(&x, &device.new_stream()?)? };
    assert_eq!(y.to_vec::<f32>()?, [4.0]);
    Ok(())
}
