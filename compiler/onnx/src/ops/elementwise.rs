//! Elementwise arithmetic, comparisons and logic.

use super::{Op, Result, op, strings};
use crate::{
    fold::{self, FoldOp},
    known_tensor::KnownTensor,
    node::{self, Node, scalar},
};
use hammock_ir::{DType, relax::Operand};
use hammock_ops::legalize::accumulator;

pub const OPS: &[Op] = &[
    op("Abs", |n| unary(n, "abs")).attributes("consumed_inputs@-5"),
    op("Acos", |n| unary(n, "acos")),
    op("Acosh", |n| unary(n, "acosh")),
    op("Add", |n| binary(n, "add", Some(FoldOp::Add))).attributes("axis@-6 broadcast@-6 consumed_inputs@-5"),
    op("And", |n| binary(n, "logical_and", Some(FoldOp::And))).attributes("axis@-6 broadcast@-6"),
    op("Asin", |n| unary(n, "asin")),
    op("Asinh", |n| unary(n, "asinh")),
    op("Atan", |n| unary(n, "atan")),
    op("Atanh", |n| unary(n, "atanh")),
    op("BitShift", bit_shift).attributes("direction"),
    op("BitwiseAnd", |n| binary(n, "bitwise_and", None)),
    op("BitwiseNot", |n| unary(n, "bitwise_not")),
    op("BitwiseOr", |n| binary(n, "bitwise_or", None)),
    op("BitwiseXor", |n| binary(n, "bitwise_xor", None)),
    op("Ceil", |n| unary_float(n, "ceil", f64::ceil)).attributes("consumed_inputs@-5"),
    op("Clip", clip).attributes("consumed_inputs@-5 max@-10 min@-10"),
    op("Cos", |n| unary(n, "cos")),
    op("Cosh", |n| unary(n, "cosh")),
    op("Div", |n| binary(n, "divide", Some(FoldOp::Div))).attributes("axis@-6 broadcast@-6 consumed_inputs@-5"),
    op("Equal", |n| binary(n, "equal", Some(FoldOp::Equal)))
        .on_strings(strings::equal)
        .attributes("axis@-6 broadcast@-6"),
    op("Erf", |n| unary(n, "erf")),
    op("Exp", |n| unary(n, "exp")).attributes("consumed_inputs@-5"),
    op("Floor", |n| unary_float(n, "floor", f64::floor)).attributes("consumed_inputs@-5"),
    op("Greater", |n| binary(n, "greater", Some(FoldOp::Greater))).attributes("axis@-6 broadcast@-6"),
    op("GreaterOrEqual", |n| binary(n, "greater_equal", Some(FoldOp::GreaterOrEqual))),
    op("IsInf", is_inf).attributes("detect_negative detect_positive"),
    op("IsNaN", |n| unary(n, "isnan")),
    op("Less", |n| binary(n, "less", Some(FoldOp::Less))).attributes("axis@-6 broadcast@-6"),
    op("LessOrEqual", |n| binary(n, "less_equal", Some(FoldOp::LessOrEqual))),
    op("Log", |n| unary(n, "log")).attributes("consumed_inputs@-5"),
    op("Max", |n| fold_all(n, "maximum", FoldOp::Max)).attributes("consumed_inputs@-5"),
    op("Mean", mean).attributes("consumed_inputs@-5"),
    op("Min", |n| fold_all(n, "minimum", FoldOp::Min)).attributes("consumed_inputs@-5"),
    op("Mod", modulo).attributes("fmod"),
    op("Mul", |n| binary(n, "multiply", Some(FoldOp::Mul))).attributes("axis@-6 broadcast@-6 consumed_inputs@-5"),
    op("Neg", negative).attributes("consumed_inputs@-5"),
    op("Not", not),
    op("Or", |n| binary(n, "logical_or", Some(FoldOp::Or))).attributes("axis@-6 broadcast@-6"),
    op("Pow", power).attributes("axis@-6 broadcast@-6"),
    op("Reciprocal", reciprocal).attributes("consumed_inputs@-5"),
    op("Round", |n| unary(n, "round")),
    op("Sign", |n| unary(n, "sign")),
    op("Sin", |n| unary(n, "sin")),
    op("Sinh", |n| unary(n, "sinh")),
    op("Sqrt", |n| unary_float(n, "sqrt", f64::sqrt)).attributes("consumed_inputs@-5"),
    op("Sub", |n| binary(n, "subtract", Some(FoldOp::Sub))).attributes("axis@-6 broadcast@-6 consumed_inputs@-5"),
    op("Sum", |n| fold_all(n, "add", FoldOp::Add)).attributes("consumed_inputs@-5"),
    op("Tan", |n| unary(n, "tan")),
    op("Tanh", |n| unary(n, "tanh")).attributes("consumed_inputs@-5"),
    op("Where", select),
    op("Xor", |n| binary(n, "logical_xor", None)).attributes("axis@-6 broadcast@-6"),
];

fn unary(n: &mut Node, ours: &'static str) -> Result {
    let x = n.input(0)?;
    Ok(n.call(ours, [x])?.into())
}

/// Imports a unary float operator whose result is exact or correctly rounded, so it can be folded.
fn unary_float(n: &mut Node, ours: &'static str, exact: fn(f64) -> f64) -> Result {
    match n.known(0).and_then(|x| fold::unary(&x, exact)) {
        Some(known) => Ok(known.into()),
        None => unary(n, ours),
    }
}

fn not(n: &mut Node) -> Result {
    let truth = n
        .known(0)
        .and_then(|x| fold::binary(FoldOp::Equal, &x, &KnownTensor::new(&[], x.dtype, [fold::zero(x.dtype)])?));
    match truth {
        Some(known) => Ok(known.into()),
        None => unary(n, "logical_not"),
    }
}

/// Folds a binary operator on known elements.
fn fold_inputs(n: &Node, fold: Option<FoldOp>) -> Option<KnownTensor> {
    if n.is_aligned_by_attributes() {
        return None;
    }
    fold::binary(fold?, &n.known(0)?, &n.known(1)?)
}

fn binary(n: &mut Node, ours: &'static str, fold: Option<FoldOp>) -> Result {
    if let Some(known) = fold_inputs(n, fold) {
        return Ok(known.into());
    }
    let (x, y) = operands(n)?;
    Ok(n.call(ours, [x, y])?.into())
}

/// Returns two operands that broadcast.
fn operands(n: &mut Node) -> node::Result<(Operand, Operand)> {
    let (x, y) = (n.input(0)?, n.input(1)?);
    let y = n.align_operand(&x, y)?;
    Ok((x, y))
}

/// Imports a variadic operator as a chain of binary ones.
fn fold_all(n: &mut Node, ours: &'static str, fold: FoldOp) -> Result {
    if let (2, Some(known)) = (n.inputs.len(), fold_inputs(n, Some(fold))) {
        return Ok(known.into());
    }
    Ok(combine_inputs(n, ours)?.into())
}

fn combine_inputs(n: &mut Node, ours: &'static str) -> node::Result<Operand> {
    let x = n.input(0)?;
    let dtype = n.dtype(&x)?;
    // Two operands are rounded only once anyway.
    let wide = if ours == "add" && n.inputs.len() > 2 { accumulator(dtype) } else { dtype };
    let joined = combine_inputs_in(n, ours, wide)?;
    n.cast(joined, dtype)
}

/// Combines all inputs in a dtype.
fn combine_inputs_in(n: &mut Node, ours: &'static str, dtype: DType) -> node::Result<Operand> {
    let all = n.inputs_from(0)?;
    let joined = all.into_iter().try_fold(None, |joined, x| {
        let x = n.cast(x, dtype)?;
        node::Result::Ok(Some(match joined {
            None => x,
            Some(before) => n.call(ours, [before, x])?,
        }))
    })?;
    joined.map_or_else(|| n.error("it has no inputs"), Ok)
}

fn mean(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let (count, dtype) = (n.inputs.len(), n.dtype(&x)?);
    let sum = combine_inputs_in(n, "add", accumulator(dtype))?;
    let mean = n.with_scalar("divide", &sum, count as f64)?;
    Ok(n.cast(mean, dtype)?.into())
}

fn negative(n: &mut Node) -> Result {
    let zero = n.known(0).and_then(|x| KnownTensor::new(&[], x.dtype, [fold::zero(x.dtype)]));
    match (zero, n.known(0)) {
        (Some(zero), Some(x)) if !x.dtype.is_floating() => match fold::binary(FoldOp::Sub, &zero, &x) {
            Some(known) => Ok(known.into()),
            None => unary(n, "negative"),
        },
        _ => unary(n, "negative"),
    }
}

fn reciprocal(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let one = n.scalar_like(1.0, &x)?;
    Ok(n.call("divide", [one, x])?.into())
}

/// The exponent may have another dtype; the result has the dtype of the base.
fn power(n: &mut Node) -> Result {
    let (x, y) = operands(n)?;
    let (dtype, exponent) = (n.dtype(&x)?, n.dtype(&y)?);
    if n.known(1).and_then(|y| y.floats()).is_some_and(|y| y == [2.0]) && n.rank(&y)? <= n.rank(&x)? {
        return Ok(n.call("multiply", [x.clone(), x])?.into());
    }
    if dtype.is_floating() || !exponent.is_floating() {
        let y = n.cast(y, dtype)?;
        return Ok(n.call("power", [x, y])?.into());
    }
    let x = n.cast(x, exponent)?;
    let result = n.call("power", [x, y])?;
    Ok(n.cast(result, dtype)?.into())
}

fn modulo(n: &mut Node) -> Result {
    let ours = if n.attrs.flag("fmod")? { "mod" } else { "floor_mod" };
    binary(n, ours, (ours == "floor_mod").then_some(FoldOp::FloorMod))
}

fn bit_shift(n: &mut Node) -> Result {
    let ours = match n.attrs.str_or("direction", "")? {
        "LEFT" => "left_shift",
        "RIGHT" => "right_shift",
        other => return n.error(format!("its `direction` is `{other}`, not LEFT or RIGHT")),
    };
    binary(n, ours, None)
}

fn is_inf(n: &mut Node) -> Result {
    let (negative, positive) = (n.attrs.int_or("detect_negative", 1)? != 0, n.attrs.int_or("detect_positive", 1)? != 0);
    let x = n.input(0)?;
    let infinity = if positive { f64::INFINITY } else { f64::NEG_INFINITY };
    match (negative, positive) {
        (true, true) => unary(n, "isinf"),
        (false, false) => {
            let none = n.call("isinf", [x.clone()])?;
            let not = n.call("logical_not", [none.clone()])?;
            Ok(n.call("logical_and", [none, not])?.into())
        }
        _ => Ok(n.with_scalar("equal", &x, infinity)?.into()),
    }
}

/// Bounds are optional; before version 11 they are attributes.
fn clip(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dtype = n.dtype(&x)?;
    let (low, high) = if n.opset < 11 {
        let limit = |v: Option<f64>| v.map(|v| scalar(v, dtype)).transpose();
        (limit(n.attrs.float("min")?)?, limit(n.attrs.float("max")?)?)
    } else {
        (n.optional(1)?, n.optional(2)?)
    };
    if let (true, Some(known)) = (n.opset >= 11, fold_clip(n)) {
        return Ok(known.into());
    }
    let constants = [&low, &high].map(|limit| match limit {
        Some(Operand::Const(constant)) => KnownTensor::of_tensor(&constant.tensor)?.floats()?.first().copied(),
        _ => None,
    });
    if let ([Some(low), Some(high)], true) = (constants, dtype.is_floating()) {
        let limits = [low, high].map(|v| Operand::Prim(hammock_ir::PrimExpr::float(v, dtype)));
        let [low, high] = limits;
        return Ok(n.call("clip", [x, low, high])?.into());
    }
    let x = match low {
        Some(low) => n.call("maximum", [x, low])?,
        None => x,
    };
    Ok(match high {
        Some(high) => n.call("minimum", [x, high])?,
        None => x,
    }
    .into())
}

/// Folds a clip of known elements.
fn fold_clip(n: &Node) -> Option<KnownTensor> {
    let mut x = n.known(0)?;
    for (at, fold) in [(1, FoldOp::Max), (2, FoldOp::Min)] {
        if n.given(at).is_some() {
            x = fold::binary(fold, &x, &n.known(at)?)?;
        }
    }
    Some(x)
}

fn select(n: &mut Node) -> Result {
    if let (Some(c), Some(x), Some(y)) = (n.known(0), n.known(1), n.known(2))
        && let Some(known) = fold::select(&c, &x, &y)
    {
        return Ok(known.into());
    }
    let (condition, x, y) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let condition = n.cast(condition, DType::BOOL)?;
    Ok(n.call("where", [condition, x, y])?.into())
}
