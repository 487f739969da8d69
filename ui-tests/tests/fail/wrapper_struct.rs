use multicore::prelude::*;

multicore_fn! {
    struct S; //~ not a function
}

fn main() {}
