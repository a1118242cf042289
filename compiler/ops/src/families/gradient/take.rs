//! The gradient of `R.take`.

use crate::{
    CallContext, dims,
    legalize::{
        Builder, Legalized, accumulator,
        loops::{each, in_order},
    },
    op::{AttrKind, NONE, Op},
    rules::{Inferred, expect_ndim},
};
use hammock_ir::{PrimExpr, TensorType, relax::InferError, tir::Stmt};

/// `grad.take_backward`
pub fn take_backward() -> Op {
    Op::new("grad.take_backward")
        .doc("The gradient of `R.take` with respect to its first argument.")
        .example("g: float32[2]; x: float32[4]; i: int64[2]", "g, x, i")
        .tensor("output_grad")
        .tensor("x")
        .tensor("indices")
        .attr("axis", AttrKind::OptionalInt, NONE)
        .attr("mode", AttrKind::Str, "")
        .infer(infer)
        .legalize(legalize)
}

fn infer(cx: &CallContext) -> Inferred {
    let x: TensorType = cx.tensor("x")?;
    if let Some(t) = cx.tensor("indices")?.dtype.filter(|t| !t.is_integer()) {
        return Err(cx.error_at("indices", format_args!("`indices` must hold integers, not {t}")));
    }
    if cx.attr("axis")?.is_none() {
        expect_ndim(cx, "x", &x, 1)?;
    }
    if let Some(ndim) = x.ndim() {
        axis(cx, ndim)?;
    }
    Ok(x.into())
}

/// The axis of the indices; a vector has only one.
fn axis(cx: &CallContext, ndim: usize) -> Result<usize, InferError> {
    if cx.attr("axis")?.is_none() { Ok(0) } else { cx.axis("axis", ndim) }
}

/// Adds each row of the gradient to the row that it was taken from. Out-of-bounds indices are clamped.
fn legalize(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "take_backward")?;
    let (grad, x, indices) = (b.input("output_grad")?, b.input("x")?, b.input("indices")?);
    let axis = axis(cx, x.ndim())?;
    let taken = [&x.shape()[..axis], indices.shape(), &x.shape()[axis + 1..]].concat();
    b.require_shape("output_grad", &grad, &taken);
    let out = b.output("take_backward")?;
    let wide = accumulator(out.dtype);
    let sum = if wide == out.dtype { out.clone() } else { b.temp("sum", out.shape.clone(), wide) };
    let mut others = out.shape.clone();
    let length = others.remove(axis);
    b.block("take_backward", &others, |i| {
        let at = |k: PrimExpr| [&i[..axis], &[k], &i[axis..]].concat();
        let clear = each("k", length.clone(), |k| Stmt::store(&sum, at(k.clone()), PrimExpr::constant(0.0, wide)));
        let add = over(indices.shape(), &mut Vec::new(), &|position| {
            let row = indices.index_at(position).min(dims::offset(&length, -1)).max(0i64);
            let value = grad.at(&[&i[..axis], position, &i[axis..]].concat()).cast(wide);
            Stmt::store(&sum, at(row.clone()), PrimExpr::load(&sum, at(row)) + value)
        });
        in_order([clear, add])
    });
    if wide != out.dtype {
        b.compute(&out, |i| PrimExpr::load(&sum, i.to_vec()).cast(out.dtype));
    }
    Ok(b.finish())
}

/// A statement for each index of a shape.
fn over(shape: &[PrimExpr], position: &mut Vec<PrimExpr>, f: &dyn Fn(&[PrimExpr]) -> Stmt) -> Stmt {
    let Some((extent, rest)) = shape.split_first() else { return f(position) };
    each(&format!("l{}", position.len()), extent.clone(), |l| {
        position.push(l.clone());
        let body = over(rest, position, f);
        position.pop();
        body
    })
}
