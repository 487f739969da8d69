use multicore::prelude::*;

multicore_fn! {
    #[multicore(streams(s1))]
    fn f(x: &Tensor) -> Result<()> {
        stream!(s1, cores(cube = 3, vector = 8)) < x.silu()?; //~ no `>`
        Ok(())
    }
}

fn main() {}
