//! Affine quantization: small integers with a scale and a zero point, per tensor or per axis.

use crate::{
    CallContext, dims,
    legalize::{Builder, Input, Legalized, highest, largest_float, lowest},
    op::{AttrKind, Op},
    relayout,
    rules::Inferred,
    text::{dim_text, shape_text},
};
use hammock_ir::{DType, PrimExpr, TensorType, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        signature("quantize", DType::INT8, "`clip(round(data / scale) + zero_point)` in the quantized dtype.")
            .infer(|cx| infer(cx, is_real, is_small))
            .legalize(|cx| legalize(cx, quantized)),
        signature("dequantize", DType::FLOAT32, "`(data - zero_point) * scale`: the real values of quantized data.")
            .infer(|cx| infer(cx, is_small_or_float, is_real))
            .legalize(|cx| legalize(cx, dequantized)),
    ]
}

fn signature(name: &'static str, out: DType, doc: &'static str) -> Op {
    let data = if name == "quantize" { "x: float32[2, 3]" } else { "x: int8[2, 3]" };
    Op::new(name)
        .doc(doc)
        .example(data, r#"x, R.const(0.1, "float32"), R.const(3, "int8")"#)
        .tensor("data")
        .tensor("scale")
        .tensor("zero_point")
        .attr("axis", AttrKind::Int, -1i64)
        .attr("out_dtype", AttrKind::DType, out)
        .attr_order(&["out_dtype", "axis"])
        .layouts(relayout::with_parameters)
}

fn is_real(t: DType) -> bool {
    t.is_float() || t.is_bfloat16()
}

fn is_small(t: DType) -> bool {
    (t.is_integer() && t.bits <= 32) || t.is_float8()
}

fn is_small_or_float(t: DType) -> bool {
    is_small(t) || is_real(t)
}

fn infer(cx: &CallContext, takes: fn(DType) -> bool, gives: fn(DType) -> bool) -> Inferred {
    let data = cx.tensor("data")?;
    let out = cx.dtype("out_dtype")?.ok_or_else(|| cx.error_at("out_dtype", "`out_dtype` must be given"))?;
    if !gives(out) {
        return Err(cx.error_at("out_dtype", format_args!("`out_dtype` must not be {out}")));
    }
    if let Some(t) = data.dtype.filter(|t| !takes(*t)) {
        return Err(cx.error_at("data", format_args!("`data` must not hold {t}")));
    }
    if let Some(t) = cx.tensor_or_scalar("scale")?.dtype.filter(|t| !is_real(*t)) {
        return Err(cx.error_at("scale", format_args!("`scale` must hold floats, not {t}")));
    }
    if let Some(t) = cx.tensor_or_scalar("zero_point")?.dtype.filter(|t| !is_small_or_float(*t)) {
        return Err(
            cx.error_at("zero_point", format_args!("`zero_point` must hold integers of at most 32 bits, not {t}"))
        );
    }
    for param in ["scale", "zero_point"] {
        expect_parameter(cx, param, &data)?;
    }
    Ok(TensorType { dtype: Some(out), ..data }.into())
}

/// Checks that there is one parameter, or one per index along the axis.
fn expect_parameter(cx: &CallContext, param: &str, data: &TensorType) -> Result<(), InferError> {
    let ty = cx.tensor_or_scalar(param)?;
    if ty.dims().is_some_and(|d| d.iter().all(|d| dims::is(d, 1))) {
        return Ok(());
    }
    let Some(ndim) = data.ndim() else { return Ok(()) };
    let axis = axis(cx, ndim)?;
    let fits = match (ty.dims(), data.dims()) {
        // Rank-0 data has no axis.
        (Some([n]), Some(d)) => d.get(axis).is_some_and(|size| dims::equal(n, size) != Some(false)),
        (Some([_]), None) => true,
        (Some(_), _) => false,
        (None, _) => ty.ndim().is_none_or(|n| n <= 1),
    };
    if !fits {
        let (shape, size) = (shape_text(&ty), data.dims().and_then(|d| d.get(axis)).map_or("?".to_owned(), dim_text));
        return Err(cx.error_at(
            param,
            format_args!("`{param}` must have 1 element or {size}, one along axis {axis}, but its shape is {shape}"),
        ));
    }
    Ok(())
}

/// The axis of parameters; irrelevant for rank-0 tensors.
fn axis(cx: &CallContext, ndim: usize) -> Result<usize, InferError> {
    if ndim == 0 { Ok(0) } else { cx.axis("axis", ndim) }
}

/// A function of element, scale, zero point and result dtype.
type Formula = fn(PrimExpr, PrimExpr, PrimExpr, DType) -> PrimExpr;

fn legalize(cx: &CallContext, formula: Formula) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, cx.op.name)?;
    let (data, scale, zero) = (b.input("data")?, b.input("scale")?, b.input("zero_point")?);
    let axis = axis(cx, data.ndim())?;
    let out = b.output(if cx.op.name == "quantize" { "quantized" } else { "dequantized" })?;
    for (name, param) in [("scale", &scale), ("zero_point", &zero)] {
        if let [size] = param.shape()
            && !dims::is(size, 1)
        {
            b.require_shape(name, param, &data.shape()[axis..=axis]);
        }
    }
    b.compute(&out, |i| {
        let of = |p: &Input| match p.ndim() {
            1 if !dims::is(&p.shape()[0], 1) => p.at(&[i[axis].clone()]),
            n => p.at(&vec![PrimExpr::int64(0); n]),
        };
        formula(data.at(i), of(&scale), of(&zero), out.dtype)
    });
    Ok(b.finish())
}

/// Rounds half to even. Small float dtypes are only rounded by the conversion.
fn quantized(x: PrimExpr, scale: PrimExpr, zero: PrimExpr, to: DType) -> PrimExpr {
    let wide = if to.bits > 16 { DType::FLOAT64 } else { DType::FLOAT32 };
    let scaled = x.cast(wide) / scale.cast(wide);
    if to.is_integer() && to.bits == 8 && zero.dtype().is_integer() && zero.dtype().bits == 8 {
        return nearest_byte(scaled, zero, to);
    }
    let rounded = if to.is_integer() { scaled.unary("nearbyint") } else { scaled };
    clip_cast(rounded + zero.cast(wide), to)
}

/// The nearest byte to a float32 plus a zero point, without a float-to-int conversion: equals `clip(round(x) + zero)`,
/// since the bounds are integers. Floats from 2²³ to 2²⁴ are integers, with the value in their low mantissa bits.
fn nearest_byte(x: PrimExpr, zero: PrimExpr, to: DType) -> PrimExpr {
    let whole = PrimExpr::float(f64::from(3 << 22), DType::FLOAT32);
    let bound = |v: PrimExpr| v.cast(DType::FLOAT32) - zero.clone().cast(DType::FLOAT32);
    let inside = bound(lowest(to)).max(bound(highest(to)).min(x));
    let counted = PrimExpr::intrin("reinterpret", vec![inside + whole], DType::INT32);
    (counted + zero.cast(DType::INT32)).cast(to)
}

/// The difference of integers is exact before it is scaled.
fn dequantized(x: PrimExpr, scale: PrimExpr, zero: PrimExpr, to: DType) -> PrimExpr {
    let wide = if to.bits > 32 { to } else { DType::FLOAT32 };
    let exact = if x.dtype().is_integer() && zero.dtype().is_integer() { DType::INT32 } else { wide };
    let difference = x.cast(exact) - zero.cast(exact);
    let value = difference.cast(wide) * scale.cast(wide);
    if to.bits >= 32 { value.cast(to) } else { clip_cast(value, to) }
}

/// Converts to a shorter dtype, saturating.
fn clip_cast(x: PrimExpr, to: DType) -> PrimExpr {
    let bound = |v: f64| PrimExpr::float(v, x.dtype());
    let Some((low, high)) = range(to) else { return x.cast(to) };
    bound(low).max(bound(high).min(x.clone())).cast(to)
}

/// Finite value range of a short dtype.
fn range(dtype: DType) -> Option<(f64, f64)> {
    let symmetric = |v: f64| Some((-v, v));
    match dtype {
        t if t.is_integer() => Some((bound(lowest(t))?, bound(highest(t))?)),
        DType::FLOAT16 => symmetric(65504.0),
        DType::FLOAT8_E5M2 => symmetric(57344.0),
        t if t.bits <= 8 && largest_float(t).is_finite() => symmetric(largest_float(t)),
        _ => None,
    }
}

fn bound(value: PrimExpr) -> Option<f64> {
    value.as_int().map(|v| v as f64)
}
