use multicore::prelude::*;

multicore_fn! {
    #[multicore(streams(s1))]
    fn f(x: &Tensor) -> Result<Tensor> {
        let y = stream!(s1) < x.silu()?; x. >; //~ to be continued
        Ok(y)
    }
}

fn main() {}
