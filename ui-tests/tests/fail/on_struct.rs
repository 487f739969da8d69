use multicore::prelude::*;

#[multicore]
pub struct S { //~ not a function
    pub x: Tensor,
}

fn main() {}
