//! What the generated programs are made of: inputs, and kernels that take a random time.

use std::cell::Cell;

use multicore::prelude::*;

/// What decides the conditions of a program.
#[derive(Clone, Debug)]
pub(crate) struct Flags(Cell<u64>);

impl Flags {
    pub(crate) fn new(seed: u64) -> Flags {
        Flags(Cell::new(seed))
    }

    fn step(&self) -> u64 {
        self.0.set(self.0.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        self.0.get() >> 33
    }

    pub(crate) fn next(&self) -> bool {
        self.step() % 2 == 1
    }

    /// For what ends a program.
    pub(crate) fn seldom(&self) -> bool {
        self.step().is_multiple_of(12)
    }

    /// Zero, one or many.
    pub(crate) fn count(&self) -> usize {
        [0, 1, 2, 4][self.step() as usize % 4]
    }
}

/// What programs change for good: it shows even after an error.
pub(crate) struct State {
    pub(crate) k: Tensor,
    pub(crate) v: Tensor,
    pub(crate) side: Stream,
}

pub(crate) struct Pair {
    pub(crate) left: Tensor,
    pub(crate) right: Tensor,
}

thread_local! {
    /// The seed of the next kernel's delay; 0 for no delays.
    static DELAY: Cell<u64> = const { Cell::new(0) };
}

/// From here on the kernels that this thread launches take a random time; 0 for none.
pub(crate) fn delay(seed: u64) {
    DELAY.set(seed);
}

/// `y = x * factor + 1`, `y = x - factor * z`, in place or not, or `y = factor`.
struct Slow {
    what: What,
    factor: f32,
    /// Turns before and after the work.
    turns: [u32; 2],
}

#[derive(Clone, Copy)]
enum What {
    Affine,
    Combine,
    Fill,
}

impl Slow {
    fn new(what: What, factor: f32) -> Slow {
        let seed = DELAY.get();
        if seed == 0 {
            return Slow { what, factor, turns: [0, 0] };
        }
        let next = seed.wrapping_mul(0xd128_2b27_5e3f_a34d) ^ (seed >> 29);
        DELAY.set(next.max(1));
        // Mostly short, now and then long enough for everything else to overtake.
        let turns = |bits: u64| if bits.is_multiple_of(32) { (bits >> 5) % 10_000 } else { (bits >> 5) % 100 } as u32;
        Slow { what, factor, turns: [turns(next >> 20), turns(next >> 40)] }
    }
}

impl Kernel for Slow {
    fn name(&self) -> &'static str {
        match self.what {
            What::Affine => "Affine",
            What::Combine => "Combine",
            What::Fill => "Fill",
        }
    }
    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }
    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let spin = |turns: u32| (0..turns).for_each(|_| std::hint::spin_loop());
        spin(self.turns[0]);
        let mut y = tile.output::<f32>(0)?;
        let range = y.range();
        let y = y.as_mut_slice()?;
        let factor = self.factor;
        match (self.what, tile.input::<f32>(0), tile.input::<f32>(1)) {
            (What::Fill, ..) => y.fill(factor),
            (What::Affine, Ok(x), _) => {
                y.iter_mut().zip(&x.as_slice()?[range]).for_each(|(y, x)| *y = x * factor + 1.0)
            }
            (What::Affine, ..) => y.iter_mut().for_each(|y| *y = *y * factor + 1.0),
            (What::Combine, Ok(x), Ok(z)) => {
                let pairs = x.as_slice()?[range.clone()].iter().zip(&z.as_slice()?[range]);
                y.iter_mut().zip(pairs).for_each(|(y, (x, z))| *y = x - factor * z);
            }
            (What::Combine, Ok(z), _) => y.iter_mut().zip(&z.as_slice()?[range]).for_each(|(y, z)| *y -= factor * z),
            (What::Combine, ..) => return Err("nothing to combine with".into()),
        }
        spin(self.turns[1]);
        Ok(())
    }
}

/// `x * factor + 1`
#[track_caller]
pub(crate) fn affine(x: &Tensor, factor: f32) -> Result<Tensor> {
    let mut y = Tensor::empty(x.shape(), DType::F32)?;
    Launch::new(Slow::new(What::Affine, factor)).input(x).output(&mut y, [1, 2]).submit()?;
    Ok(y)
}

/// `x - 0.75 z`
#[track_caller]
pub(crate) fn combine(x: &Tensor, z: &Tensor) -> Result<Tensor> {
    let mut y = Tensor::empty(x.shape(), DType::F32)?;
    Launch::new(Slow::new(What::Combine, 0.75)).input(x).input(z).output(&mut y, [1, 2]).submit()?;
    Ok(y)
}

/// `x = x * factor + 1`
#[track_caller]
pub(crate) fn affine_(x: &mut impl OperandMut, factor: f32) -> Result<()> {
    Launch::new(Slow::new(What::Affine, factor)).update(x, [1, 2]).submit()
}

/// `x = x - 0.5 z`
#[track_caller]
pub(crate) fn mix_(x: &mut impl OperandMut, z: &impl Operand) -> Result<()> {
    Launch::new(Slow::new(What::Combine, 0.5)).input(z).update(x, [1, 2]).submit()
}

/// `x = value`, without reading it.
#[track_caller]
pub(crate) fn fill_(x: &mut impl OperandMut, value: f32) -> Result<()> {
    Launch::new(Slow::new(What::Fill, value)).output(x, [1, 2]).submit()
}

/// An error, if `now`.
pub(crate) fn fail_if(now: bool) -> Result<()> {
    if now { Tensor::from_slice(&[1.0f32], &[2]).map(drop) } else { Ok(()) }
}

pub(crate) trait Methods {
    fn minus(&self, other: &Tensor) -> Result<Tensor>;
    fn rescale_(&mut self, factor: f32) -> Result<()>;
}

impl Methods for Tensor {
    #[track_caller]
    fn minus(&self, other: &Tensor) -> Result<Tensor> {
        combine(self, other)
    }

    #[track_caller]
    fn rescale_(&mut self, factor: f32) -> Result<()> {
        affine_(self, factor)
    }
}
