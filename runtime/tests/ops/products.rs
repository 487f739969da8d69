//! matmul, batch_matmul and grouped_matmul.

use multicore::prelude::*;

use crate::support::{FLOATS, Rng, assert_close, on, read, rounding, tensor};

/// A sum of `k` products of numbers that `dtype` holds, taken in `f32` in any order with or without fused multiply-adds:
/// the error is at most `k + 1` roundings of the sum of magnitudes (Higham, 3.1), then one to the result's type.
fn dot(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>, dtype: DType) -> (f64, f64) {
    let (mut sum, mut magnitude, mut k) = (0.0, 0.0, 0);
    for (a, b) in a.zip(b) {
        sum += a * b;
        magnitude += (a * b).abs();
        k += 1;
    }
    let bound = f64::from(k + 1) * 2f64.powi(-24) * magnitude;
    (sum, bound + rounding(sum.abs() + bound, dtype))
}

/// `a` (`[m, k]`) times `b` (`[k, n]`), row-major.
fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3], dtype: DType) -> Vec<(f64, f64)> {
    let element = |i: usize, j: usize| dot((0..k).map(|l| a[i * k + l]), (0..k).map(|l| b[l * n + j]), dtype);
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

#[test]
fn matmul_of_any_shape_and_type() {
    on("host,workers=2", || {
        let mut rng = Rng::new(1);
        let mut shapes = vec![
            [1, 1, 1],
            [1, 7, 1],
            [7, 1, 5],
            [1, 33, 65],
            [65, 33, 1],
            [17, 16, 15],
            [2, 2, 2],
            [31, 64, 33],
            [0, 3, 4],
            [3, 0, 4],
            [3, 4, 0],
            [0, 0, 0],
            // More than one panel of rows, of columns, and more terms than are widened at a time.
            [300, 5, 7],
            [3, 4, 1100],
            [5, 1100, 6],
            [258, 513, 30],
        ];
        shapes.extend((0..20).map(|_| [1 + rng.below(70), 1 + rng.below(70), 1 + rng.below(70)]));
        for dtype in FLOATS {
            for &[m, k, n] in &shapes {
                let (a, b) = (rng.tensor(&[m, k], dtype)?, rng.tensor(&[k, n], dtype)?);
                let c = a.matmul(&b)?;
                assert_eq!((c.shape(), c.dtype()), (&[m, n][..], dtype));
                let expected = product(&read(&a)?, &read(&b)?, [m, k, n], dtype);
                assert_close(&read(&c)?, &expected, &format!("{dtype} {m}x{k}x{n}"));
            }
        }
        Ok(())
    });
}

#[test]
fn matmul_of_transposed_and_strided_views() {
    on("host,workers=2", || {
        let mut rng = Rng::new(2);
        for dtype in FLOATS {
            for [m, k, n] in [[5, 9, 7], [64, 64, 64], [270, 17, 33], [33, 600, 20]] {
                let (a, b) = (rng.tensor(&[k, m], dtype)?, rng.tensor(&[n, k], dtype)?);
                let expected = product(&read(&a.t()?)?, &read(&b.t()?)?, [m, k, n], dtype);
                assert_close(&read(&a.t()?.matmul(&b.t()?)?)?, &expected, "both transposed");
                let (wide, tall) = (rng.tensor(&[m + 2, k + 5], dtype)?, rng.tensor(&[k + 3, n + 4], dtype)?);
                let (a, b) = (wide.slice(1..m + 1)?.narrow(1, 3, k)?, tall.slice(2..k + 2)?.narrow(1, 1, n)?);
                let expected = product(&read(&a)?, &read(&b)?, [m, k, n], dtype);
                assert_close(&read(&a.matmul(&b)?)?, &expected, "parts of larger matrices");
                // No two elements of a row or column are neighbours.
                let deep = rng.tensor(&[m, k, 3], dtype)?;
                let a = deep.narrow(2, 1, 1)?.transpose(1, 2)?.transpose(0, 1)?.slice(..)?;
                let a = a.transpose(0, 1)?.narrow(1, 0, 1)?;
                let flat = a.contiguous()?.reshape(&[m, k])?;
                let expected = product(&read(&flat)?, &read(&b)?, [m, k, n], dtype);
                let stacked = a.transpose(0, 1)?.batch_matmul(&b.contiguous()?.reshape(&[1, k, n])?)?;
                assert_close(&read(&stacked)?, &expected, "far apart");
            }
        }
        Ok(())
    });
}

#[test]
fn matmul_takes_what_floating_point_gives() {
    on("host,workers=2", || {
        for dtype in FLOATS {
            let a = tensor(&[f32::INFINITY, 1.0, f32::NAN, 1.0], &[2, 2], dtype)?;
            let b = tensor(&[1.0, 0.0, 2.0, 3.0], &[2, 2], dtype)?;
            let c = read(&a.matmul(&b)?)?;
            assert_eq!(c[0], f64::INFINITY);
            assert!(c[1..].iter().all(|x| x.is_nan()), "infinity times 0 and NaN: {c:?}");
        }
        // A sum that half precision could not hold on the way.
        let a = Tensor::from_slice(&[f16::from_f32(60000.0); 3], &[1, 3])?;
        let b = Tensor::from_slice(&[1.0, 1.0, -1.5].map(f16::from_f32), &[3, 1])?;
        assert_eq!(read(&a.matmul(&b)?)?, [30000.0]);
        Ok(())
    });
}

#[test]
fn batches() {
    on("host,workers=2", || {
        let mut rng = Rng::new(3);
        for dtype in FLOATS {
            for [batch, m, k, n] in [
                [1, 1, 1, 1],
                [3, 5, 7, 4],
                [7, 100, 9, 3],
                [2, 300, 4, 5],
                [0, 3, 3, 3],
                [3, 0, 3, 3],
                [3, 3, 0, 3],
                [2, 3, 3, 0],
            ] {
                let (a, b) = (rng.tensor(&[batch, m, k], dtype)?, rng.tensor(&[batch, n, k], dtype)?);
                let b = b.t()?;
                let c = a.batch_matmul(&b)?;
                assert_eq!(c.shape(), [batch, m, n]);
                let (a, b) = (read(&a)?, read(&b)?);
                let expected: Vec<_> = (0..batch)
                    .flat_map(|i| product(&a[i * m * k..][..m * k], &b[i * k * n..][..k * n], [m, k, n], dtype))
                    .collect();
                assert_close(&read(&c)?, &expected, &format!("{dtype} {batch}x{m}x{k}x{n}"));
            }
        }
        Ok(())
    });
}

#[test]
fn groups_of_rows() {
    on("host,workers=2", || {
        let mut rng = Rng::new(4);
        // Rows of each group, rows before the first and after the last one.
        let cases: [(&[usize], usize, usize); 7] = [
            (&[3], 0, 0),
            (&[0, 4, 0, 0, 5], 0, 0),
            (&[300, 1, 0, 290], 0, 0),
            (&[2, 2], 1, 3),
            (&[0, 0], 0, 0),
            (&[0, 0], 0, 600),
            (&[], 0, 4),
        ];
        for dtype in FLOATS {
            for (groups, before, after) in cases {
                let (k, n) = (11, 9);
                let mut offsets = vec![before];
                for rows in groups {
                    offsets.push(offsets[offsets.len() - 1] + rows);
                }
                let m = offsets[groups.len()] + after;
                let (x, w) = (rng.tensor(&[m, k], dtype)?, rng.tensor(&[groups.len(), k, n], dtype)?);
                let mut expected = vec![(0.0, 0.0); m * n];
                for e in 0..groups.len() {
                    let (rows, x) = (offsets[e]..offsets[e + 1], read(&x.slice(offsets[e]..offsets[e + 1])?)?);
                    let part = product(&x, &read(&w.slice(e..e + 1)?)?, [rows.len(), k, n], dtype);
                    expected[rows.start * n..rows.end * n].copy_from_slice(&part);
                }
                let narrow: Vec<i32> = offsets.iter().map(|&o| o as i32).collect();
                let wide: Vec<i64> = offsets.iter().map(|&o| o as i64).collect();
                for offsets in
                    [Tensor::from_slice(&narrow, &[narrow.len()])?, Tensor::from_slice(&wide, &[wide.len()])?]
                {
                    let y = x.grouped_matmul(&w, &offsets)?;
                    assert_eq!(y.shape(), [m, n]);
                    assert_close(&read(&y)?, &expected, &format!("{dtype} {groups:?}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn offsets_that_are_wrong_make_the_operator_fail() {
    let device = Device::open("host,workers=2").unwrap();
    let _on = device.default_stream().enter();
    for offsets in [[0, 2, 1], [0, 1, 4], [-1, 1, 3]] {
        let x = Tensor::zeros(&[3, 2], DType::F32).unwrap();
        let w = Tensor::zeros(&[2, 2, 2], DType::F32).unwrap();
        let y = x.grouped_matmul(&w, &Tensor::from_slice(&offsets, &[3]).unwrap()).unwrap();
        let message = y.to_vec::<f32>().unwrap_err().to_string();
        assert!(message.contains("`GroupedMatmul` failed") && message.contains("products.rs"), "{message}");
        assert!(message.contains("expected offsets that ascend from 0 to at most 3 rows"), "{message}");
    }
}
