use multicore::prelude::*;

multicore_fn! {
    #[multicore(streams(s1))]
    fn f(x: &Tensor, y: u32) -> Result<u32> {
        let z = 1;
        stream!(s1) < x.silu()?; z > (y); //~ a comparison, or the end?
        Ok(z)
    }
}

fn main() {}
