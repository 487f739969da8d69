// `plan_of!` names a function, and does not call it.
use multicore::plan_of;
use multicore::prelude::*;

#[multicore(explain)]
fn f(a: &Stream, x: &Tensor) -> Result<Tensor> {
    let y = stream!(a, { x.silu()? });
    x.add(&y)
}

trait Module {
    fn forward(&self);
}

struct Layer;

impl Module for Layer {
    fn forward(&self) {}
}

fn main() {
    let (a, x) = (Stream::current().unwrap(), Tensor::zeros(&[1], DType::F32).unwrap());
    plan_of!(f(&a, &x)); //~ `plan_of!` takes the path of a function
    plan_of!(|| f(&a, &x)); //~ `plan_of!` takes the path of a function
    plan_of!(<Layer as Module>::forward); //~ a method of a trait has no plan to name
}
