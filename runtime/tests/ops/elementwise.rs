//! Arithmetic, activations and casts, new and in place.

use multicore::prelude::*;
use multicore::{Complex32, Complex64};

use crate::support::{FLOATS, Rng, assert_close, on, read, rounding, tensor};

const SHAPES: [&[usize]; 9] = [&[], &[1], &[5], &[0], &[3, 0, 2], &[7, 13], &[2, 3, 5], &[20_001], &[300, 129]];

/// What of the inputs is seen: whole, or parts and turned ones that are strided in every way.
fn views<'a>(x: &'a Tensor) -> Result<Vec<View<'a>>> {
    let mut views = vec![x.view()];
    if x.shape().len() >= 2 {
        views.push(x.t()?);
        views.push(x.transpose(0, x.shape().len() - 1)?);
        let last = x.shape().len() - 1;
        if x.shape()[last] > 2 {
            views.push(x.narrow(last, 1, x.shape()[last] - 2)?);
            views.push(x.narrow(last, 2, 1)?);
            views.push(x.t()?.narrow(last - 1, 1, x.shape()[last] - 2)?);
        }
    }
    Ok(views)
}

#[test]
fn add_sub_mul_of_floats() {
    on("host,workers=2", || {
        let mut rng = Rng::new(10);
        for dtype in FLOATS {
            for shape in SHAPES {
                let (a, b) = (rng.tensor(shape, dtype)?, rng.tensor(shape, dtype)?);
                for (a, b) in views(&a)?.iter().zip(&views(&b)?) {
                    let (x, y) = (read(a)?, read(b)?);
                    // Exact in `f64` for the product and nearly so for the sum; then the rounding to `f32` and to the type.
                    let check = |got: Tensor, f: fn(f64, f64) -> f64| {
                        assert_eq!((got.shape(), got.dtype()), (a.shape(), dtype));
                        let exact = x.iter().zip(&y).map(|(&x, &y)| f(x, y));
                        let expected: Vec<_> =
                            exact.map(|e| (e, 1.01 * (rounding(e, dtype) + rounding(e, DType::F32)))).collect();
                        assert_close(&read(&got)?, &expected, &format!("{dtype} {shape:?}"));
                        Ok::<_, Error>(())
                    };
                    check(a.add(b)?, |x, y| x + y)?;
                    check(a.sub(b)?, |x, y| x - y)?;
                    check(a.mul(b)?, |x, y| x * y)?;
                    let mut c = a.contiguous()?;
                    c.add_(b)?;
                    check(c, |x, y| x + y)?;
                    let mut c = a.contiguous()?;
                    c.sub_(b)?;
                    check(c, |x, y| x - y)?;
                    let mut c = a.contiguous()?;
                    c.mul_(b)?;
                    check(c, |x, y| x * y)?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn integers_wrap_around_and_complex_numbers_multiply() {
    on("host,workers=2", || {
        let a = Tensor::from_slice(&[i32::MAX, -5, 7], &[3])?;
        let b = Tensor::from_slice(&[1, 3, i32::MIN], &[3])?;
        assert_eq!(a.add(&b)?.to_vec::<i32>()?, [i32::MIN, -2, i32::MIN + 7]);
        assert_eq!(a.sub(&b)?.to_vec::<i32>()?, [i32::MAX - 1, -8, i32::MIN + 7]);
        assert_eq!(a.mul(&b)?.to_vec::<i32>()?, [i32::MAX, -15, i32::MIN]);
        let a = Tensor::from_slice(&[i64::MAX, 1 << 40], &[2])?;
        let mut b = Tensor::from_slice(&[1i64, 3], &[2])?;
        b.add_(&a)?;
        assert_eq!(b.to_vec::<i64>()?, [i64::MIN, (1 << 40) + 3]);
        let a = Tensor::from_slice(&[Complex32::new(1.0, 2.0), Complex32::new(0.0, 1.0)], &[2])?;
        assert_eq!(a.mul(&a)?.to_vec::<Complex32>()?, [Complex32::new(-3.0, 4.0), Complex32::new(-1.0, 0.0)]);
        let a = Tensor::from_slice(&[Complex64::new(1.0, 2.0)], &[1, 1])?;
        let mut b = a.clone();
        b.sub_(&a.t()?)?;
        assert_eq!(b.to_vec::<Complex64>()?, [Complex64::new(0.0, 0.0)]);
        assert_eq!(a.add(&a)?.to_vec::<Complex64>()?, [Complex64::new(2.0, 4.0)]);
        Ok(())
    });
}

#[test]
fn scale_silu_swiglu() {
    on("host,workers=2", || {
        let mut rng = Rng::new(11);
        let silu = |x: f64| x / (1.0 + (-x).exp());
        for dtype in FLOATS {
            for shape in SHAPES {
                let x = rng.tensor(shape, dtype)?;
                let mut scaled = x.clone();
                scaled.scale_(-1.5)?;
                assert_eq!(read(&scaled)?, read(&x.scale(-1.5)?)?);
                let expected: Vec<_> = read(&x)?.iter().map(|x| (-1.5 * x, rounding(1.5 * x, dtype))).collect();
                assert_close(&read(&scaled)?, &expected, "scale");
                // exp to 2 units in the last place (4 roundings), then a sum and a quotient, and the result's rounding.
                let bound = |y: f64| 8.0 * rounding(y, DType::F32) + rounding(y, dtype);
                for x in views(&x.scale(20.0)?)? {
                    let expected: Vec<_> = read(&x)?.iter().map(|&x| (silu(x), 1.01 * bound(silu(x)))).collect();
                    assert_close(&read(&x.silu()?)?, &expected, "silu");
                }
            }
            for (rows, half) in [(1, 1), (3, 5), (5, 0), (0, 4), (40, 700), (2, 20_000)] {
                let x = rng.tensor(&[rows, 2 * half], dtype)?;
                let y = x.swiglu()?;
                assert_eq!(y.shape(), [rows, half]);
                let (gate, up) = (read(&x.narrow(1, 0, half)?)?, read(&x.narrow(1, half, half)?)?);
                let exact = gate.iter().zip(&up).map(|(&g, &u)| silu(g) * u);
                let bound = |y: f64| 10.0 * rounding(y, DType::F32) + 1.01 * rounding(y, dtype);
                assert_close(&read(&y)?, &exact.map(|y| (y, bound(y))).collect::<Vec<_>>(), "swiglu");
            }
        }
        let x = Tensor::from_slice(&[0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -200.0], &[5])?;
        let y = x.silu()?.to_vec::<f32>()?;
        assert_eq!(y[..2], [0.0, f32::INFINITY]);
        assert!(y[2].is_nan() && y[3].is_nan() && y[4] == -0.0, "{y:?}");
        Ok(())
    });
}

#[test]
fn a_write_never_shows_in_a_clone() {
    on("host,workers=2", || {
        let original = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
        let mut x = original.clone();
        let again = original.clone();
        x.add_(&original)?;
        x.scale_(10.0)?;
        assert_eq!(x.to_vec::<f32>()?, [20.0, 40.0, 60.0, 80.0]);
        let mut y = x.reshape(&[4])?;
        y.fill(0.5f32)?;
        let mut z = x.clone();
        z.copy_from_(&original.t()?)?;
        let mut zero = x.clone();
        zero.fill_zero()?;
        assert_eq!(z.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
        assert_eq!(y.to_vec::<f32>()?, [0.5; 4]);
        assert_eq!(zero.to_vec::<f32>()?, [0.0; 4]);
        assert_eq!(x.to_vec::<f32>()?, [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(original.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(again.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
        Ok(())
    });
}

#[test]
fn parts_are_written_in_place() {
    on("host,workers=2", || {
        let mut x = Tensor::zeros(&[4, 3], DType::F32)?;
        let one = Tensor::from_slice(&[1.0f32; 12], &[4, 3])?;
        x.slice_mut(1..3)?.add_(&one.slice(..2)?)?;
        let mut whole = x.view_mut()?;
        let mut column = whole.narrow_mut(1, 2, 1)?;
        column.add_(&one.narrow(1, 0, 1)?)?;
        column.scale_(2.0)?;
        let (mut head, mut tail) = x.split_at_mut(2)?;
        head.sub_(&one.slice(..2)?)?;
        tail.fill(7.0f32)?;
        head.slice_mut(0..1)?.fill_zero()?;
        let expected = [0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0];
        assert_eq!(x.to_vec::<f32>()?, expected);
        Ok(())
    });
}

#[test]
fn casts_between_all_types() {
    on("host,workers=2", || {
        let numbers = [0.0f32, 1.0, 100.0, 7.0];
        let types = [
            DType::F32,
            DType::F16,
            DType::BF16,
            DType::I32,
            DType::I64,
            DType::U8,
            DType::Complex64,
            DType::Complex128,
        ];
        let real = |x: &Tensor| x.cast(DType::F32)?.to_vec::<f32>();
        for from in types {
            let x = Tensor::from_slice(&numbers, &[2, 2])?.cast(from)?;
            for to in types {
                let y = x.t()?.cast(to);
                match (from, to) {
                    (DType::Complex64 | DType::Complex128, DType::Complex64 | DType::Complex128) => {
                        let y = y?.cast(DType::Complex128)?.to_vec::<Complex64>()?;
                        assert_eq!(y, [0.0, 100.0, 1.0, 7.0].map(|re| Complex64::new(re, 0.0)));
                    }
                    (DType::Complex64 | DType::Complex128, _) => assert!(matches!(y, Err(Error::DType { .. }))),
                    (_, DType::Complex64 | DType::Complex128) => assert_eq!(y?.dtype(), to),
                    _ => {
                        let y = y?;
                        assert_eq!((y.dtype(), real(&y)?), (to, vec![0.0, 100.0, 1.0, 7.0]), "{from} to {to}");
                    }
                }
            }
        }
        let mut rng = Rng::new(12);
        let x = rng.floats(5000);
        for dtype in [DType::F16, DType::BF16] {
            let got = read(&Tensor::from_slice(&x, &[5000])?.cast(dtype)?)?;
            assert_eq!(got, read(&tensor(&x, &[5000], dtype)?)?, "rounded as `half` does");
        }
        let x = Tensor::from_slice(&[f32::NAN, 1e20, -1e20, -2.7, 2.7], &[5])?;
        assert_eq!(x.cast(DType::I32)?.to_vec::<i32>()?, [0, i32::MAX, i32::MIN, -2, 2]);
        assert_eq!(x.cast(DType::U8)?.to_vec::<u8>()?, [0, 255, 0, 0, 2]);
        let x = Tensor::from_slice(&[(1i64 << 33) + 5, -1], &[2])?;
        assert_eq!(x.cast(DType::I32)?.to_vec::<i32>()?, [5, -1]);
        assert_eq!(x.cast(DType::U8)?.to_vec::<u8>()?, [5, 255]);
        Ok(())
    });
}
