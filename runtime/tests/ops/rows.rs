//! What works along an axis: softmax, rms_norm, sum and top_k.

use multicore::prelude::*;

use crate::support::{FLOATS, Rng, assert_close, on, read, rounding, tensor};

const SHAPES: [&[usize]; 9] = [&[1], &[5], &[1, 1], &[3, 0], &[0, 3], &[7, 13], &[2, 3, 65], &[3, 1100], &[2, 9001]];

#[test]
fn softmax_against_the_formula() {
    on("host,workers=2", || {
        let mut rng = Rng::new(20);
        for dtype in FLOATS {
            for shape in SHAPES {
                let x = rng.tensor(shape, dtype)?.scale(5.0)?;
                for x in if shape.len() > 1 { vec![x.view(), x.t()?] } else { vec![x.view()] } {
                    let y = x.softmax()?;
                    assert_eq!((y.shape(), y.dtype()), (x.shape(), dtype));
                    let n = x.shape()[x.shape().len() - 1];
                    let mut expected = Vec::new();
                    for row in read(&x)?.chunks(n.max(1)) {
                        let max = row.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x));
                        let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
                        expected.extend(row.iter().map(|x| {
                            let y = (x - max).exp() / sum;
                            // x - max is rounded (up to 20 units of roundoff in the power), each power is good to 4
                            // roundings, a sum in 16 lanes and chunks of 512 to at most 36 + n / 512, and a quotient.
                            let bound = (2.0 * 20.0 + 8.0 + 36.0 + n as f64 / 512.0 + 1.0) * rounding(y, DType::F32);
                            (y, bound + rounding(y, dtype))
                        }));
                    }
                    assert_close(&read(&y)?, &expected, &format!("{dtype} {shape:?}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn softmax_of_infinities_and_nan_is_what_is_documented() {
    on("host,workers=2", || {
        const INF: f32 = f32::INFINITY;
        for dtype in FLOATS {
            let rows = [
                [1.0, -INF, 1.0],
                [INF, 0.0, 0.0],
                [-INF, -INF, -INF],
                [0.0, f32::NAN, 0.0],
                [300.0, 0.0, 0.0],
                [-300.0, -INF, -300.0],
            ];
            let y = read(&tensor(rows.as_flattened(), &[6, 3], dtype)?.softmax()?)?;
            assert_eq!(y[..3], [0.5, 0.0, 0.5]);
            assert!(y[3..12].iter().all(|y| y.is_nan()), "{y:?}");
            assert_eq!(y[12..], [1.0, 0.0, 0.0, 0.5, 0.0, 0.5], "far from zero on either side");
        }
        Ok(())
    });
}

#[test]
fn rms_norm_against_the_formula() {
    on("host,workers=2", || {
        let mut rng = Rng::new(21);
        for dtype in FLOATS {
            for shape in SHAPES {
                let n = shape[shape.len() - 1];
                let (x, wide) = (rng.tensor(shape, dtype)?, rng.tensor(&[n, 2], dtype)?);
                let weight = wide.narrow(1, 0, 1)?.contiguous()?.reshape(&[n])?;
                let w = read(&weight)?;
                let y = x.rms_norm(&weight, 0.25)?;
                assert_eq!((y.shape(), y.dtype()), (shape, dtype));
                let mut expected = Vec::new();
                for row in read(&x)?.chunks(n.max(1)) {
                    let mean = row.iter().map(|x| x * x).sum::<f64>() / n as f64;
                    expected.extend(row.iter().zip(&w).map(|(x, w)| {
                        let y = x / (mean + 0.25).sqrt() * w;
                        // The sum as in softmax, halved by the root; five more operations.
                        let bound = (20.0 + n as f64 / 1024.0 + 5.0) * rounding(y, DType::F32);
                        (y, bound + 1.01 * rounding(y, dtype))
                    }));
                }
                assert_close(&read(&y)?, &expected, &format!("{dtype} {shape:?}"));
            }
        }
        // Rows of a turned matrix.
        let x = rng.tensor(&[6, 4], DType::F32)?;
        let one = Tensor::from_slice(&[1.0f32; 6], &[6])?;
        let expected = x.t()?.contiguous()?.rms_norm(&one, 0.5)?;
        assert_eq!(read(&x.t()?.rms_norm(&one, 0.5)?)?, read(&expected)?);
        Ok(())
    });
}

#[test]
fn sums_along_each_axis_and_of_everything() {
    on("host,workers=2", || {
        let mut rng = Rng::new(22);
        let shapes: [&[usize]; 8] = [&[1], &[0], &[100_003], &[3, 0], &[0, 3], &[5, 7, 9], &[600, 70], &[2, 3, 2000]];
        for dtype in FLOATS {
            for shape in shapes {
                let x = rng.tensor(shape, dtype)?;
                for x in if shape.len() > 1 { vec![x.view(), x.t()?] } else { vec![x.view()] } {
                    // A sum of n numbers in any order is good to n roundings of the sum of magnitudes.
                    let bounded = |terms: &mut dyn Iterator<Item = f64>| {
                        let (mut sum, mut magnitude, mut n) = (0.0f64, 0.0, 0.0);
                        terms.for_each(|x| (sum, magnitude, n) = (sum + x, magnitude + x.abs(), n + 1.0));
                        let bound = n * 2f64.powi(-24) * magnitude;
                        (sum, bound + rounding(sum.abs() + bound, dtype))
                    };
                    let elements = read(&x)?;
                    for axis in 0..shape.len() {
                        let outer: usize = x.shape()[..axis].iter().product();
                        let (n, inner) = (x.shape()[axis], x.shape()[axis + 1..].iter().product::<usize>());
                        let y = x.sum(axis)?;
                        assert_eq!(y.shape(), [&x.shape()[..axis], &x.shape()[axis + 1..]].concat());
                        let term = |o: usize, i: usize, j: usize| elements[(o * n + j) * inner + i];
                        let expected: Vec<_> = (0..outer * inner)
                            .map(|at| bounded(&mut (0..n).map(|j| term(at / inner, at % inner, j))))
                            .collect();
                        assert_close(&read(&y)?, &expected, &format!("{dtype} {shape:?} axis {axis}"));
                    }
                    let y = x.sum_all()?;
                    assert_eq!(y.shape(), [] as [usize; 0]);
                    assert_close(&read(&y)?, &[bounded(&mut elements.iter().copied())], &format!("{dtype} {shape:?}"));
                }
            }
        }
        let scalar = Tensor::from_slice(&[3.0f32], &[])?;
        assert_eq!(scalar.sum_all()?.to_vec::<f32>()?, [3.0]);
        Ok(())
    });
}

#[test]
fn top_k_against_sorting() {
    on("host,workers=2", || {
        let mut rng = Rng::new(23);
        for dtype in FLOATS {
            for (shape, k) in
                [(&[1][..], 1), (&[9], 0), (&[9], 9), (&[0, 4], 2), (&[40, 300], 8), (&[2, 3, 50], 7), (&[3, 9000], 1)]
            {
                // Few different values, so that there are ties in every row.
                let data: Vec<f32> = (0..shape.iter().product()).map(|_| rng.below(20) as f32 - 10.0).collect();
                let x = tensor(&data, shape, dtype)?;
                let (values, places) = x.top_k(k)?;
                let n = shape[shape.len() - 1];
                let (mut expected_values, mut expected_places) = (Vec::new(), Vec::new());
                for row in data.chunks(n) {
                    let mut order: Vec<usize> = (0..n).collect();
                    // Stable: of equal ones the lower place stays first.
                    order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
                    expected_places.extend(order[..k].iter().map(|&p| p as i32));
                    expected_values.extend(order[..k].iter().map(|&p| f64::from(row[p])));
                }
                assert_eq!(values.shape(), [&shape[..shape.len() - 1], &[k]].concat());
                assert_eq!(read(&values)?, expected_values, "{dtype} {shape:?} {k}");
                assert_eq!(places.to_vec::<i32>()?, expected_places, "{dtype} {shape:?} {k}");
            }
        }
        let x = Tensor::from_slice(&[0.0, -0.0, f32::NAN, f32::INFINITY, 0.0, f32::NAN], &[6])?;
        assert_eq!(x.top_k(6)?.1.to_vec::<i32>()?, [2, 5, 3, 0, 1, 4], "NaN first, zeros equal");
        let turned = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
        assert_eq!(turned.t()?.top_k(1)?.0.to_vec::<f32>()?, [3.0, 4.0]);
        Ok(())
    });
}
