//! Arithmetic on slices of each element type, so that every operator is written once.
//!
//! Half-precision numbers are widened, computed with as `f32` and rounded once (to nearest, ties to even).

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::pieces::CHUNK;
use crate::dtype::Element;

/// A floating point type, computed with as `f32`.
pub(super) trait Float: Element {
    /// `from` as `f32`; the slices have one length.
    fn widen(from: &[Self], to: &mut [f32]);

    /// `from` rounded to this type; the slices have one length.
    fn narrow(from: &[f32], to: &mut [Self]);

    /// At most [`CHUNK`] elements as `f32`: themselves, or widened in `buffer`.
    fn widened<'a>(x: &'a [Self], buffer: &'a mut [f32; CHUNK]) -> &'a [f32] {
        let wide = &mut buffer[..x.len()];
        Self::widen(x, wide);
        wide
    }

    /// Has `write` compute at most [`CHUNK`] elements as `f32`, and rounds them.
    fn compute(to: &mut [Self], write: impl FnOnce(&mut [f32])) {
        let mut buffer = [0.0; CHUNK];
        let wide = &mut buffer[..to.len()];
        write(wide);
        Self::narrow(wide, to);
    }
}

impl Float for f32 {
    fn widen(from: &[f32], to: &mut [f32]) {
        to.copy_from_slice(from);
    }

    fn narrow(from: &[f32], to: &mut [f32]) {
        to.copy_from_slice(from);
    }

    fn widened<'a>(x: &'a [f32], _: &'a mut [f32; CHUNK]) -> &'a [f32] {
        x
    }

    fn compute(to: &mut [f32], write: impl FnOnce(&mut [f32])) {
        write(to);
    }
}

impl Float for f16 {
    fn widen(from: &[f16], to: &mut [f32]) {
        from.convert_to_f32_slice(to);
    }

    fn narrow(from: &[f32], to: &mut [f16]) {
        to.convert_from_f32_slice(from);
    }
}

impl Float for bf16 {
    fn widen(from: &[bf16], to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = f32::from_bits(u32::from(from.to_bits()) << 16);
        }
    }

    // Without a branch for NaN, unlike `bf16::from_f32`, so that it vectorises.
    fn narrow(from: &[f32], to: &mut [bf16]) {
        for (to, from) in to.iter_mut().zip(from) {
            let bits = from.to_bits();
            let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
            let quiet = bits >> 16 | 0x40;
            *to = bf16::from_bits(if from.is_nan() { quiet as u16 } else { rounded as u16 });
        }
    }
}

/// `out = f(a, b)` element by element.
pub(super) fn zip<T: Copy>(a: &[T], b: &[T], out: &mut [T], f: impl Fn(T, T) -> T) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = f(a, b);
    }
}

/// `out = f(a, b)` element by element, as `f32`, on at most [`CHUNK`] elements.
pub(super) fn zip_wide<T: Float>(a: &[T], b: &[T], out: &mut [T], f: impl Fn(f32, f32) -> f32) {
    let (mut wide_a, mut wide_b) = ([0.0; CHUNK], [0.0; CHUNK]);
    let (a, b) = (T::widened(a, &mut wide_a), T::widened(b, &mut wide_b));
    T::compute(out, |out| zip(a, b, out, f));
}

/// `out = f(x)` element by element, as `f32`, on at most [`CHUNK`] elements.
pub(super) fn map_wide<T: Float>(x: &[T], out: &mut [T], f: impl Fn(f32) -> f32) {
    let mut wide = [0.0; CHUNK];
    let x = T::widened(x, &mut wide);
    T::compute(out, |out| {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = f(x);
        }
    });
}

/// A type that can be added, subtracted and multiplied, at most [`CHUNK`] elements at a time. Integers wrap around.
pub(super) trait Number: Element {
    fn add(a: &[Self], b: &[Self], out: &mut [Self]);
    fn sub(a: &[Self], b: &[Self], out: &mut [Self]);
    fn mul(a: &[Self], b: &[Self], out: &mut [Self]);
}

macro_rules! numbers {
    ($($T:ty: $zip:ident($add:expr, $sub:expr, $mul:expr);)*) => {$(
        impl Number for $T {
            fn add(a: &[Self], b: &[Self], out: &mut [Self]) {
                $zip(a, b, out, $add);
            }
            fn sub(a: &[Self], b: &[Self], out: &mut [Self]) {
                $zip(a, b, out, $sub);
            }
            fn mul(a: &[Self], b: &[Self], out: &mut [Self]) {
                $zip(a, b, out, $mul);
            }
        }
    )*};
}

numbers! {
    f32: zip_wide(|a, b| a + b, |a, b| a - b, |a, b| a * b);
    f16: zip_wide(|a, b| a + b, |a, b| a - b, |a, b| a * b);
    bf16: zip_wide(|a, b| a + b, |a, b| a - b, |a, b| a * b);
    i32: zip(i32::wrapping_add, i32::wrapping_sub, i32::wrapping_mul);
    i64: zip(i64::wrapping_add, i64::wrapping_sub, i64::wrapping_mul);
    Complex32: zip(|a, b| a + b, |a, b| a - b, |a, b| a * b);
    Complex64: zip(|a, b| a + b, |a, b| a - b, |a, b| a * b);
}

/// e^x to 2 units in the last place, with the limits of the real one (0, infinity, NaN), in operations that vectorise.
#[inline]
pub(super) fn exp(x: f32) -> f32 {
    // Adding and taking away 1.5 * 2^23 rounds to an integer, which is then in the low bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first with few enough bits that its products with small integers are exact.
    const LN2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    // Beyond these the result is 0 or infinity; within them the two powers of two below are ordinary numbers.
    let x = if x < -104.0 { -104.0 } else { x };
    let x = if x > 89.0 { 89.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let n = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let r = x - whole * LN2.0 - whole * LN2.1;
    // A minimax polynomial for (e^r - 1 - r) / r² where |r| <= ln 2 / 2 (Cephes, `expf`).
    // Written out: a loop here would keep the loop around it from being vectorised.
    let p = 1.987_569_1e-4 * r + 1.398_2e-3;
    let p = ((p * r + 8.333_452e-3) * r + 4.166_579_6e-2) * r;
    let p = (p + 1.666_666_5e-1) * r + 0.5;
    let half = n >> 1;
    let power = |n: i32| f32::from_bits((n.wrapping_add(127) as u32) << 23);
    (p * r * r + r + 1.0) * power(half) * power(n.wrapping_sub(half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        for i in -104_000..=89_000 {
            let x = i as f32 / 1000.0;
            let (got, exact) = (exp(x), f64::from(x).exp());
            let unit = f64::from(
                f32::from_bits((exact as f32).to_bits().max(1)) - f32::from_bits((exact as f32).to_bits().max(1) - 1),
            );
            let infinite = exact > f64::from(f32::MAX);
            assert!(
                if infinite { got > 3.4e38 } else { (f64::from(got) - exact).abs() <= 2.0 * unit },
                "exp({x}) = {got}"
            );
        }
        assert_eq!((exp(0.0), exp(f32::NEG_INFINITY), exp(f32::INFINITY)), (1.0, 0.0, f32::INFINITY));
        assert_eq!((exp(f32::MIN), exp(f32::MAX)), (0.0, f32::INFINITY));
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn rounding_to_bf16_is_that_of_half() {
        let mut bits = 1u32;
        let mut x: Vec<f32> = (0..100_000)
            .map(|_| {
                bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f32::from_bits(bits)
            })
            .collect();
        x.extend([f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::NAN, 1.003_906_3, 1.011_718_8]);
        let mut got = vec![bf16::ZERO; x.len()];
        bf16::narrow(&x, &mut got);
        for (x, got) in x.into_iter().zip(got) {
            assert_eq!(got.to_bits(), bf16::from_f32(x).to_bits(), "{x}");
        }
    }
}
