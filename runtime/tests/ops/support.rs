//! Numbers for the tests of operators: drawn from a fixed seed, put in tensors of any type, and read back as `f64`.

use multicore::Element;
use multicore::prelude::*;

/// The floating point types.
pub(crate) const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Runs `test` on a device of its own, and asserts that the runtime had nothing to order that was not.
pub(crate) fn on<R>(spec: &str, test: impl FnOnce() -> Result<R>) -> R {
    let device = Device::open(spec).expect("the device opens");
    let stream = device.default_stream();
    let entered = stream.enter();
    let result = test().expect("the test's operators run");
    drop(entered);
    device.synchronize().expect("no operator failed");
    assert_eq!(device.stats().hazards, 0);
    result
}

/// Pseudo-random numbers (splitmix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// From -2 to 2.
    pub(crate) fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 22) as f32 - 2.0
    }

    pub(crate) fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }

    /// A tensor of floats of any type.
    pub(crate) fn tensor(&mut self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        tensor(&self.floats(shape.iter().product()), shape, dtype)
    }
}

/// `data` rounded to `dtype`.
pub(crate) fn tensor(data: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor> {
    match dtype {
        DType::F32 => Tensor::from_slice(data, shape),
        DType::F16 => Tensor::from_slice(&data.iter().map(|&x| f16::from_f32(x)).collect::<Vec<_>>(), shape),
        DType::BF16 => Tensor::from_slice(&data.iter().map(|&x| bf16::from_f32(x)).collect::<Vec<_>>(), shape),
        other => panic!("{other} is no floating point type"),
    }
}

/// The elements of a floating point operand.
pub(crate) fn read(x: &(impl Operand + ?Sized)) -> Result<Vec<f64>> {
    let x = x.view();
    Ok(match x.dtype() {
        DType::F32 => x.to_vec::<f32>()?.into_iter().map(f64::from).collect(),
        DType::F16 => x.to_vec::<f16>()?.into_iter().map(f64::from).collect(),
        DType::BF16 => x.to_vec::<bf16>()?.into_iter().map(f64::from).collect(),
        other => panic!("{other} is no floating point type"),
    })
}

/// The elements as bits, whatever their type.
pub(crate) fn bits(x: &Tensor) -> Result<Vec<u64>> {
    fn all<T: Element>(x: &Tensor, f: impl Fn(T) -> u64) -> Result<Vec<u64>> {
        Ok(x.to_vec::<T>()?.into_iter().map(f).collect())
    }
    match x.dtype() {
        DType::F32 => all(x, |x: f32| x.to_bits().into()),
        DType::F16 => all(x, |x: f16| x.to_bits().into()),
        DType::BF16 => all(x, |x: bf16| x.to_bits().into()),
        DType::I32 => all(x, |x: i32| x as u64),
        DType::I64 => all(x, |x: i64| x as u64),
        DType::U8 => all(x, |x: u8| x.into()),
        other => panic!("the bits of {other} are not compared"),
    }
}

/// The unit roundoff: the largest relative error of rounding to `dtype`.
pub(crate) fn roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 2f64.powi(-24),
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        other => panic!("{other} is not rounded"),
    }
}

/// The error of rounding something near `x` to `dtype`; below the smallest normal number it is absolute.
pub(crate) fn rounding(x: f64, dtype: DType) -> f64 {
    let smallest = if dtype == DType::F16 { 2f64.powi(-25) } else { 2f64.powi(-149) };
    (roundoff(dtype) * x.abs()).max(smallest)
}

/// Each of `got` is within its bound of what was expected: `(value, bound)`.
pub(crate) fn assert_close(got: &[f64], expected: &[(f64, f64)], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}: as many elements");
    for (i, (&got, &(value, bound))) in got.iter().zip(expected).enumerate() {
        assert!((got - value).abs() <= bound, "{what}: element {i} is {got}, expected {value} within {bound:e}");
    }
}

/// The message of what must fail.
pub(crate) fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.expect_err("this must be refused").to_string()
}
