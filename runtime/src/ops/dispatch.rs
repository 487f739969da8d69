//! From the element type that a tensor has at run time to the Rust type that a kernel is written for.

/// `$body` with `$T` as the Rust type of a floating point `$dtype`.
macro_rules! for_float {
    ($operator:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::DType::F32 => { type $T = f32; $body }
            $crate::DType::F16 => { type $T = $crate::f16; $body }
            $crate::DType::BF16 => { type $T = $crate::bf16; $body }
            found => Err($crate::Error::DType {
                operator: $operator,
                expected: "float32, float16 or bfloat16".to_owned(),
                found,
            }),
        }
    };
}

/// `$body` with `$T` as the Rust type of a `$dtype` that arithmetic is defined for.
macro_rules! for_number {
    ($operator:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::DType::F32 => { type $T = f32; $body }
            $crate::DType::F16 => { type $T = $crate::f16; $body }
            $crate::DType::BF16 => { type $T = $crate::bf16; $body }
            $crate::DType::I32 => { type $T = i32; $body }
            $crate::DType::I64 => { type $T = i64; $body }
            $crate::DType::Complex64 => { type $T = $crate::Complex32; $body }
            $crate::DType::Complex128 => { type $T = $crate::Complex64; $body }
            found @ $crate::DType::U8 => Err($crate::Error::DType {
                operator: $operator,
                expected: "a floating point, int32, int64 or complex type".to_owned(),
                found,
            }),
        }
    };
}

/// `$body` with `$T` as the Rust type of `$dtype`.
macro_rules! for_any {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::DType::F32 => { type $T = f32; $body }
            $crate::DType::F16 => { type $T = $crate::f16; $body }
            $crate::DType::BF16 => { type $T = $crate::bf16; $body }
            $crate::DType::I32 => { type $T = i32; $body }
            $crate::DType::I64 => { type $T = i64; $body }
            $crate::DType::U8 => { type $T = u8; $body }
            $crate::DType::Complex64 => { type $T = $crate::Complex32; $body }
            $crate::DType::Complex128 => { type $T = $crate::Complex64; $body }
        }
    };
}

pub(super) use {for_any, for_float, for_number};
