//! Element-wise functions of three values.

use crate::{
    CallContext,
    legalize::{Builder, Input},
    op::{Op, OperandKind},
    precision::Precision,
    relayout,
    rules::{Inferred, broadcast_shapes, common_dtype, common_vdevice, same_as},
};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, count};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![select(), clip(), ewise_fma(), masked_fill()]
}

fn select() -> Op {
    Op::new("where")
        .doc("Elements of `x1` where the condition holds and of `x2` elsewhere; all three broadcast.")
        .example("c: bool[2, 1]; x: float32[2, 3]; y: float32[3]", "c, x, y")
        .tensor("condition")
        .tensor("x1")
        .tensor("x2")
        .infer(where_type)
        .legalize(|cx| {
            let mut b = Builder::new(cx, "where")?;
            let (condition, x, y) = (b.input("condition")?, b.input("x1")?, b.input("x2")?);
            let out = b.broadcast_output("T_where", &["condition", "x1", "x2"])?;
            b.compute(&out, |i| {
                let at = |input: &Input| input.broadcast_to(i, &out.shape);
                at(&condition).cast(DType::BOOL).select(at(&x), at(&y))
            });
            Ok(b.finish())
        })
}

fn where_type(cx: &CallContext) -> Inferred {
    let condition = cx.tensor_or_scalar("condition")?;
    if condition.dtype.is_some_and(|t| !t.is_bool()) {
        let error = cx.error_at("condition", "`condition` must hold bools");
        return Err(error.help("compare it with zero, or convert it with R.astype(…, \"bool\")"));
    }
    let (x, y) = (cx.tensor_or_scalar("x1")?, cx.tensor_or_scalar("x2")?);
    let dtype = common_dtype(cx, ("x1", &x), ("x2", &y))?;
    let vdevice = common_vdevice(cx, [&condition, &x, &y])?;
    let shape = broadcast_shapes(cx, &[("condition", &condition), ("x1", &x), ("x2", &y)])?;
    Ok(TensorType { shape, dtype, vdevice }.into())
}

fn clip() -> Op {
    Op::new("clip")
        .doc("`minimum(maximum(x, min), max)`: `max` everywhere if `min > max`. NaN stays NaN.")
        .example("x: float32[2, 3]", "x, 0.25, 0.75")
        .tensor("x")
        .operand("min", OperandKind::Prim)
        .operand("max", OperandKind::Prim)
        .layouts(relayout::elementwise)
        .infer(|cx| {
            cx.prim("min")?;
            cx.prim("max")?;
            same_as("x")(cx)
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "tir_clip")?;
            let x = b.input("x")?;
            let (low, high) = (b.prim("min")?, b.prim("max")?);
            let (low, high) = (bound(low, x.dtype(), f64::ceil), bound(high, x.dtype(), f64::floor));
            let out = b.output("compute")?;
            b.compute(&out, |i| high.min(low.max(x.at(i))));
            Ok(b.finish())
        })
}

/// A bound in the dtype of the elements: an unrepresentable constant is rounded inwards.
fn bound(value: PrimExpr, dtype: DType, inwards: fn(f64) -> f64) -> PrimExpr {
    let constant = value.as_float().or(value.as_int().map(|v| v as f64));
    match constant {
        Some(v) if dtype.is_floating() => PrimExpr::float(v, dtype),
        Some(v) => {
            let (low, high) = integer_range(dtype);
            PrimExpr::int(inwards(v).clamp(low as f64, high as f64) as i64, dtype)
        }
        None => value.cast(dtype),
    }
}

fn integer_range(dtype: DType) -> (i64, i64) {
    match dtype.bits {
        _ if dtype.is_bool() => (0, 1),
        64 if dtype.is_int() => (i64::MIN, i64::MAX),
        64 => (0, i64::MAX),
        bits if dtype.is_int() => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        bits => (0, (1 << bits) - 1),
    }
}

fn ewise_fma() -> Op {
    Op::new("ewise_fma")
        .doc("`x1 * x2 + x3`, of tensors of one shape.")
        .example("x: float32[2, 3]; y: float32[2, 3]; z: float32[2, 3]", "x, y, z")
        .tensor("x1")
        .tensor("x2")
        .tensor("x3")
        .layouts(relayout::same_for_all)
        .precision(Precision::Follow)
        .infer(|cx| {
            let (x, y, z) = (cx.tensor("x1")?, cx.tensor("x2")?, cx.tensor("x3")?);
            let pair = common_dtype(cx, ("x1", &x), ("x2", &y))?;
            let dtype = common_dtype(cx, ("x1", &x), ("x3", &z))?.and(pair);
            let vdevice = common_vdevice(cx, [&x, &y, &z])?;
            for (param, t) in [("x2", &y), ("x3", &z)] {
                if let (Some(a), Some(b)) = (x.ndim(), t.ndim())
                    && a != b
                {
                    return Err(
                        cx.error_at(param, format_args!("`x1` has {}, but `{param}` has {b}", count(a, "dimension")))
                    );
                }
            }
            let shape = match broadcast_shapes(cx, &[("x1", &x), ("x2", &y), ("x3", &z)])? {
                TensorShape::Known(_) if x.dims().is_some() => x.shape,
                other => other,
            };
            Ok(TensorType { shape, dtype, vdevice }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "ewise_fma")?;
            let (x, y, z) = (b.input("x1")?, b.input("x2")?, b.input("x3")?);
            let out = b.broadcast_output("T_ewise_fma", &["x1", "x2", "x3"])?;
            b.compute(&out, |i| {
                let at = |input: &Input| input.broadcast_to(i, &out.shape);
                at(&x) * at(&y) + at(&z)
            });
            Ok(b.finish())
        })
}

fn masked_fill() -> Op {
    Op::new("masked_fill")
        .doc("`x` with `value` where the mask holds: `R.where(mask, R.full_like(x, value), x)`.")
        .example("x: float32[2, 3]; m: bool[2, 3]", r#"x, m, R.const(0.0, "float32")"#)
        .tensor("x")
        .tensor("mask")
        .tensor("value")
        .infer(same_as("x"))
        .decompose(|cx, emit| {
            let operand = |param| cx.operand(param).cloned();
            let filled = emit.op("full_like", vec![operand("x")?, operand("value")?], [])?;
            emit.op("where", vec![operand("mask")?, filled, operand("x")?], [])
        })
}
