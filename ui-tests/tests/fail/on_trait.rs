use multicore::prelude::*;

#[multicore]
trait Layer { //~ not a function
    fn forward(&self, x: &Tensor) -> Result<Tensor>;
}

fn main() {}
