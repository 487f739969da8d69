use multicore::prelude::*;

trait Layer {
    #[multicore]
    fn forward(&self, x: &Tensor) -> Result<Tensor>; //~ no body
}

fn main() {}
