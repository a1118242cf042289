//! Functions of two tensors, element by element, with broadcasting.
//!
//! Operands must have one dtype. A scalar may stand for either; a constant without dimensions is written into the
//! kernel. Integer division never traps: see [`divide`].

use crate::{
    context::CallContext,
    legalize::{Builder, Legalized},
    op::Op,
    rules::{Inferred, broadcast_pair},
};
use hammock_ir::{
    DType, PrimExpr, TensorType,
    prim::{BinaryOp, binary},
    relax::InferError,
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    let mut ops = arithmetic_ops();
    ops.extend(comparison_ops());
    ops
}

fn arithmetic_ops() -> Vec<Op> {
    vec![
        arithmetic("add", "The sum.", |a, b| a + b),
        arithmetic("subtract", "The difference.", |a, b| a - b),
        arithmetic("multiply", "The product.", |a, b| a * b),
        arithmetic("maximum", "The larger; NaN when one is NaN.", PrimExpr::max),
        arithmetic("minimum", "The smaller; NaN when one is NaN.", PrimExpr::min),
    ]
}

fn comparison_ops() -> Vec<Op> {
    vec![
        comparison("equal", "Whether both are the same.", BinaryOp::Eq),
        comparison("not_equal", "Whether they differ.", BinaryOp::Ne),
        comparison("less", "Whether the first is less.", BinaryOp::Lt),
        comparison("less_equal", "Whether the first is less or the same.", BinaryOp::Le),
        comparison("greater", "Whether the first is greater.", BinaryOp::Gt),
        comparison("greater_equal", "Whether the first is greater or the same.", BinaryOp::Ge),
    ]
}

/// A function whose result has the operands' dtype.
fn arithmetic(name: &'static str, doc: &'static str, f: fn(PrimExpr, PrimExpr) -> PrimExpr) -> Op {
    operands(name, doc).infer(same_dtype).legalize(move |cx| elementwise(cx, f))
}

/// A question.
fn comparison(name: &'static str, doc: &'static str, op: BinaryOp) -> Op {
    let rule = |cx: &CallContext| Ok(TensorType { dtype: Some(DType::BOOL), ..broadcast_pair(cx, "x1", "x2")? }.into());
    operands(name, doc).infer(rule).legalize(move |cx| elementwise(cx, |a, b| binary(op, a, b)))
}

fn operands(name: &'static str, doc: &'static str) -> Op {
    Op::new(name).doc(doc).tensor("x1").tensor("x2")
}

fn same_dtype(cx: &CallContext) -> Inferred {
    Ok(broadcast_pair(cx, "x1", "x2")?.into())
}

fn elementwise(cx: &CallContext, f: impl FnOnce(PrimExpr, PrimExpr) -> PrimExpr) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, cx.op.name)?;
    let (x, y) = (b.input("x1")?, b.input("x2")?);
    let out = b.output(&format!("T_{}", cx.op.name))?;
    b.compute(&out, |i| f(x.broadcast(i), y.broadcast(i)));
    Ok(b.finish())
}
