//! What only moves elements: copy, transpose, concat and fill.

use multicore::prelude::*;
use multicore::{Complex32, Complex64, Element};

use crate::support::{Rng, on};

/// For each type a test with elements made of small numbers.
trait Small: Element {
    fn small(n: usize) -> Self;
}

macro_rules! small {
    ($($T:ty: $f:expr;)*) => {$(
        impl Small for $T {
            fn small(n: usize) -> $T {
                $f(n)
            }
        }
    )*};
}

small! {
    f32: |n| n as f32;
    f16: |n| f16::from_bits((n % 30_000) as u16);
    bf16: |n| bf16::from_bits((n % 30_000) as u16);
    i32: |n| n as i32;
    i64: |n| n as i64;
    u8: |n| (n % 251) as u8;
    Complex32: |n| Complex32::new(n as f32, -(n as f32));
    Complex64: |n| Complex64::new(n as f64, -(n as f64));
}

fn numbered<T: Small>(shape: &[usize]) -> Result<Tensor> {
    let data: Vec<T> = (0..shape.iter().product()).map(T::small).collect();
    Tensor::from_slice(&data, shape)
}

fn copies<T: Small>() -> Result<()> {
    let shapes: [&[usize]; 9] =
        [&[], &[1], &[0, 2], &[5, 7], &[3, 4, 5], &[2, 3, 4, 5], &[100, 300], &[1, 20_000], &[3, 1, 200]];
    for shape in shapes {
        let x = numbered::<T>(shape)?;
        let mut views = vec![x.view()];
        for (a, &size) in shape.iter().enumerate() {
            for b in 0..a {
                views.push(x.transpose(a, b)?);
                views.push(x.transpose(a, b)?.narrow(b, size / 3, size / 2)?);
                // `transpose` moves what the view of the same name shows.
                let turned = multicore::ops::transpose(&x, a, b)?;
                assert_eq!(
                    (turned.shape(), turned.to_vec::<T>()?),
                    (x.transpose(a, b)?.shape(), x.transpose(a, b)?.to_vec()?)
                );
            }
            views.push(x.narrow(a, size / 3, size / 2)?);
        }
        for view in views {
            let y = view.contiguous()?;
            assert_eq!((y.shape(), y.dtype()), (view.shape(), view.dtype()));
            assert_eq!(y.to_vec::<T>()?, view.to_vec::<T>()?, "{shape:?} {:?}", view.strides());
            let mut z = Tensor::zeros(view.shape(), view.dtype())?;
            z.copy_from_(&view)?;
            assert_eq!(z.to_vec::<T>()?, view.to_vec::<T>()?);
        }
    }
    Ok(())
}

fn concatenations<T: Small>() -> Result<()> {
    let x = numbered::<T>(&[4, 6, 5])?;
    for axis in 0..3 {
        let n = x.shape()[axis];
        // The parts of a whole, one of them empty, make the whole again.
        let cuts = [0, 1, 1, n - 1, n];
        let parts: Vec<View<'_>> =
            cuts.windows(2).map(|cut| x.narrow(axis, cut[0], cut[1] - cut[0])).collect::<Result<_>>()?;
        let y = multicore::ops::concat(&parts, axis)?;
        assert_eq!((y.shape(), y.to_vec::<T>()?), (x.shape(), x.to_vec()?), "axis {axis}");
        // Turned parts: as their copies.
        let turned: Vec<View<'_>> = parts.iter().map(|part| part.transpose(0, 2)).collect::<Result<_>>()?;
        let copies: Vec<Tensor> = turned.iter().map(|part| part.contiguous()).collect::<Result<_>>()?;
        let (a, b) = (multicore::ops::concat(&turned, 2 - axis)?, multicore::ops::concat(&copies, 2 - axis)?);
        assert_eq!(a.to_vec::<T>()?, b.to_vec::<T>()?);
    }
    let one = multicore::ops::concat(&[&x], 1)?;
    assert_eq!(one.to_vec::<T>()?, x.to_vec::<T>()?);
    Ok(())
}

fn fills<T: Small>() -> Result<()> {
    for shape in [&[][..], &[0], &[3, 5], &[7, 9000]] {
        let mut x = Tensor::empty(shape, T::DTYPE)?;
        x.fill(T::small(7))?;
        assert!(x.to_vec::<T>()?.into_iter().all(|x| x == T::small(7)));
        x.fill_zero()?;
        assert!(x.to_vec::<T>()?.into_iter().all(|x| x == T::default()));
        assert!(Tensor::zeros(shape, T::DTYPE)?.to_vec::<T>()?.into_iter().all(|x| x == T::default()));
    }
    Ok(())
}

macro_rules! for_all_types {
    ($($test:ident: $f:ident;)*) => {$(
        #[test]
        fn $test() {
            on("host,workers=2", || {
                $f::<f32>()?;
                $f::<f16>()?;
                $f::<bf16>()?;
                $f::<i32>()?;
                $f::<i64>()?;
                $f::<u8>()?;
                $f::<Complex32>()?;
                $f::<Complex64>()
            });
        }
    )*};
}

for_all_types! {
    copies_of_views_of_any_strides: copies;
    concatenation_undoes_cutting: concatenations;
    filling: fills;
}

#[test]
fn many_rows_of_many_parts() {
    on("host,workers=2", || {
        let mut rng = Rng::new(30);
        let mut parts = Vec::new();
        for _ in 0..9 {
            let n = rng.below(400);
            parts.push(rng.tensor(&[300, n], DType::F32)?);
        }
        let y = multicore::ops::concat(&parts, 1)?;
        let parts: Vec<Vec<f32>> = parts.iter().map(Tensor::to_vec).collect::<Result<_>>()?;
        let expected: Vec<f32> = (0..300)
            .flat_map(|row| {
                parts.iter().flat_map(move |part| part[row * part.len() / 300..][..part.len() / 300].to_vec())
            })
            .collect();
        assert_eq!(y.to_vec::<f32>()?, expected);
        Ok(())
    });
}

#[test]
fn parts_that_are_longer_than_a_tile() {
    on("host,workers=2", || {
        let mut rng = Rng::new(31);
        let (a, b) = (rng.floats(30_001), rng.floats(20_003));
        let parts = [Tensor::from_slice(&a, &[30_001])?, Tensor::from_slice(&b, &[20_003])?];
        assert_eq!(multicore::ops::concat(&parts, 0)?.to_vec::<f32>()?, [a, b].concat());
        Ok(())
    });
}
