//! What cannot be computed is refused at the call, with a text that names what was given and what would fit.

use multicore::ops::{self, GateConfig};
use multicore::prelude::*;

use crate::support::{message, on};

fn zeros(shape: &[usize], dtype: DType) -> Tensor {
    Tensor::zeros(shape, dtype).expect("there is memory")
}

#[test]
fn shapes() {
    on("host,workers=1", || {
        let f = |shape: &[usize]| zeros(shape, DType::F32);
        let i = |shape: &[usize]| zeros(shape, DType::I32);
        let (a, b) = (f(&[3, 4]), f(&[5, 6]));
        let config = GateConfig { experts: 4, groups: 2, topk_groups: 1, top_k: 2, route_scale: 1.0 };
        let routing = i(&[2, 2]).moe_route(3)?;
        let mut out = f(&[2]);
        let cases = [
            (
                message(a.matmul(&b)),
                "MatMul: [3, 4] times [5, 6]: the left operand has 4 columns and the right one 5 rows, expected as many",
            ),
            (message(a.matmul(&f(&[4]))), "MatMul: the right operand has shape [4], expected [K, N]"),
            (message(f(&[2, 3, 4]).matmul(&b)), "MatMul: the left operand has shape [2, 3, 4], expected [M, K]"),
            (message(a.batch_matmul(&b)), "BatchMatMul: the left operand has shape [3, 4], expected [B, M, K]"),
            (
                message(f(&[2, 3, 4]).batch_matmul(&f(&[3, 4, 5]))),
                "BatchMatMul: [2, 3, 4] times [3, 4, 5]: the first dimensions differ, expected stacks of one length",
            ),
            (
                message(f(&[2, 3, 4]).batch_matmul(&f(&[2, 3, 5]))),
                "BatchMatMul: [2, 3, 4] times [2, 3, 5]: the left operand has 4 columns and the right one 3 rows, expected as many",
            ),
            (
                message(a.grouped_matmul(&f(&[2, 4, 5]), &i(&[2]))),
                "GroupedMatmul: offsets of shape [2] for weights of shape [2, 4, 5], expected [3]: the first row of each group, then the end",
            ),
            (message(a.add(&b)), "Add: shapes [3, 4] and [5, 6] differ, expected operands of one shape"),
            (message(out.mul_(&a)), "Mul: shapes [2] and [3, 4] differ, expected operands of one shape"),
            (message(out.copy_from_(&a)), "Copy: shapes [2] and [3, 4] differ, expected operands of one shape"),
            (
                message(f(&[2, 5]).swiglu()),
                "SwiGlu: shape [2, 5]: the last dimension is odd, expected a gate and as many values [.., 2 I]",
            ),
            (message(f(&[]).softmax()), "Softmax: the operand is a scalar (shape []), expected at least one dimension"),
            (
                message(a.rms_norm(&f(&[3]), 0.1)),
                "RmsNorm: a weight of shape [3] for rows of shape [3, 4], expected [4]",
            ),
            (message(a.sum(2)), "ReduceSum: no axis 2 in shape [3, 4]"),
            (message(a.top_k(5)), "TopK: 5 of the last dimension of shape [3, 4]: expected at most 4"),
            (
                message(ops::concat(&[&a, &b], 0)),
                "Concat: shapes [3, 4] and [5, 6] differ in other dimensions than axis 0, expected parts that agree there",
            ),
            (message(ops::concat(&[&a], 2)), "Concat: no axis 2 in shape [3, 4]"),
            (message(ops::concat(&[] as &[Tensor], 0)), "Concat: no parts given, expected at least one"),
            (message(a.transposed(0, 2)), "transpose: no dimensions 0 and 2 in shape [3, 4]"),
            (message(f(&[2, 5]).moe_gate(None, &config)), "MoeGatingTopK: logits of shape [2, 5], expected [T, 4]"),
            (
                message(f(&[2, 4]).moe_gate(Some(&f(&[3])), &config)),
                "MoeGatingTopK: a bias of shape [3] for logits of shape [2, 4], expected [4]",
            ),
            (
                message(f(&[2, 4]).moe_gate(None, &GateConfig { groups: 3, ..config })),
                "MoeGatingTopK: 4 experts in 3 groups: expected groups of one size",
            ),
            (
                message(f(&[2, 4]).moe_gate(None, &GateConfig { topk_groups: 3, ..config })),
                "MoeGatingTopK: 3 of 2 groups: expected at least 1 and at most all",
            ),
            (
                message(f(&[2, 4]).moe_gate(None, &GateConfig { top_k: 3, ..config })),
                "MoeGatingTopK: 3 of the 2 experts of 1 groups: expected at most all",
            ),
            (message(i(&[2]).moe_route(3)), "MoeInitRouting: the operand of indices has shape [2], expected [T, k]"),
            (
                message(a.moe_dispatch(&routing)),
                "MoeDispatch: rows of shape [3, 4] for a routing of 4 slots: expected as many slots for each row",
            ),
            (
                message(a.moe_unpermute(&routing)),
                "MoeTokenUnpermute: rows of shape [3, 4] for a routing of 4 slots: expected a row for each",
            ),
            (
                message(f(&[4, 1]).moe_combine(&routing, &f(&[3, 2]))),
                "MoeFinalizeRouting: rows of shape [4, 1] and weights of shape [3, 2] for a routing of 4 slots: expected a row and a weight for each",
            ),
        ];
        for (got, expected) in cases {
            assert_eq!(got, expected);
        }
        Ok(())
    });
}

#[test]
fn types() {
    on("host,workers=1", || {
        let (f, h, i, u) = (
            zeros(&[2, 2], DType::F32),
            zeros(&[2, 2], DType::F16),
            zeros(&[2, 2], DType::I32),
            zeros(&[2, 2], DType::U8),
        );
        let c = zeros(&[2, 2], DType::Complex64);
        let routing = i.moe_route(1)?;
        let mut out = f.clone();
        let config = GateConfig { experts: 2, groups: 1, topk_groups: 1, top_k: 1, route_scale: 1.0 };
        let stack = zeros(&[1, 2, 2], DType::F32);
        let cases = [
            (
                message(f.matmul(&h)),
                "MatMul: expected float32 (like the first operand; cast one of the two), found float16",
            ),
            (message(i.matmul(&i)), "MatMul: expected float32, float16 or bfloat16, found int32"),
            (
                message(f.grouped_matmul(&stack, &zeros(&[2], DType::F32))),
                "GroupedMatmul: expected int32 (or int64, for the offsets), found float32",
            ),
            (message(f.add(&i)), "Add: expected float32 (like the first operand; cast one of the two), found int32"),
            (message(u.mul(&u)), "Mul: expected a floating point, int32, int64 or complex type, found uint8"),
            (message(i.scale(2.0)), "Muls: expected float32, float16 or bfloat16, found int32"),
            (message(c.softmax()), "Softmax: expected float32, float16 or bfloat16, found complex64"),
            (
                message(c.cast(DType::F32)),
                "Cast: expected a real type to become float32, or a complex result, found complex64",
            ),
            (message(out.fill(1i32)), "Fill: expected int32 (the type of the value), found float32"),
            (message(f.moe_gate(Some(&h), &config)), "MoeGatingTopK: expected float32 (for the bias), found float16"),
            (message(f.moe_route(3)), "MoeInitRouting: expected int32 (for the indices), found float32"),
            (
                message(f.moe_combine(&routing, &h)),
                "MoeFinalizeRouting: expected float32 (for the weights), found float16",
            ),
        ];
        for (got, expected) in cases {
            assert_eq!(got, expected);
        }
        Ok(())
    });
}

#[test]
fn a_fault_names_the_line_that_called_the_operator() {
    let device = Device::open("host,workers=1").unwrap();
    let _on = device.default_stream().enter();
    let indices = Tensor::from_slice(&[7], &[1, 1]).unwrap();
    let line = line!() + 1;
    let routing = indices.moe_route(3).unwrap();
    let message = routing.rows.to_vec::<i32>().unwrap_err().to_string();
    assert!(message.contains(&format!("messages.rs:{line}:")), "{message}");
}

#[test]
fn operands_on_two_devices() {
    let (left, right) = (Device::open("host,workers=1").unwrap(), Device::open("host,workers=1").unwrap());
    let a = {
        let _on = left.default_stream().enter();
        zeros(&[2, 2], DType::F32)
    };
    let _on = right.default_stream().enter();
    let b = zeros(&[2, 2], DType::F32);
    assert!(matches!(a.add(&b), Err(Error::DeviceMismatch { .. })));
    assert!(matches!(a.silu(), Err(Error::DeviceMismatch { .. })));
}
