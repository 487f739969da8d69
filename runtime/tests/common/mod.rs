//! Kernels for tests: gates that a test opens, and arithmetic in which order shows.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use multicore::prelude::*;

/// Long enough for anything that could wrongly run to have run.
pub(crate) const A_WHILE: Duration = Duration::from_millis(30);

/// A device with a worker for every gate that a test keeps shut, and one more.
pub(crate) fn device() -> Device {
    Device::open("host,workers=8").expect("the embedded device opens")
}

/// Something that a kernel waits for until the test opens it. Opens by itself when dropped, so that no test hangs.
pub(crate) struct Gate(Arc<Shared>);

struct Shared {
    open: Mutex<bool>,
    opened: Condvar,
    reached: AtomicBool,
    passed: AtomicBool,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate(Arc::new(Shared {
            open: Mutex::new(false),
            opened: Condvar::new(),
            reached: AtomicBool::new(false),
            passed: AtomicBool::new(false),
        }))
    }

    pub(crate) fn open(&self) {
        *self.0.open.lock().unwrap() = true;
        self.0.opened.notify_all();
    }

    /// The kernel behind the gate has started.
    pub(crate) fn is_reached(&self) -> bool {
        self.0.reached.load(Ordering::SeqCst)
    }

    /// Waits until the kernel behind the gate has started.
    pub(crate) fn wait_reached(&self) {
        for _ in 0..5000 {
            if self.is_reached() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("the gate was never reached");
    }

    /// `y = x * factor + 1`, behind this gate, on the current stream.
    pub(crate) fn affine(&self, x: &Tensor, factor: f32) -> Result<Tensor> {
        affine_behind(Some(self), x, factor)
    }
}

impl Gate {
    /// A kernel behind this gate that has no operands, as one that gets addresses of memory.
    pub(crate) fn pass(&self) -> Result<()> {
        struct Pass(Affine);
        impl Kernel for Pass {
            fn name(&self) -> &'static str {
                "Pass"
            }
            fn kind(&self) -> CoreKind {
                CoreKind::Vector
            }
            fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
                self.0.pass();
                Ok(())
            }
        }
        Launch::new(Pass(Affine { gate: Some(self.0.clone()), factor: 0.0 })).undeclared().submit()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

struct Affine {
    gate: Option<Arc<Shared>>,
    factor: f32,
}

impl Affine {
    fn pass(&self) {
        if let Some(gate) = &self.gate {
            gate.reached.store(true, Ordering::SeqCst);
            let mut open = gate.open.lock().unwrap();
            while !*open {
                open = gate.opened.wait(open).unwrap();
            }
            gate.passed.store(true, Ordering::SeqCst);
        }
    }
}

impl Kernel for Affine {
    fn name(&self) -> &'static str {
        if self.gate.is_some() { "GatedAffine" } else { "Affine" }
    }
    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }
    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        self.pass();
        let mut y = tile.output::<f32>(0)?;
        match tile.input::<f32>(0) {
            Ok(x) => {
                let range = y.range();
                for (y, x) in y.as_mut_slice()?.iter_mut().zip(&x.as_slice()?[range]) {
                    *y = x * self.factor + 1.0;
                }
            }
            Err(_) => y.as_mut_slice()?.iter_mut().for_each(|y| *y = *y * self.factor + 1.0),
        }
        Ok(())
    }
}

fn affine_behind(gate: Option<&Gate>, x: &Tensor, factor: f32) -> Result<Tensor> {
    let mut y = Tensor::empty(x.shape(), DType::F32)?;
    let kernel = Affine { gate: gate.map(|g| g.0.clone()), factor };
    Launch::new(kernel).input(x).output(&mut y, [1, usize::MAX]).submit()?;
    Ok(y)
}

/// `y = x * factor + 1` on the current stream.
#[track_caller]
pub(crate) fn affine(x: &Tensor, factor: f32) -> Result<Tensor> {
    affine_behind(None, x, factor)
}

/// `x = x * factor + 1` in place on the current stream.
pub(crate) fn affine_(x: &mut impl OperandMut, factor: f32) -> Result<()> {
    Launch::new(Affine { gate: None, factor }).update(x, [1, usize::MAX]).submit()
}

/// The same behind a gate.
pub(crate) fn gated_affine_(gate: &Gate, x: &mut impl OperandMut, factor: f32) -> Result<()> {
    Launch::new(Affine { gate: Some(gate.0.clone()), factor }).update(x, [1, usize::MAX]).submit()
}

/// `x = value` without reading it, on the current stream, behind a gate if there is one.
pub(crate) fn overwrite(gate: Option<&Gate>, x: &mut Tensor, value: f32) -> Result<()> {
    struct Overwrite(Affine);
    impl Kernel for Overwrite {
        fn name(&self) -> &'static str {
            "Overwrite"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Vector
        }
        fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
            self.0.pass();
            tile.output::<f32>(0)?.as_mut_slice()?.fill(self.0.factor);
            Ok(())
        }
    }
    let gate = gate.map(|g| g.0.clone());
    Launch::new(Overwrite(Affine { gate, factor: value })).output(x, [1, usize::MAX]).submit()
}

/// `z = x - 2 y` on the current stream: order and operands show in the result.
pub(crate) fn combine(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    struct Combine;
    impl Kernel for Combine {
        fn name(&self) -> &'static str {
            "Combine"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Cube
        }
        fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
            let (x, y) = (tile.input::<f32>(0)?, tile.input::<f32>(1)?);
            let mut z = tile.output::<f32>(0)?;
            let range = z.range();
            let pairs = x.as_slice()?[range.clone()].iter().zip(&y.as_slice()?[range]);
            for (z, (x, y)) in z.as_mut_slice()?.iter_mut().zip(pairs) {
                *z = x - 2.0 * y;
            }
            Ok(())
        }
    }
    let mut z = Tensor::empty(x.shape(), DType::F32)?;
    Launch::new(Combine).input(x).input(y).output(&mut z, [1, usize::MAX]).submit()?;
    Ok(z)
}

/// A kernel that fails.
#[track_caller]
pub(crate) fn fail(x: &Tensor, how: Failure) -> Result<Tensor> {
    struct Fail(Failure);
    impl Kernel for Fail {
        fn name(&self) -> &'static str {
            "Fail"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Vector
        }
        fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
            match self.0 {
                Failure::Error => Err("out of luck".into()),
                Failure::Panic => panic!("out of luck"),
            }
        }
    }
    let mut y = Tensor::empty(x.shape(), DType::F32)?;
    Launch::new(Fail(how)).input(x).output(&mut y, [1, usize::MAX]).submit()?;
    Ok(y)
}

#[derive(Clone, Copy)]
pub(crate) enum Failure {
    Error,
    Panic,
}

pub(crate) fn tensor(values: &[f32]) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).expect("a small tensor")
}

/// Holds for `A_WHILE`.
pub(crate) fn holds(condition: impl Fn() -> bool) -> bool {
    std::thread::sleep(A_WHILE);
    condition()
}

/// Becomes true within a few seconds.
pub(crate) fn soon(condition: impl Fn() -> bool) -> bool {
    (0..5000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        condition()
    })
}
