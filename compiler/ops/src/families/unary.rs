//! Element-wise functions of one tensor.
//!
//! Float functions keep the dtype of their operand and require a float; the others accept any number. 16-bit floats are
//! computed in float32.

use crate::{
    CallContext,
    legalize::{Builder, Legalized, accumulator},
    op::Op,
    precision::Precision,
    relayout,
    rules::{Inferred, expect_bits, same_as},
};
use hammock_ir::{DType, PrimExpr, TensorType, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    let mut ops = float_functions();
    ops.extend(number_functions());
    ops.extend(predicates());
    ops
}

fn float_functions() -> Vec<Op> {
    vec![
        float("acos", "The inverse cosine, in radians.", |x| x.unary("acos")),
        float("acosh", "The inverse hyperbolic cosine.", |x| x.unary("acosh")),
        float("asin", "The inverse sine, in radians.", |x| x.unary("asin")),
        float("asinh", "The inverse hyperbolic sine.", |x| x.unary("asinh")),
        float("atan", "The inverse tangent, in radians.", |x| x.unary("atan")),
        float("atanh", "The inverse hyperbolic tangent.", |x| x.unary("atanh")),
        float("cos", "The cosine of an angle in radians.", |x| x.unary("cos")),
        float("cosh", "The hyperbolic cosine.", |x| x.unary("cosh")),
        float("erf", "The error function.", |x| x.unary("erf")),
        float("exp", "e to the power of `x`.", |x| x.unary("exp")),
        float("log", "The natural logarithm.", |x| x.unary("log")),
        float("rsqrt", "The reciprocal of the square root.", |x| x.unary("rsqrt")),
        float("sigmoid", "`1 / (1 + exp(-x))`.", |x| x.unary("sigmoid")),
        float("sin", "The sine of an angle in radians.", |x| x.unary("sin")),
        float("sinh", "The hyperbolic sine.", |x| x.unary("sinh")),
        float("sqrt", "The square root.", |x| x.unary("sqrt")),
        float("tan", "The tangent of an angle in radians.", |x| x.unary("tan")),
        float("tanh", "The hyperbolic tangent.", |x| x.unary("tanh")),
    ]
}

fn number_functions() -> Vec<Op> {
    vec![
        number("abs", "The absolute value.", abs),
        number("bitwise_not", "Inverts every bit; negates a bool.", bitwise_not).example("x: int32[2, 3]", "x").infer(
            |cx| {
                expect_bits(cx, "x")?;
                same_as("x")(cx)
            },
        ),
        number("ceil", "Rounds up to an integer.", |x| rounded(x, "ceil")),
        number("floor", "Rounds down to an integer.", |x| rounded(x, "floor")),
        number("logical_not", "Logical not: true where `x` is zero, in the dtype of `x`.", logical_not)
            .example("x: bool[2, 3]", "x"),
        number("negative", "`0 - x`.", negative),
        number("round", "Rounds to the nearest integer, ties to even.", |x| rounded(x, "nearbyint")),
        number("sign", "-1, 0 or 1 for negative, zero or positive `x`.", sign),
        number("square", "`x * x`.", |x| &x * &x),
        number("trunc", "Rounds towards zero to an integer.", |x| rounded(x, "trunc")),
        number("nn.relu", "The larger of `x` and zero.", |x| PrimExpr::constant(0.0, x.dtype()).max(x)).in_place(),
        number("nn.relu6", "`x` clamped to 0 … 6.", |x| {
            let bound = |v| PrimExpr::constant(v, x.dtype());
            bound(0.0).max(bound(6.0).min(x.clone()))
        }),
    ]
}

fn predicates() -> Vec<Op> {
    vec![
        predicate("isfinite", "True where `x` is neither infinite nor NaN.", |x| is_special(x, "isfinite", true)),
        predicate("isinf", "True where `x` is plus or minus infinity.", |x| is_special(x, "isinf", false)),
        predicate("isnan", "True where `x` is NaN.", |x| is_special(x, "isnan", false)),
    ]
}

type Function = fn(PrimExpr) -> PrimExpr;

/// A function defined on floats; short ones are computed in float32.
fn float(name: &'static str, doc: &'static str, f: Function) -> Op {
    let wide = move |x: PrimExpr| {
        let dtype = x.dtype();
        f(x.cast(accumulator(dtype))).cast(dtype)
    };
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]", "x")
        .tensor("x")
        .layouts(relayout::elementwise)
        .precision(Precision::Follow)
        .infer(float_like)
        .legalize(move |cx| elementwise(cx, wide))
}

/// A function defined on any number.
fn number(name: &'static str, doc: &'static str, f: Function) -> Op {
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]", "x")
        .tensor("x")
        .layouts(relayout::elementwise)
        .precision(Precision::Follow)
        .infer(same_as("x"))
        .legalize(move |cx| elementwise(cx, f))
}

/// A predicate on numbers.
fn predicate(name: &'static str, doc: &'static str, f: Function) -> Op {
    let rule = |cx: &CallContext| Ok(TensorType { dtype: Some(DType::BOOL), ..cx.tensor("x")? }.into());
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]", "x")
        .tensor("x")
        .layouts(relayout::elementwise)
        .precision(Precision::Follow)
        .infer(rule)
        .legalize(move |cx| elementwise(cx, f))
}

/// The rule of float functions: a tensor like `x`, which must hold floats.
pub fn float_like(cx: &CallContext) -> Inferred {
    let x = cx.tensor("x")?;
    match x.dtype {
        Some(t) if !t.is_floating() => Err(cx
            .error_at("x", format_args!("`x` must hold floats, not {t}"))
            .help("convert it with R.astype(…, \"float32\")")),
        _ => Ok(x.into()),
    }
}

/// Computes `f` of each element of the only operand.
pub fn elementwise(cx: &CallContext, f: impl FnOnce(PrimExpr) -> PrimExpr) -> Result<Legalized, InferError> {
    let name = match cx.op.name.rsplit_once('.') {
        Some((_, last)) => last.to_owned(),
        None => format!("tir_{}", cx.op.name), // as the names of C's functions would clash with libm's
    };
    let mut b = Builder::new(cx, &name)?;
    let x = b.input(cx.op.params[0].name)?;
    let out = b.output("compute")?;
    b.compute(&out, |i| f(x.at(i)));
    Ok(b.finish())
}

fn abs(x: PrimExpr) -> PrimExpr {
    match x.dtype() {
        t if t.is_floating() => x.unary("fabs"),
        t if t.is_int() => x.clone().lt(PrimExpr::int(0, t)).select(PrimExpr::int(0, t) - &x, x),
        _ => x,
    }
}

/// Floats are multiplied by -1, so that zero changes its sign too.
fn negative(x: PrimExpr) -> PrimExpr {
    match x.dtype() {
        t if t.is_floating() => x * PrimExpr::float(-1.0, t),
        t => PrimExpr::int(0, t) - x,
    }
}

fn bitwise_not(x: PrimExpr) -> PrimExpr {
    if x.dtype().is_bool() { x.not() } else { x.unary("bitwise_not") }
}

fn logical_not(x: PrimExpr) -> PrimExpr {
    let dtype = x.dtype();
    if dtype.is_bool() { x.not() } else { x.eq(PrimExpr::constant(0.0, dtype)).cast(dtype) }
}

/// A rounding function; the identity for integers.
fn rounded(x: PrimExpr, function: &'static str) -> PrimExpr {
    if x.dtype().is_floating() { x.unary(function) } else { x }
}

/// NaN is returned as is, being neither greater nor less than zero.
fn sign(x: PrimExpr) -> PrimExpr {
    let number = |v| PrimExpr::constant(v, x.dtype());
    if x.dtype().is_bool() {
        return x;
    }
    let zero_or_nan = if x.dtype().is_floating() { x.clone() } else { number(0.0) };
    let below = match x.dtype().is_uint() {
        true => zero_or_nan,
        false => x.clone().lt(number(0.0)).select(number(-1.0), zero_or_nan),
    };
    x.clone().gt(number(0.0)).select(number(1.0), below)
}

/// A predicate that is constant for integers.
fn is_special(x: PrimExpr, function: &'static str, of_integers: bool) -> PrimExpr {
    if !x.dtype().is_floating() {
        return PrimExpr::bool(of_integers);
    }
    let infinity = PrimExpr::float(f64::INFINITY, x.dtype());
    match function {
        "isnan" => PrimExpr::intrin("isnan", vec![x], DType::BOOL),
        "isinf" => x.unary("fabs").eq(infinity),
        _ => x.unary("fabs").lt(infinity),
    }
}
