//! From the element type that a tensor has at run time to the Rust type that a kernel is written for.

/// `$body` with `$T` as the Rust type of `$dtype`, for the types listed.
macro_rules! by_type {
    ($dtype:expr, $T:ident => $body:expr; $($tag:ident = $rust:ty),*; $($other:pat => $error:expr)?) => {
        match $dtype {
            $($crate::DType::$tag => {
                type $T = $rust;
                $body
            })*
            $($other => $error,)?
        }
    };
}

/// `$body` with `$T` as the Rust type of a floating point `$dtype`; an error for others.
macro_rules! for_float {
    ($operator:expr, $dtype:expr, $T:ident => $body:expr) => {
        $crate::ops::dispatch::by_type!(
            $dtype, $T => $body;
            F32 = f32, F16 = $crate::f16, BF16 = $crate::bf16;
            found => $crate::ops::check::unfit($operator, "float32, float16 or bfloat16", found)
        )
    };
}

/// `$body` with `$T` as the Rust type of a `$dtype` that arithmetic is defined for; an error for others.
macro_rules! for_number {
    ($operator:expr, $dtype:expr, $T:ident => $body:expr) => {
        $crate::ops::dispatch::by_type!(
            $dtype, $T => $body;
            F32 = f32, F16 = $crate::f16, BF16 = $crate::bf16, I32 = i32, I64 = i64,
            Complex64 = $crate::Complex32, Complex128 = $crate::Complex64;
            found => $crate::ops::check::unfit($operator, "a floating point, int32, int64 or complex type", found)
        )
    };
}

/// `$body` with `$T` as the Rust type of `$dtype`.
macro_rules! for_any {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::ops::dispatch::by_type!(
            $dtype, $T => $body;
            F32 = f32, F16 = $crate::f16, BF16 = $crate::bf16, I32 = i32, I64 = i64, U8 = u8,
            Complex64 = $crate::Complex32, Complex128 = $crate::Complex64;
        )
    };
}

pub(super) use {by_type, for_any, for_float, for_number};
