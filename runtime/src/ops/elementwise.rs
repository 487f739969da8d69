//! Operators whose result at a place depends on their operands at that place, with a new result or in place.

use std::marker::PhantomData;

use super::check;
use super::dispatch::{for_float, for_number};
use super::number::{Number, exp, map_wide, zip_wide};
use super::pieces::{self, CHUNK, Reader, for_chunks};
use crate::dtype::Element;
use crate::error::{KernelResult, Result};
use crate::kernel::{Kernel, Launch, Tile, Work};
use crate::limit::CoreKind;
use crate::tensor::{Operand, OperandMut, Tensor, View};

macro_rules! arithmetic {
    ($($name:literal, $new:ident, $in_place:ident, $doc:literal;)*) => {$(
        #[doc = concat!("`a ", $doc, " b`, element by element, as a new tensor.")]
        ///
        /// The operands have one shape and one type: a floating point or complex one, or `int32` or `int64`, which wrap
        /// around. Either may be a strided view.
        ///
        /// # Errors
        /// [`Error::Shape`](crate::Error::Shape) and [`Error::DType`](crate::Error::DType) when the operands differ or
        /// have another type.
        #[track_caller]
        pub fn $new(a: &(impl Operand + ?Sized), b: &(impl Operand + ?Sized)) -> Result<Tensor> {
            let (a, b) = (a.view(), b.view());
            check::same_dtype($name, &a, &b)?;
            check::same_shape($name, &a, &b)?;
            let mut y = Tensor::empty(a.shape(), a.dtype())?;
            let tile = pieces::tile(a.shape(), a.dtype());
            for_number!($name, a.dtype(), T => Launch::new(Zip::<T, _>::new($name, &a, false, T::$new))
                .input(&a).input(&b).output(&mut y, tile).submit())?;
            Ok(y)
        }

        #[doc = concat!("`a ", $doc, "= b`, element by element, in place; otherwise as [`", stringify!($new), "`].")]
        ///
        /// # Errors
        #[doc = concat!("Those of [`", stringify!($new), "`].")]
        #[track_caller]
        pub fn $in_place(a: &mut (impl OperandMut + ?Sized), b: &(impl Operand + ?Sized)) -> Result<()> {
            let b = b.view();
            check::same_dtype($name, &a.view(), &b)?;
            check::same_shape($name, &a.view(), &b)?;
            let tile = pieces::tile(b.shape(), b.dtype());
            for_number!($name, b.dtype(), T => Launch::new(Zip::<T, _>::new($name, &b, true, T::$new))
                .input(&b).update(a, tile).submit())
        }
    )*};
}

arithmetic! {
    "Add", add, add_, "+";
    "Sub", sub, sub_, "-";
    "Mul", mul, mul_, "*";
}

/// `x * factor` as a new tensor. Half-precision elements are multiplied in `float32` and rounded once.
///
/// # Errors
/// [`Error::DType`](crate::Error::DType) when `x` is not floating point.
#[track_caller]
pub fn scale(x: &(impl Operand + ?Sized), factor: f32) -> Result<Tensor> {
    let x = x.view();
    let mut y = Tensor::empty(x.shape(), x.dtype())?;
    let tile = pieces::tile(x.shape(), x.dtype());
    for_float!("Muls", x.dtype(), T => {
        let f = move |x: &[T], y: &mut [T]| map_wide(x, y, |x| x * factor);
        Launch::new(Map::<T, _>::new("Muls", &x, 1.0, false, f)).input(&x).output(&mut y, tile).submit()
    })?;
    Ok(y)
}

/// `x *= factor` in place; otherwise as [`scale`].
///
/// # Errors
/// Those of [`scale`].
#[track_caller]
pub fn scale_(x: &mut (impl OperandMut + ?Sized), factor: f32) -> Result<()> {
    let mut x = x.view_mut()?;
    let tile = pieces::tile(x.shape(), x.dtype());
    for_float!("Muls", x.dtype(), T => {
        let f = move |x: &[T], y: &mut [T]| map_wide(x, y, |x| x * factor);
        Launch::new(Map::<T, _>::new("Muls", &x.view(), 1.0, true, f)).update(&mut x, tile).submit()
    })
}

/// `x * sigmoid(x)`. Minus infinity gives NaN, as the formula does.
///
/// # Errors
/// [`Error::DType`](crate::Error::DType) when `x` is not floating point.
#[track_caller]
pub fn silu(x: &(impl Operand + ?Sized)) -> Result<Tensor> {
    let x = x.view();
    let mut y = Tensor::empty(x.shape(), x.dtype())?;
    let tile = pieces::tile(x.shape(), x.dtype());
    for_float!("Silu", x.dtype(), T => {
        Launch::new(Map::<T, _>::new("Silu", &x, 4.0, false, |x: &[T], y: &mut [T]| map_wide(x, y, silu_of)))
            .input(&x).output(&mut y, tile).submit()
    })?;
    Ok(y)
}

/// The gated activation of a feed-forward layer: of rows `[gate | up]` (`[.., 2 I]`), `silu(gate) * up` (`[.., I]`).
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the last dimension is odd or missing, [`Error::DType`](crate::Error::DType)
/// when `x` is not floating point.
#[track_caller]
pub fn swiglu(x: &(impl Operand + ?Sized)) -> Result<Tensor> {
    const NAME: &str = "SwiGlu";
    let x = x.view();
    let both = check::last(NAME, &x)?;
    if both % 2 != 0 {
        return check::misfit(
            NAME,
            format!("shape {:?}: the last dimension is odd, expected a gate and as many values [.., 2 I]", x.shape()),
        );
    }
    let last = x.shape().len() - 1;
    let (gate, up) = (x.narrow(last, 0, both / 2)?, x.narrow(last, both / 2, both / 2)?);
    let mut y = Tensor::empty(gate.shape(), x.dtype())?;
    let tile = pieces::tile(gate.shape(), x.dtype());
    for_float!(NAME, x.dtype(), T => {
        let f = |gate: &[T], up: &[T], y: &mut [T]| zip_wide(gate, up, y, |gate, up| silu_of(gate) * up);
        Launch::new(Zip::<T, _>::new(NAME, &gate, false, f)).input(&gate).input(&up).output(&mut y, tile).submit()
    })?;
    Ok(y)
}

#[inline]
fn silu_of(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

/// `f` of one operand: an input, or what the output holds.
struct Map<T, F> {
    name: &'static str,
    work: Work,
    in_place: bool,
    f: F,
    element: PhantomData<fn(T)>,
}

impl<T, F> Map<T, F> {
    fn new(name: &'static str, x: &View<'_>, flops: f64, in_place: bool, f: F) -> Self {
        let work = Work::new(flops * x.numel() as f64, 2.0 * pieces::bytes(x));
        Map { name, work, in_place, f, element: PhantomData }
    }
}

impl<T: Element, F: Fn(&[T], &mut [T]) + Send + Sync + 'static> Kernel for Map<T, F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        self.work
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let x = Left::new(tile, self.in_place)?;
        let mut buffer = [T::default(); CHUNK];
        for_chunks(&mut tile.output(0)?, |at| x.run(at), |at, y| (self.f)(x.read(at, y, &mut buffer), y));
        Ok(())
    }
}

/// `f` of two operands; the first is an input, or what the output holds.
struct Zip<T, F> {
    name: &'static str,
    work: Work,
    in_place: bool,
    f: F,
    element: PhantomData<fn(T)>,
}

impl<T, F> Zip<T, F> {
    fn new(name: &'static str, x: &View<'_>, in_place: bool, f: F) -> Self {
        let work = Work::new(x.numel() as f64, 3.0 * pieces::bytes(x));
        Zip { name, work, in_place, f, element: PhantomData }
    }
}

impl<T: Element, F: Fn(&[T], &[T], &mut [T]) + Send + Sync + 'static> Kernel for Zip<T, F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        self.work
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let a = Left::new(tile, self.in_place)?;
        let b = Reader::new(tile.input::<T>(usize::from(!self.in_place))?);
        let mut buffers = [[T::default(); CHUNK]; 2];
        let [left, right] = &mut buffers;
        for_chunks(
            &mut tile.output(0)?,
            |at| a.run(at).min(b.run(at)),
            |at, y| (self.f)(a.read(at, y, left), b.read(at, y.len(), right), y),
        );
        Ok(())
    }
}

/// The first operand.
enum Left<'a, T> {
    Input(Reader<'a, T>),
    /// What the output holds: copied before it is overwritten.
    Output,
}

impl<'a, T: Element> Left<'a, T> {
    fn new(tile: &Tile<'a>, in_place: bool) -> Result<Self> {
        if in_place { Ok(Left::Output) } else { Ok(Left::Input(Reader::new(tile.input(0)?))) }
    }

    fn run(&self, at: usize) -> usize {
        match self {
            Left::Input(x) => x.run(at),
            Left::Output => usize::MAX,
        }
    }

    fn read<'b>(&'b self, at: usize, y: &[T], buffer: &'b mut [T; CHUNK]) -> &'b [T] {
        match self {
            Left::Input(x) => x.read(at, y.len(), buffer),
            Left::Output => {
                let old = &mut buffer[..y.len()];
                old.copy_from_slice(y);
                old
            }
        }
    }
}
