use multicore::prelude::*;

#[multicore]
mod m { //~ not a function
    pub fn f() {}
}

fn main() {}
