//! `matmul` of f32 square matrices on one and two workers, beside the `gemm` crate called directly on as many threads.

use benches::{Report, median};
use multicore::prelude::*;

const SIZES: [usize; 3] = [512, 1024, 2048];

/// Rows that are numbers of no particular pattern, small enough not to overflow.
fn matrix(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..n * n).map(|_| next()).collect()
}

/// Rows `rows` of the product of row-major matrices, on the calling thread.
#[rustfmt::skip]
fn product(n: usize, out: &mut [f32], a: &[f32], b: &[f32]) {
    let rows = out.len() / n;
    assert!(a.len() == rows * n && b.len() == n * n);
    let s = n as isize;
    // SAFETY: with these strides `gemm` touches exactly the three slices, whose lengths are checked above, and `out` is
    // borrowed mutably.
    unsafe {
        gemm::gemm(
            rows, n, n, out.as_mut_ptr(), 1, s, false, a.as_ptr(), 1, s, b.as_ptr(), 1, s, 0.0, 1.0,
            false, false, false, gemm::Parallelism::None,
        );
    }
}

/// The product by the crate itself: whole on one thread, or each half of the rows on a thread of its own.
fn direct(n: usize, threads: usize, out: &mut [f32], a: &[f32], b: &[f32]) {
    let rows = n.div_ceil(threads);
    std::thread::scope(|scope| {
        let mut parts = out.chunks_mut(rows * n).zip(a.chunks(rows * n));
        let first = parts.next();
        for (out, a) in parts {
            scope.spawn(move || product(n, out, a, b));
        }
        if let Some((out, a)) = first {
            product(n, out, a, b);
        }
    });
}

fn main() -> Result<()> {
    let mut report = Report::from_args();
    for workers in [1, 2] {
        let device = Device::open(&format!("host,workers={workers}"))?;
        let main = device.default_stream();
        let _on = main.enter();
        for n in SIZES {
            let (a, b) = (matrix(n, 1), matrix(n, 2));
            let (x, w) = (Tensor::from_slice(&a, &[n, n])?, Tensor::from_slice(&b, &[n, n])?);
            let mut expected = vec![0.0; n * n];
            let (mut ours, mut crates) = (Vec::new(), Vec::new());
            // By turns, so that whatever else the machine does meets both.
            for _ in 0..((1 << 34) / (n * n * n)).max(5) {
                let start = std::time::Instant::now();
                let y = x.matmul(&w)?;
                device.synchronize()?;
                ours.push(start.elapsed().as_secs_f64());
                drop(y);
                crates.push(benches::seconds(|| direct(n, workers, &mut expected, &a, &b)));
            }
            let rate = |times| 2.0 * (n as f64).powi(3) / median(times) * 1e-9;
            let (ours, crates) = (rate(ours), rate(crates));
            let ratio = ours / crates;
            report.figure(
                &format!("matmul_{n}_workers{workers}_gflops"),
                ours,
                format_args!("{n:5} workers {workers}  multicore {ours:6.1} GFLOP/s"),
            );
            report.figure(
                &format!("gemm_{n}_threads{workers}_gflops"),
                crates,
                format_args!("{n:5} threads {workers}  gemm      {crates:6.1} GFLOP/s"),
            );
            report.figure(
                &format!("matmul_{n}_workers{workers}_ratio"),
                ratio,
                format_args!("{n:5} workers {workers}  ratio     {ratio:6.2}"),
            );
        }
    }
    report.finish();
    Ok(())
}
