//! Metadata of tensors at run time.

use crate::{
    CallContext,
    op::{Op, OperandKind},
    rules::Inferred,
};
use hammock_ir::{DType, Type};

/// The operator of a runtime function, whose name has the prefix `relax.`.
fn of_runtime(function: &'static str) -> &'static str {
    function.trim_start_matches("relax.")
}

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        inspect("relax.inspect.tensor_ndim", DType::INT32, "The number of dimensions."),
        inspect("relax.inspect.tensor_dtype_code", DType::UINT8, "The DLPack type code of the dtype."),
        inspect("relax.inspect.tensor_dtype_bits", DType::UINT8, "The bits per lane of the dtype."),
        inspect("relax.inspect.tensor_dtype_lanes", DType::UINT16, "The lanes of the dtype."),
        inspect(
            "relax.inspect.tensor_byte_offset",
            DType::UINT64,
            "The offset of the first element from the start of the tensor's memory, in bytes.",
        ),
        inspect(
            "relax.inspect.tensor_elem_offset",
            DType::UINT64,
            "The offset of the first element from the start of the tensor's memory, in elements.",
        ),
        along_axis("relax.inspect.tensor_shape_i", "The size of an axis."),
        along_axis("relax.inspect.tensor_stride_i", "The stride along an axis, in elements."),
    ]
}

fn inspect(function: &'static str, dtype: DType, doc: &'static str) -> Op {
    let op = Op::new(of_runtime(function)).doc(doc).example("x: float32[2, 3]", "x").tensor("tensor").packed(function);
    op.infer(move |cx| cx.tensor("tensor").map(|_| Type::Prim(dtype)))
}

fn along_axis(function: &'static str, doc: &'static str) -> Op {
    Op::new(of_runtime(function))
        .doc(doc)
        .example("x: float32[2, 3]", "x, 1")
        .tensor("tensor")
        .operand("axis", OperandKind::Prim)
        .infer(infer_axis)
        .packed(function)
}

fn infer_axis(cx: &CallContext) -> Inferred {
    let tensor = cx.tensor("tensor")?;
    if let Some(axis) = cx.prim("axis")?.as_int() {
        let beyond = tensor.ndim().is_some_and(|n| axis >= n as i64);
        if axis < 0 || beyond {
            return Err(cx.error_at("axis", format_args!("there is no axis {axis}; axes count from 0")));
        }
    }
    Ok(Type::Prim(DType::INT64))
}
