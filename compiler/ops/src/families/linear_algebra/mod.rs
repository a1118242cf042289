//! Matmul and linear layers.

mod einsum;

use crate::{
    CallContext, dims,
    legalize::{Builder, Combine, Input, Legalized, accumulator, broadcast_indices},
    op::{AttrKind, NONE, Op, OperandKind},
    precision::Precision,
    rules::{Inferred, broadcast_shapes, common_dtype, common_vdevice, expect_ndim},
    text::shape_text,
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, relax::InferError};
use std::sync::LazyLock;

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![matmul(), linear(), outer(), einsum::einsum()]
}

fn matmul() -> Op {
    Op::new("matmul")
        .doc(
            "Matrix multiplication over the last two dimensions; leading dimensions broadcast. A vector is a row on \
             the left and a column on the right.",
        )
        .example("x: float32[2, 3]; y: float32[3, 4]", "x, y")
        .tensor("x1")
        .tensor("x2")
        .attr("out_dtype", AttrKind::DType, NONE)
        .precision(Precision::Always)
        .infer(matmul_type)
        .legalize(matmul_tir)
}

/// The type of a matmul: `(…, m, k)` by `(…, k, n)` is `(…, m, n)`; a vector's unit dimension is removed.
fn matmul_type(cx: &CallContext) -> Inferred {
    Ok(matmul_operands_type(cx, ("x1", cx.tensor("x1")?), ("x2", cx.tensor("x2")?))?.into())
}

/// The type of a matmul of two named operands.
fn matmul_operands_type(
    cx: &CallContext,
    a: (&str, TensorType),
    b: (&str, TensorType),
) -> Result<TensorType, InferError> {
    let dtype = match cx.dtype("out_dtype")? {
        Some(t) => Some(t),
        None => common_dtype(cx, (a.0, &a.1), (b.0, &b.1))?,
    };
    let vdevice = common_vdevice(cx, [&a.1, &b.1])?;
    for (param, t) in [&a, &b] {
        if t.ndim() == Some(0) {
            return Err(cx.error_at(param, format_args!("`{param}` must have at least one dimension")));
        }
    }
    Ok(TensorType { shape: matmul_shape(cx, (a.0, &a.1), (b.0, &b.1))?, dtype, vdevice })
}

fn matmul_shape(
    cx: &CallContext,
    (a_name, a): (&str, &TensorType),
    (b_name, b): (&str, &TensorType),
) -> Result<TensorShape, InferError> {
    let (Some(a_rank), Some(b_rank)) = (a.ndim(), b.ndim()) else { return Ok(TensorShape::Unknown) };
    let rank = match (a_rank, b_rank) {
        (1, 1) => 0,
        (1, r) | (r, 1) => r - 1,
        (x, y) => x.max(y),
    };
    let (Some(a_dims), Some(b_dims)) = (a.dims(), b.dims()) else { return Ok(TensorShape::Rank(rank)) };
    let (a_batch, a_own) = a_dims.split_at(a_rank.saturating_sub(2));
    let (b_batch, b_own) = b_dims.split_at(b_rank.saturating_sub(2));
    if dims::equal(&a_own[a_own.len() - 1], &b_own[0]) == Some(false) {
        let (x, y) = (shape_text(a), shape_text(b));
        let shapes = format_args!("`{a_name}` of shape {x} and `{b_name}` of shape {y} do not multiply");
        let text = format!("{shapes}: {}", mismatch_message((a_name, b_name), b_rank));
        return Err(cx.error_at(b_name, text).help("transpose one with R.permute_dims"));
    }
    let batch = |dims: &[PrimExpr]| TensorType { shape: TensorShape::Known(dims.into()), ..a.clone() };
    let batch = broadcast_shapes(cx, &[(a_name, &batch(a_batch)), (b_name, &batch(b_batch))])?;
    let TensorShape::Known(batch) = batch else { return Ok(TensorShape::Rank(rank)) };
    Ok(TensorShape::Known(batch.iter().chain(&a_own[..a_own.len() - 1]).chain(&b_own[1..]).cloned().collect()))
}

/// Message about the reduction axes of a matmul.
fn mismatch_message((a, b): (&str, &str), b_rank: usize) -> String {
    let axis = if b_rank == 1 { "axis" } else { "second last" };
    format!("the last axis of `{a}` must be as long as the {axis} of `{b}`")
}

/// Matmul with a transposed second operand: not an operator of programs, but a kernel that a pass builds from two
/// operators.
pub fn matmul_of_transposed() -> &'static Op {
    static OP: LazyLock<Op> = LazyLock::new(|| {
        Op::new("matmul_of_transposed")
            .tensor("x")
            .tensor("w")
            .attr("out_dtype", AttrKind::DType, NONE)
            .infer(|cx| {
                let mut w = cx.tensor("w")?;
                if let TensorShape::Known(dims) = &w.shape {
                    w.shape = TensorShape::Known(swap_last_two(dims).into());
                }
                Ok(matmul_operands_type(cx, ("x", cx.tensor("x")?), ("w", w))?.into())
            })
            .legalize(|cx| {
                let mut b = Builder::new(cx, "NT_matmul")?;
                let (x, w) = (b.input("x")?, b.input("w")?);
                let out = b.output("NT_matmul")?;
                let (depth, other) = (x.shape()[x.ndim() - 1].clone(), w.shape()[w.ndim() - 1].clone());
                b.require_equal(&depth, &other, "the last axis of `x` must be as long as that of `w`");
                b.reduce(&out, &[("k".to_owned(), depth)], Combine::Sum, |i, k| {
                    let (left, right) = matmul_indices(&x, &w, (i, &out.shape), &k[0]);
                    let wide = accumulator(out.dtype);
                    x.at(&left).cast(wide) * w.at(&swap_last_two(&right)).cast(wide)
                });
                Ok(b.finish())
            })
    });
    &OP
}

/// Swaps the last two elements.
fn swap_last_two(list: &[PrimExpr]) -> Vec<PrimExpr> {
    let mut list = list.to_vec();
    if let [.., a, b] = list.as_mut_slice() {
        std::mem::swap(a, b);
    }
    list
}

fn matmul_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "matmul")?;
    let (x, y) = (b.input("x1")?, b.input("x2")?);
    let out = b.matmul_output("matmul", ["x1", "x2"])?;
    let depth = x.shape()[x.ndim() - 1].clone();
    let other = y.shape()[y.ndim().saturating_sub(2)].clone();
    b.require_equal(&depth, &other, &mismatch_message(("x1", "x2"), y.ndim()));
    b.reduce(&out, &[("k".to_owned(), depth)], Combine::Sum, |i, k| {
        let (left, right) = matmul_indices(&x, &y, (i, &out.shape), &k[0]);
        let wide = accumulator(out.dtype);
        let result = |v: PrimExpr| v.cast(wide);
        result(x.at(&left)) * result(y.at(&right))
    });
    Ok(b.finish())
}

/// Indices of both operands for an index of the result, whose shape is given, and a position on the reduction axis.
fn matmul_indices(
    x: &Input,
    y: &Input,
    (i, shape): (&[PrimExpr], &[PrimExpr]),
    k: &PrimExpr,
) -> (Vec<PrimExpr>, Vec<PrimExpr>) {
    let rows = usize::from(x.ndim() > 1);
    let columns = usize::from(y.ndim() > 1);
    let batch = &i[..i.len() - rows - columns];
    let own = |input: &Input| {
        let own = &input.shape()[..input.ndim().saturating_sub(2)];
        broadcast_indices(own, &batch[batch.len() - own.len()..], &shape[batch.len() - own.len()..])
    };
    let mut left = own(x);
    left.extend_from_slice(&i[batch.len()..batch.len() + rows]);
    left.push(k.clone());
    let mut right = own(y);
    right.push(k.clone());
    right.extend_from_slice(&i[i.len() - columns..]);
    (left, right)
}

fn linear() -> Op {
    Op::new("linear")
        .doc("A fully connected layer: matmul of `data` with the transposed weight, plus a bias.")
        .example("x: float32[2, 3]; w: float32[4, 3]; b: float32[4]", "x, w, b")
        .tensor("data")
        .tensor("weight")
        .operand_or("bias", OperandKind::OptionalTensor, NONE)
        .attr("out_dtype", AttrKind::DType, NONE)
        .infer(linear_type)
        .decompose(|cx, emit| {
            let operand = |param| cx.operand(param).cloned();
            let weight = emit.op("permute_dims", vec![operand("weight")?], [])?;
            let out_dtype = cx.attr("out_dtype")?.clone();
            let result = emit.op("matmul", vec![operand("data")?, weight], [("out_dtype", out_dtype)])?;
            match cx.optional("bias") {
                Some(bias) => emit.op("add", vec![result, bias.clone()], []),
                None => Ok(result),
            }
        })
}

fn linear_type(cx: &CallContext) -> Inferred {
    let data = cx.tensor("data")?;
    let mut weight = cx.tensor("weight")?;
    if let TensorShape::Known(dims) = &weight.shape {
        weight.shape = TensorShape::Known(dims.iter().rev().cloned().collect());
    }
    let result = matmul_operands_type(cx, ("data", data), ("weight", weight))?;
    let Some(bias) = cx.optional_tensor("bias")? else { return Ok(result.into()) };
    let dtype = common_dtype(cx, ("data", &result), ("bias", &bias))?;
    let vdevice = common_vdevice(cx, [&result, &bias])?;
    let shape = broadcast_shapes(cx, &[("data", &result), ("bias", &bias)])?;
    Ok(TensorType { shape, dtype, vdevice }.into())
}

fn outer() -> Op {
    Op::new("outer")
        .doc("The outer product of two vectors.")
        .example("x: float32[2]; y: float32[3]", "x, y")
        .tensor("x1")
        .tensor("x2")
        .precision(Precision::Always)
        .infer(|cx| {
            let (a, b) = (cx.tensor("x1")?, cx.tensor("x2")?);
            expect_ndim(cx, "x1", &a, 1)?;
            expect_ndim(cx, "x2", &b, 1)?;
            let dtype = common_dtype(cx, ("x1", &a), ("x2", &b))?;
            let vdevice = common_vdevice(cx, [&a, &b])?;
            let shape = match (a.dims(), b.dims()) {
                (Some(a), Some(b)) => TensorShape::Known([a, b].concat().into()),
                _ => TensorShape::Rank(2),
            };
            Ok(TensorType { shape, dtype, vdevice }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "outer")?;
            let (x, y) = (b.input("x1")?, b.input("x2")?);
            let out = b.output("outer")?;
            b.compute(&out, |i| x.at(&i[..1]) * y.at(&i[1..]));
            Ok(b.finish())
        })
}
