//! How many vector cores the dispatch of tokens to their experts needs: with 4 to 8 the links are full, and the other
//! cores are free for the experts.
//!
//! `cargo run --example 09_dispatch_cores [FOLDER]` also writes `dispatch_cores.svg` into the folder.

use examples::plot::{self, Curve, Failure};
use multicore::prelude::*;

/// Tokens go to their experts beside work of the same size on the rest of the vector cores.
#[multicore(streams(dispatch, vector))]
fn step(x: &Tensor, experts: &Tensor, beside: &Tensor, cores: u32) -> Result<(Tensor, Tensor)> {
    let routing = experts.moe_route(256)?;
    let rows = stream!(dispatch, cores(vector = cores), { x.moe_dispatch(&routing)? });
    let activated = stream!(vector, cores(vector = 48 - cores), { beside.silu()? });
    Ok((rows, activated))
}

fn main() -> Result<(), Failure> {
    println!("4096 tokens of 7168 to 8 of 256 experts over 64 devices, beside an activation of 65536 x 7168");
    println!("{:>8}{:>14}{:>14}{:>14}", "cores", "dispatch us", "beside us", "both us");
    let mut curves: [Curve; 2] = [("dispatch".to_owned(), Vec::new()), ("both".to_owned(), Vec::new())];
    for cores in [1, 2, 3, 4, 6, 8, 12, 16, 24, 32] {
        let device = Device::open("sim:910_9391,dry,issue=graph,ranks=64")?;
        let _on = device.default_stream().enter();
        let x = Tensor::empty(&[4096, 7168], DType::U8)?;
        let experts = Tensor::empty(&[4096, 8], DType::I32)?;
        let beside = Tensor::empty(&[65536, 7168], DType::BF16)?;
        device.set_tracing(true);
        step(&x, &experts, &beside, cores)?;
        device.synchronize()?;
        let trace = device.take_trace().operators;
        let of =
            |operator: &str| trace.iter().find(|r| r.op_type == operator).map_or(0.0, |r| r.duration_ns as f64 / 1e3);
        let first = trace.iter().map(|r| r.start_ns).min().unwrap_or(0);
        let both = (trace.iter().map(|r| r.end_ns()).max().unwrap_or(0) - first) as f64 / 1e3;
        println!("{cores:8}{:14.1}{:14.1}{both:14.1}", of("MoeDispatch"), of("Silu"));
        curves[0].1.push((f64::from(cores), of("MoeDispatch")));
        curves[1].1.push((f64::from(cores), both));
    }
    if let Some(folder) = plot::folder_from_args() {
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("dispatch_cores.svg");
        let axes = ["vector cores of the dispatch", "us"];
        plot::curves(&path, "Dispatch on a few vector cores (A3 die, modelled)", axes, &curves)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
