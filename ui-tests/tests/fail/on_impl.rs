use multicore::prelude::*;

struct S;

#[multicore]
impl S { //~ not a function
    fn f(&self, s1: &Stream, x: &Tensor) -> Result<Tensor> {
        let y = stream!(s1, { x.silu()? });
        Ok(y)
    }
}

fn main() {}
