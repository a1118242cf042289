//! Gradients of operators, and marks for differentiation.

mod pool;
mod take;

use super::nn::loss::{Likelihood, Reduction, like_predictions, negative_log_likelihood};
use crate::{
    CallContext,
    legalize::{Builder, Legalized, accumulator},
    op::{Op, OperandKind},
    rules::{Inferred, expect_ndim},
};
use hammock_ir::{PrimExpr, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    let mut ops = vec![
        mark("grad.no_grad", "Returns its argument and stops gradients from flowing through it."),
        mark("grad.start_checkpoint", "Returns its argument; the following operators are recomputed for the gradient."),
        mark("grad.end_checkpoint", "Returns its argument; the following results are stored for the gradient."),
        nll_loss_backward(),
        take::take_backward(),
    ];
    ops.extend(pool::ops());
    ops
}

fn mark(name: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]", "x")
        .operand("input", OperandKind::Any)
        .infer(|cx| cx.ty("input"))
        .decompose(|cx, _| Ok(cx.operand("input")?.clone()))
}

fn nll_loss_backward() -> Op {
    let op = Op::new("grad.nll_loss_backward")
        .doc("The gradient of `R.nn.nll_loss` with respect to the predictions.")
        .example("g: float32[]; x: float32[2, 3]; t: int64[2]", "g, x, t")
        .tensor("output_grad");
    negative_log_likelihood(op).infer(infer_nll_loss).legalize(legalize_nll_loss)
}

/// The output gradient of an unreduced loss has one element per target.
fn infer_nll_loss(cx: &CallContext) -> Inferred {
    let (grad, targets) = (cx.tensor("output_grad")?, cx.tensor("targets")?);
    let expected = if Reduction::of(cx)? == Reduction::None { targets.ndim() } else { Some(0) };
    if let Some(ndim) = expected {
        expect_ndim(cx, "output_grad", &grad, ndim)?;
    }
    Ok(like_predictions(cx)?.into())
}

/// The prediction of a target's class gets minus the target's weight times the gradient of its loss; others get zero.
fn legalize_nll_loss(cx: &CallContext) -> Result<Legalized, InferError> {
    let reduction = Reduction::of(cx)?;
    let mut b = Builder::new(cx, "nll_loss_backward")?;
    let grad = b.input("output_grad")?;
    let likelihood = Likelihood::of(cx, &mut b)?;
    if reduction == Reduction::None {
        b.require_shape("output_grad", &grad, likelihood.targets.shape());
    }
    let out = b.output("pred_grad")?;
    let wide = accumulator(out.dtype);
    let weights =
        (reduction == Reduction::Mean).then(|| likelihood.sum(&mut b, "weight_sum", |i| likelihood.weight(i)));
    let class_axis = likelihood.class_axis();
    b.compute(&out, |at| {
        let mut target = at.to_vec();
        let class = target.remove(class_axis);
        let grad = if reduction == Reduction::None { grad.at(&target) } else { grad.at(&[]) };
        let share = weights.as_ref().map_or(grad.clone().cast(wide), |w| grad.cast(wide) / w.at(&[]));
        let value = (PrimExpr::float(0.0, wide) - likelihood.weight(&target)) * share;
        let hit = likelihood.targets.index_at(&target).eq(class);
        hit.select(value, PrimExpr::float(0.0, wide)).cast(out.dtype)
    });
    Ok(b.finish())
}
