// A function whose plan nobody put where it can be found.
use multicore::plan_of;
use multicore::prelude::*;

#[multicore]
fn planned(a: &Stream, b: &Stream, x: &Tensor) -> Result<Tensor> {
    let y = stream!(a, { x.silu()? });
    let z = stream!(b, { x.scale(2.0)? });
    y.add(&z)
}

fn plain() {
    plan_of!(plain); //~ this function has no plan to show
}

struct Layer;

impl Layer {
    #[multicore(explain)]
    fn private(&self, a: &Stream, x: &Tensor) -> Result<Tensor> {
        let y = stream!(a, { x.silu()? });
        x.add(&y)
    }
}

fn main() {
    plan_of!(planned); //~ this function has no plan to show
    plan_of!(Layer::private); //~ this method has no plan to show
    let _ = Layer.private(&Stream::current().unwrap(), &Tensor::zeros(&[1], DType::F32).unwrap());
    let _ = (planned, plain);
}
