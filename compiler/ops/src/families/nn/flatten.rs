//! Flattening of all axes but the batch.

use crate::{CallContext, dims, op::Op, precision::Precision, rules::Inferred};
use hammock_ir::{TensorShape, TensorType, relax::Operand};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        Op::new("nn.batch_flatten")
            .doc("Flattens all dimensions but the first into one.")
            .example("x: float32[2, 3, 4]", "x")
            .tensor("data")
            .view()
            .precision(Precision::Follow)
            .infer(infer)
            .decompose(|cx, emit| {
                let ty = infer(cx)?;
                match ty.as_tensor().and_then(TensorType::dims) {
                    Some(dims) => {
                        emit.op("reshape", vec![cx.operand("data")?.clone(), Operand::Shape(dims.to_vec())], [])
                    }
                    None => Err(cx.error_at("data", "cannot be compiled while the shape of `data` is not known")),
                }
            }),
    ]
}

fn infer(cx: &CallContext) -> Inferred {
    let data = cx.tensor("data")?;
    if let Some(n) = data.ndim().filter(|n| *n < 2) {
        return Err(cx.error_at("data", format_args!("`data` must have at least 2 dimensions, but it has {n}")));
    }
    let shape = match data.dims() {
        Some(d) => TensorShape::Known([d[0].clone(), dims::product(&d[1..])].into()),
        None => TensorShape::Rank(2),
    };
    Ok(TensorType { shape, ..data }.into())
}
