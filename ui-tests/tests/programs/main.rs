//! Random programs, as people write them, through the real macro: the plans are sufficient, and every wait is needed.

#![allow(break_with_label_and_loop, reason = "programs give away values with labels")]

mod kernels;
mod necessary;
mod real;
mod sufficient;

use kernels::{Flags, State};
use multicore::prelude::*;

/// A run of a generated function.
type Run = fn(&mut State, &[Stream], &Tensor, &Flags) -> Result<Vec<Tensor>>;

/// A generated function.
pub(crate) struct Program {
    name: &'static str,
    run: Run,
    /// Of forms in which the rules of syntax see exactly what is touched.
    exact: bool,
    /// And without branches and loops.
    straight: bool,
}

mod generated {
    #![allow(warnings, clippy::all, reason = "random programs assign what nobody reads")]
    use super::Program;
    use super::kernels::*;
    use multicore::prelude::*;
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}

use generated::PROGRAMS;

/// A device, and what is opened on it once for all programs.
struct Bench {
    device: Device,
    streams: Vec<Stream>,
    side: Stream,
}

/// What a program left: its own tensors and those of the state, or why it ended.
#[derive(Debug, PartialEq)]
struct Left {
    outs: Vec<Vec<u32>>,
    error: Option<String>,
}

impl Bench {
    fn new(spec: &str) -> Bench {
        let device = Device::open(spec).expect("the device opens");
        let stream = || device.new_stream().expect("a stream");
        let (streams, side) = ((0..5).map(|_| stream()).collect(), stream());
        Bench { device, streams, side }
    }

    /// Runs a program; gives what it left and how many hazards it left to the runtime.
    fn run(&self, program: &Program, seed: u64) -> (Left, u64) {
        let _on = self.device.default_stream().enter();
        let before = self.device.stats().hazards;
        let tensor = |values: [f32; 4]| Tensor::from_slice(&values, &[4]).expect("a small tensor");
        let x = tensor([1.0, -2.0, 0.5, 3.0]);
        let mut state =
            State { k: tensor([2.0, 0.25, -1.0, 4.0]), v: tensor([-3.0, 1.0, 0.0, 2.5]), side: self.side.clone() };
        let result = (program.run)(&mut state, &self.streams, &x, &Flags::new(seed));
        let bits = |t: &Tensor| t.to_vec::<f32>().expect("nothing fails").into_iter().map(f32::to_bits).collect();
        let (outs, error) = match result {
            Ok(outs) => (outs, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let outs = outs.iter().chain([&state.k, &state.v]).map(bits).collect();
        self.device.synchronize().expect("nothing fails");
        (Left { outs, error }, self.device.stats().hazards - before)
    }
}
