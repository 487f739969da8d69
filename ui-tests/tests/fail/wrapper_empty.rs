use multicore::multicore_fn;

multicore_fn! {} //~ no function

fn main() {}
