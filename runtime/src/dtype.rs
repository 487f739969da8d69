//! Element types: which numbers a tensor can hold, and the Rust type of each.

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DType {
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 half precision.
    F16,
    /// Brain floating point: the upper half of an `f32`.
    BF16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned byte.
    U8,
    /// Two `f32`: real and imaginary part.
    Complex64,
    /// Two `f64`: real and imaginary part.
    Complex128,
}

impl DType {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::U8 => 1,
            DType::F16 | DType::BF16 => 2,
            DType::F32 | DType::I32 => 4,
            DType::I64 | DType::Complex64 => 8,
            DType::Complex128 => 16,
        }
    }

    /// The name in the field's spelling (`float32`, `bfloat16`, ..).
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "float32",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::U8 => "uint8",
            DType::Complex64 => "complex64",
            DType::Complex128 => "complex128",
        }
    }

    /// The name that Ascend profiles use (`FLOAT`, `DT_BF16`, ..).
    pub const fn profile_name(self) -> &'static str {
        match self {
            DType::F32 => "FLOAT",
            DType::F16 => "FLOAT16",
            DType::BF16 => "DT_BF16",
            DType::I32 => "INT32",
            DType::I64 => "INT64",
            DType::U8 => "UINT8",
            DType::Complex64 => "COMPLEX64",
            DType::Complex128 => "COMPLEX128",
        }
    }

    /// True for `f32`, `f16` and `bf16`.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that can be an element of a tensor. Sealed: every bit pattern of an element is a valid value, which is
/// what makes it safe to hand out slices of device memory.
pub trait Element: Copy + Default + Send + Sync + PartialEq + std::fmt::Debug + sealed::Sealed + 'static {
    /// The element type's tag.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($rust:ty => $tag:ident),*) => {$(
        impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const DTYPE: DType = DType::$tag;
        }
    )*};
}

elements!(
    f32 => F32, f16 => F16, bf16 => BF16, i32 => I32, i64 => I64, u8 => U8,
    Complex32 => Complex64, Complex64 => Complex128
);
