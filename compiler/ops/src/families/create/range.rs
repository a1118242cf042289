//! Sequences of numbers.

use super::set_arg;
use crate::{
    CallContext, dims, is_absent,
    legalize::Builder,
    op::{AttrKind, NONE, Op, OperandKind},
    precision::Precision,
    rules::Inferred,
};
use hammock_ir::{
    AttrValue, DType, PrimExpr, TensorType,
    relax::{Call, Operand},
};

/// The operators of this file.
pub fn ops() -> Vec<Op> {
    vec![arange(), hamming_window()]
}

fn arange() -> Op {
    Op::new("arange")
        .doc("Numbers in `[start, end)` with stride `step`. With one argument, `[0, end)`.")
        .example("", "0, 10, 2")
        .operand("start", OperandKind::Prim)
        .operand_or("end", OperandKind::Prim, NONE)
        .operand_or("step", OperandKind::Prim, 1)
        .attr("dtype", AttrKind::DType, NONE)
        .precision(Precision::Follow)
        .complete(complete_arange)
        .infer(arange_type)
        .legalize(|cx| {
            let mut b = Builder::new(cx, "arange")?;
            let (start, step) = (b.prim("start")?, b.prim("step")?);
            let out = b.output("T_arange")?;
            let wide = if out.dtype.is_floating() { DType::FLOAT64 } else { DType::INT64 };
            b.compute(&out, |i| {
                let offset = step.cast(wide) * i[0].clone().cast(wide);
                (start.cast(wide) + offset).cast(out.dtype)
            });
            Ok(b.finish())
        })
}

/// `arange(n)` is `arange(0, n)`; the dtype is float32 if a bound is a float, otherwise int64.
fn complete_arange(call: &mut Call) {
    if call.args.get(1).is_none_or(is_absent)
        && let Some(end) = call.args.first().cloned()
    {
        set_arg(call, 1, end);
        set_arg(call, 0, Operand::int(0));
    }
    if call.attrs.get("dtype").is_none_or(AttrValue::is_none) {
        let is_float = |o: &Operand| matches!(o, Operand::Prim(e) if e.dtype().is_floating());
        let dtype = if call.args.iter().any(is_float) { DType::FLOAT32 } else { DType::INT64 };
        call.attrs.set("dtype", dtype);
    }
}

/// One dimension of `ceil((end - start) / step)` elements, or zero if that is negative.
fn arange_type(cx: &CallContext) -> Inferred {
    let bounds = [cx.prim("start")?, cx.prim("end")?, cx.prim("step")?];
    if dims::is(&bounds[2], 0) || bounds[2].as_float() == Some(0.0) {
        return Err(cx.error_at("step", "`step` must not be zero"));
    }
    let length = match bounds.iter().any(|e| e.dtype().is_floating()) {
        true => float_length(&bounds),
        false => integer_length(&bounds.map(|e| e.cast(DType::INT64))),
    };
    let ty = TensorType::new([length], DType::INT64);
    Ok(TensorType { dtype: cx.dtype("dtype")?, ..ty }.into())
}

fn integer_length([start, end, step]: &[PrimExpr; 3]) -> PrimExpr {
    let down = step.as_int().is_some_and(|s| s < 0);
    let (way, step) = match down {
        true => (dims::sub(start, end), dims::sub(&0i64.into(), step)),
        false => (dims::sub(end, start), step.clone()),
    };
    let length = dims::ceildiv(&way, &step);
    if length.as_int().is_some() { dims::max(&length, &0i64.into()) } else { length }
}

fn float_length(bounds: &[PrimExpr; 3]) -> PrimExpr {
    let number = |e: &PrimExpr| e.as_float().or(e.as_int().map(|v| v as f64));
    if let [Some(start), Some(end), Some(step)] = bounds.each_ref().map(number) {
        return PrimExpr::int64((((end - start) / step).ceil() as i64).max(0));
    }
    let [start, end, step] = bounds.each_ref().map(|e| e.clone().cast(DType::FLOAT64));
    ((end - start) / step).unary("ceil").cast(DType::INT64)
}

fn hamming_window() -> Op {
    Op::new("hamming_window")
        .doc(
            "The window `alpha - beta * cos(2 * pi * i / n)`, with `n` the window's size if periodic and one less \
              otherwise.",
        )
        .example("", r#"8, True, 0.54, 0.46, dtype="float32""#)
        .operand("window_size", OperandKind::Prim)
        .operand("periodic", OperandKind::Prim)
        .operand("alpha", OperandKind::Prim)
        .operand("beta", OperandKind::Prim)
        .required("dtype", AttrKind::DType)
        .precision(Precision::Follow)
        .infer(|cx| {
            let size = cx.prim("window_size")?.cast(DType::INT64);
            if size.as_int().is_some_and(|n| n <= 0) {
                return Err(cx.error_at("window_size", "`window_size` must be positive"));
            }
            let dtype = cx.dtype("dtype")?;
            if dtype.is_some_and(|t| !t.is_floating()) {
                return Err(cx.error_at("dtype", "`dtype` must be a float"));
            }
            Ok(TensorType { dtype, ..TensorType::new([size], DType::FLOAT32) }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "hamming_window")?;
            let periodic = b.prim("periodic")?.cast(DType::INT64);
            let (alpha, beta) = (b.prim("alpha")?.cast(DType::FLOAT64), b.prim("beta")?.cast(DType::FLOAT64));
            let out = b.output("T_hamming_window")?;
            let gaps = dims::max(&dims::sub(&dims::add(&out.shape[0], &periodic), &1i64.into()), &1i64.into());
            b.compute(&out, |i| {
                let turn = PrimExpr::float(std::f64::consts::TAU, DType::FLOAT64);
                let angle = turn * i[0].clone().cast(DType::FLOAT64) / gaps.cast(DType::FLOAT64);
                (alpha - beta * angle.unary("cos")).cast(out.dtype)
            });
            Ok(b.finish())
        })
}
