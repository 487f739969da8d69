//! Random programs with branches, loops, exits, containers and nested blocks, through the real macro, on the embedded
//! device: with random delays and any number of workers the result is bit for bit the serial one, and nothing is left to
//! the runtime to put right.

use std::sync::atomic::{AtomicU64, Ordering};

use multicore::prelude::*;

type Program = fn(&[Stream], &Tensor, Flags) -> Result<Vec<Tensor>>;

/// The outcomes of a program's conditions.
#[derive(Clone)]
pub struct Flags(u64);

impl Flags {
    fn next(&mut self) -> bool {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 63 == 1
    }

    fn rarely(&mut self) -> bool {
        self.next() && self.next()
    }
}

/// Changes with every launch, so that no two take the same time.
static DELAY: AtomicU64 = AtomicU64::new(1);

/// `y = x * factor + 1`, `y = x - 2 z`, or the first in place, after a random while.
struct Slow {
    factor: f32,
    turns: u64,
}

impl Slow {
    fn new(factor: f32) -> Slow {
        let n = DELAY.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        // Mostly short, now and then long enough for everything else to overtake.
        let turns = if n >> 61 == 0 { (n >> 40) % 60_000 } else { (n >> 40) % 600 };
        Slow { factor, turns }
    }
}

impl Kernel for Slow {
    fn name(&self) -> &'static str {
        "Slow"
    }
    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }
    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        for _ in 0..self.turns {
            std::hint::spin_loop();
        }
        let mut y = tile.output::<f32>(0)?;
        let range = y.range();
        let y = y.as_mut_slice()?;
        match (tile.input::<f32>(0), tile.input::<f32>(1)) {
            (Ok(x), Ok(z)) => {
                let pairs = x.as_slice()?[range.clone()].iter().zip(&z.as_slice()?[range]);
                y.iter_mut().zip(pairs).for_each(|(y, (x, z))| *y = x - self.factor * z);
            }
            (Ok(x), Err(_)) => {
                y.iter_mut().zip(&x.as_slice()?[range]).for_each(|(y, x)| *y = x * self.factor + 1.0);
            }
            _ => y.iter_mut().for_each(|y| *y = *y * self.factor + 1.0),
        }
        Ok(())
    }
}

fn affine(x: &Tensor, factor: f32) -> Result<Tensor> {
    let mut y = Tensor::empty(x.shape(), DType::F32)?;
    Launch::new(Slow::new(factor)).input(x).output(&mut y, [1, 2]).submit()?;
    Ok(y)
}

fn start(x: &Tensor, factor: f32) -> Result<Tensor> {
    affine(x, factor)
}

fn affine_(x: &mut Tensor, factor: f32) -> Result<()> {
    Launch::new(Slow::new(factor)).update(x, [1, 2]).submit()
}

fn combine(x: &Tensor, z: &Tensor) -> Result<Tensor> {
    let mut y = Tensor::empty(x.shape(), DType::F32)?;
    Launch::new(Slow::new(0.75)).input(x).input(z).output(&mut y, [1, 2]).submit()?;
    Ok(y)
}

trait Minus {
    fn minus(&self, other: &Tensor) -> Result<Tensor>;
}

impl Minus for Tensor {
    fn minus(&self, other: &Tensor) -> Result<Tensor> {
        combine(self, other)
    }
}

mod generated {
    #![allow(warnings, clippy::all, reason = "random programs assign what nobody reads")]
    use super::*;
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
    pub(super) const ALL: &[Program] = PROGRAMS;
}

fn run(spec: &str, program: Program, flags: &Flags) -> (Vec<Vec<u32>>, u64, String) {
    let device = Device::open(spec).expect("the device opens");
    let _on = device.default_stream().enter();
    let streams: Vec<_> = (0..5).map(|_| device.new_stream().expect("a stream")).collect();
    let x = Tensor::from_slice(&[1.0f32, -2.0, 0.5, 3.0], &[4]).expect("a small tensor");
    let outs = program(&streams, &x, flags.clone()).expect("the program succeeds");
    let bits = |t: &Tensor| t.to_vec::<f32>().expect("nothing fails").into_iter().map(f32::to_bits).collect();
    let values = outs.iter().map(bits).collect();
    device.synchronize().expect("nothing fails");
    (values, device.stats().hazards, format!("{:?}", device.diagnostics()))
}

#[test]
fn every_program_gives_the_serial_result_and_leaves_no_hazard() {
    for (number, program) in generated::ALL.iter().enumerate() {
        for flags in 0..6 {
            let flags = Flags(flags * 0x0123_4567_89ab_cdef + number as u64);
            let (expected, ..) = run("host,serial,workers=1", *program, &flags);
            for spec in ["host,workers=1", "host,workers=2", "host,workers=4"] {
                let (values, hazards, said) = run(spec, *program, &flags);
                assert_eq!(values, expected, "program {number} on {spec}");
                assert_eq!(hazards, 0, "program {number} on {spec}: {said}");
            }
        }
    }
}
