//! Conversion between element types.
//!
//! Between integers the low bits are kept. Otherwise numbers go through `f32`: rounded to nearest, ties to even, and
//! towards zero into integers, where what is out of range becomes the nearest limit and NaN becomes 0. A real number
//! becomes a complex one without imaginary part; a complex one has no real one to become.

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::check;
use super::dispatch::for_any;
use super::layout::copy;
use super::number::Float;
use super::pieces::{self, CHUNK, Reader, for_chunks};
use crate::dtype::{DType, Element};
use crate::error::{KernelResult, Result};
use crate::kernel::{Kernel, Launch, Tile, Work};
use crate::limit::CoreKind;
use crate::tensor::{Operand, Tensor, View};

/// The elements of `x` as elements of type `to`, in a new tensor.
///
/// Between integers the low bits are kept. Otherwise numbers go through `float32`: rounded to nearest, ties to even, and
/// towards zero into integers, where what is out of range becomes the nearest limit and NaN becomes 0. A real number
/// becomes a complex one without imaginary part.
///
/// # Errors
/// [`Error::DType`](crate::Error::DType) from a complex type to a real one.
#[track_caller]
pub fn cast(x: &(impl Operand + ?Sized), to: DType) -> Result<Tensor> {
    let x = x.view();
    let from = x.dtype();
    if from == to {
        return copy(&x);
    }
    let mut y = Tensor::empty(x.shape(), to)?;
    match (from, to) {
        (DType::Complex64, DType::Complex128) => launch(&x, &mut y, |x: &[Complex32], y| {
            each(x, y, |x| Complex64::new(f64::from(x.re), f64::from(x.im)));
        }),
        (DType::Complex128, DType::Complex64) => launch(&x, &mut y, |x: &[Complex64], y| {
            each(x, y, |x| Complex32::new(x.re as f32, x.im as f32));
        }),
        (DType::Complex64 | DType::Complex128, _) => {
            check::unfit("Cast", format!("a real type to become {to}, or a complex result"), from)
        }
        (DType::I32, DType::I64) => launch(&x, &mut y, |x: &[i32], y| each(x, y, i64::from)),
        (DType::I32, DType::U8) => launch(&x, &mut y, |x: &[i32], y| each(x, y, |x| x as u8)),
        (DType::I64, DType::I32) => launch(&x, &mut y, |x: &[i64], y| each(x, y, |x| x as i32)),
        (DType::I64, DType::U8) => launch(&x, &mut y, |x: &[i64], y| each(x, y, |x| x as u8)),
        (DType::U8, DType::I32) => launch(&x, &mut y, |x: &[u8], y| each(x, y, i32::from)),
        (DType::U8, DType::I64) => launch(&x, &mut y, |x: &[u8], y| each(x, y, i64::from)),
        (DType::F32, _) => for_any!(to, D => launch(&x, &mut y, through_f32::<f32, D>)),
        (DType::F16, _) => for_any!(to, D => launch(&x, &mut y, through_f32::<f16, D>)),
        (DType::BF16, _) => for_any!(to, D => launch(&x, &mut y, through_f32::<bf16, D>)),
        (DType::I32, _) => for_any!(to, D => launch(&x, &mut y, through_f32::<i32, D>)),
        (DType::I64, _) => for_any!(to, D => launch(&x, &mut y, through_f32::<i64, D>)),
        (DType::U8, _) => for_any!(to, D => launch(&x, &mut y, through_f32::<u8, D>)),
    }?;
    Ok(y)
}

#[track_caller]
fn launch<S: Element, D: Element>(x: &View<'_>, y: &mut Tensor, f: fn(&[S], &mut [D])) -> Result<()> {
    let bytes = pieces::bytes(x) + pieces::bytes(&y.view());
    let tile = pieces::tile(x.shape(), y.dtype());
    Launch::new(Cast { f, bytes }).input(x).output(y, tile).submit()
}

fn each<S: Copy, D>(x: &[S], y: &mut [D], f: impl Fn(S) -> D) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = f(x);
    }
}

fn through_f32<S: ToWide, D: FromWide>(x: &[S], y: &mut [D]) {
    let mut buffer = [0.0; CHUNK];
    let wide = &mut buffer[..x.len()];
    S::to_wide(x, wide);
    D::from_wide(wide, y);
}

trait ToWide: Element {
    fn to_wide(from: &[Self], to: &mut [f32]);
}

trait FromWide: Element {
    fn from_wide(from: &[f32], to: &mut [Self]);
}

macro_rules! to_wide {
    ($($T:ty: $f:expr;)*) => {$(
        impl ToWide for $T {
            fn to_wide(from: &[Self], to: &mut [f32]) {
                $f(from, to);
            }
        }
    )*};
}

macro_rules! from_wide {
    ($($T:ty: $f:expr;)*) => {$(
        impl FromWide for $T {
            fn from_wide(from: &[f32], to: &mut [Self]) {
                $f(from, to);
            }
        }
    )*};
}

to_wide! {
    f32: f32::widen;
    f16: f16::widen;
    bf16: bf16::widen;
    i32: |from, to| each(from, to, |x| x as f32);
    i64: |from, to| each(from, to, |x| x as f32);
    u8: |from, to| each(from, to, f32::from);
}

from_wide! {
    f32: f32::narrow;
    f16: f16::narrow;
    bf16: bf16::narrow;
    i32: |from, to| each(from, to, |x| x as i32);
    i64: |from, to| each(from, to, |x| x as i64);
    u8: |from, to| each(from, to, |x| x as u8);
    Complex32: |from, to| each(from, to, |x| Complex32::new(x, 0.0));
    Complex64: |from, to| each(from, to, |x| Complex64::new(f64::from(x), 0.0));
}

struct Cast<S, D> {
    f: fn(&[S], &mut [D]),
    bytes: f64,
}

impl<S: Element, D: Element> Kernel for Cast<S, D> {
    fn name(&self) -> &'static str {
        "Cast"
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }

    fn work(&self) -> Work {
        Work::new(0.0, self.bytes)
    }

    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let x = Reader::new(tile.input::<S>(0)?);
        let mut buffer = [S::default(); CHUNK];
        for_chunks(&mut tile.output(0)?, |at| x.run(at), |at, y| (self.f)(x.read(at, y.len(), &mut buffer), y));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_limited_and_nan_is_zero() {
        let mut y = [0u8; 4];
        through_f32(&[-1.0f32, 300.0, f32::NAN, 2.9], &mut y);
        assert_eq!(y, [0, 255, 0, 2]);
        let mut y = [0i32; 3];
        through_f32(&[f32::INFINITY, f32::NEG_INFINITY, -2.9], &mut y);
        assert_eq!(y, [i32::MAX, i32::MIN, -2]);
    }
}
