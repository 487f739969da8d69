use multicore::prelude::*;

multicore_fn! {
    #[multicore(streams(s1))]
    fn f(x: &Tensor) -> Result<Tensor> {
        let y = stream!(s1, cores(cube = 0)) < x.silu()? >; //~ zero cores
        Ok(y)
    }
}

fn main() {}
