//! Gradients of operators, and marks for differentiation.

use super::nn;
use crate::{
    context::CallContext,
    dims,
    op::{AttrKind, NONE, Op, OperandKind},
    rules::{Inferred, expect_ndim},
};
use hammock_ir::{TensorType, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        mark("grad.no_grad", "The value itself, which no gradient flows through."),
        mark("grad.start_checkpoint", "The value itself; what follows is computed again for the gradient."),
        mark("grad.end_checkpoint", "The value itself; what follows is kept for the gradient."),
        nll_loss_backward(),
        pool("grad.max_pool2d_backward", "The gradient of `R.nn.max_pool2d` with respect to its data."),
        pool("grad.avg_pool2d_backward", "The gradient of `R.nn.avg_pool2d` with respect to its data."),
        take_backward(),
    ]
}

fn mark(name: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .operand("input", OperandKind::Any)
        .infer(|cx| cx.ty("input"))
        .decompose(|cx, _| Ok(cx.operand("input")?.clone()))
}

fn nll_loss_backward() -> Op {
    nn::loss::negative_log_likelihood(
        Op::new("grad.nll_loss_backward")
            .doc("The gradient of `R.nn.nll_loss` with respect to the predictions.")
            .tensor("output_grad"),
    )
    .infer(|cx| Ok(nn::loss::like_predictions(cx)?.into()))
    .structural("")
}

fn pool(name: &'static str, doc: &'static str) -> Op {
    let op = Op::new(name).doc(doc).tensor("output_grad").tensor("data");
    nn::pool::attributes(op, "HW", vec![0; 4], false).infer(infer_pool).structural("")
}

fn infer_pool(cx: &CallContext) -> Inferred {
    let forward = nn::pool::infer(cx, "HW", "data")?;
    let grad = cx.tensor("output_grad")?;
    if let (Some(a), Some(b)) = (grad.dims(), forward.dims())
        && (a.len() != b.len() || a.iter().zip(b).any(|(a, b)| dims::equal(a, b) == Some(false)))
    {
        let (have, want) = (crate::text::shape_text(&grad), crate::text::shape_text(&forward));
        return Err(
            cx.error_at("output_grad", format_args!("`output_grad` must have the pooling's shape {want}, not {have}"))
        );
    }
    Ok(cx.tensor("data")?.into())
}

fn take_backward() -> Op {
    Op::new("grad.take_backward")
        .doc("The gradient of `R.take` with respect to the tensor taken from.")
        .tensor("output_grad")
        .tensor("x")
        .tensor("indices")
        .attr("axis", AttrKind::OptionalInt, NONE)
        .attr("mode", AttrKind::Str, "")
        .infer(infer_take)
        .structural("")
}

fn infer_take(cx: &CallContext) -> Inferred {
    let x: TensorType = cx.tensor("x")?;
    if let Some(t) = cx.tensor("indices")?.dtype.filter(|t| !t.is_integer()) {
        return Err(cx.error_at("indices", format_args!("`indices` must hold integers, not {t}")));
    }
    take_axis(cx, &x)?;
    Ok(x.into())
}

/// The axis taken along; none for a vector's only one.
fn take_axis(cx: &CallContext, x: &TensorType) -> Result<usize, InferError> {
    match (cx.attr("axis")?.is_none(), x.ndim()) {
        (true, _) => {
            expect_ndim(cx, "x", x, 1)?;
            Ok(0)
        }
        (false, Some(ndim)) => cx.axis("axis", ndim),
        (false, None) => Ok(0),
    }
}
