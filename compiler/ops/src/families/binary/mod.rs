//! Element-wise functions of two tensors, with broadcasting.
//!
//! Operands must have one dtype. Either may be a scalar: a number in the program takes the dtype of the other operand,
//! and a rank-0 constant becomes an immediate in the kernel. Arithmetic on bools is one-bit arithmetic: sum and maximum
//! are "or", multiplication and minimum are "and", the difference is "exclusive or".
//!
//! Integer division by zero stops the kernel with an error; the minimum divided by -1 wraps to itself. Shifts by at
//! least the width of the type shift every bit out.

mod integer;

use crate::{
    CallContext,
    legalize::{Builder, Input, Legalized, accumulator},
    op::Op,
    precision::Precision,
    relayout,
    rules::{Inferred, broadcast_pair, expect_bits},
};
use hammock_ir::{
    DType, PrimExpr, TensorType,
    prim::{BinaryOp, binary},
    relax::InferError,
};
use integer::{check_nonzero, floor_divide, floor_mod, shift_left, shift_right, trunc_divide, trunc_mod};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    let mut ops = arithmetic_ops();
    ops.extend(bit_ops());
    ops.extend(comparison_ops());
    ops.extend(logic_ops());
    ops
}

fn arithmetic_ops() -> Vec<Op> {
    use BinaryOp::{Add, Max, Min, Mul, Sub};
    vec![
        arithmetic("add", "The sum.", |a, b| one_bit(Add, a, b)).in_place(),
        arithmetic("subtract", "The difference.", |a, b| one_bit(Sub, a, b)).in_place(),
        arithmetic("multiply", "The elementwise product.", |a, b| one_bit(Mul, a, b)).in_place(),
        arithmetic("maximum", "The larger; NaN when one is NaN.", |a, b| one_bit(Max, a, b)),
        arithmetic("minimum", "The smaller; NaN when one is NaN.", |a, b| one_bit(Min, a, b)),
        division("divide", "The quotient; of integers, towards zero.", trunc_divide).in_place(),
        division("floor_divide", "The quotient, rounded down.", floor_divide),
        division("mod", "The remainder, with the sign of `x1`.", trunc_mod),
        division("floor_mod", "The remainder, with the sign of `x2`.", floor_mod),
        arithmetic("power", "`x1` to the power of `x2`.", |a, b| wide(a, b, |a, b| same_type("pow", a, b))),
        arithmetic("atan2", "The angle of the point `(x2, x1)` in radians, from -pi to pi.", |a, b| {
            wide(a, b, |a, b| same_type("atan2", a, b))
        }),
        arithmetic("log_add_exp", "`log(exp(x1) + exp(x2))`, without overflow.", |a, b| wide(a, b, log_add_exp)),
    ]
}

fn bit_ops() -> Vec<Op> {
    vec![
        bits("bitwise_and", "Bitwise and.", |a, b| bitwise("bitwise_and", a, b)),
        bits("bitwise_or", "Bitwise or.", |a, b| bitwise("bitwise_or", a, b)),
        bits("bitwise_xor", "Bitwise exclusive or.", |a, b| bitwise("bitwise_xor", a, b)),
        bits("left_shift", "Shifts the bits of `x1` left by `x2`.", shift_left),
        bits("right_shift", "Shifts the bits of `x1` right by `x2`, arithmetically for signed integers.", shift_right),
    ]
}

fn comparison_ops() -> Vec<Op> {
    vec![
        comparison("equal", "True where the elements are equal.", BinaryOp::Eq),
        comparison("not_equal", "True where the elements differ.", BinaryOp::Ne),
        comparison("less", "True where `x1 < x2`.", BinaryOp::Lt),
        comparison("less_equal", "True where `x1 <= x2`.", BinaryOp::Le),
        comparison("greater", "True where `x1 > x2`.", BinaryOp::Gt),
        comparison("greater_equal", "True where `x1 >= x2`.", BinaryOp::Ge),
    ]
}

fn logic_ops() -> Vec<Op> {
    vec![
        logic("logical_and", "Logical and: true where both are nonzero, in the dtype of the operands.", PrimExpr::and),
        logic("logical_or", "Logical or: true where either is nonzero, in the dtype of the operands.", PrimExpr::or),
        logic(
            "logical_xor",
            "Logical exclusive or: true where exactly one is nonzero, in the dtype of the operands.",
            PrimExpr::ne,
        ),
    ]
}

type Function = fn(PrimExpr, PrimExpr) -> PrimExpr;

/// A function whose result has the operands' dtype.
fn arithmetic(name: &'static str, doc: &'static str, f: Function) -> Op {
    operands(name, doc).infer(same_dtype).legalize(move |cx| elementwise(cx, f))
}

/// A function of integers.
fn bits(name: &'static str, doc: &'static str, f: Function) -> Op {
    let rule = |cx: &CallContext| {
        expect_bits(cx, "x1")?;
        expect_bits(cx, "x2")?;
        same_dtype(cx)
    };
    arithmetic(name, doc, f).infer(rule).example("x: int32[2, 3]; y: int32[3]", "x, y")
}

/// A quotient or remainder, which is an error for integer division by zero.
fn division(name: &'static str, doc: &'static str, f: Function) -> Op {
    operands(name, doc).infer(same_dtype).legalize(move |cx| checked_elementwise(cx, check_nonzero, f))
}

/// A logical function, applicable to any numbers.
fn logic(name: &'static str, doc: &'static str, f: Function) -> Op {
    let on_numbers = move |a: PrimExpr, b: PrimExpr| {
        let dtype = a.dtype();
        f(is_nonzero(a), is_nonzero(b)).cast(dtype)
    };
    let op = operands(name, doc).example("x: bool[2, 3]; y: bool[3]", "x, y");
    op.infer(same_dtype).legalize(move |cx| elementwise(cx, on_numbers))
}

/// A comparison.
fn comparison(name: &'static str, doc: &'static str, op: BinaryOp) -> Op {
    let rule = |cx: &CallContext| Ok(TensorType { dtype: Some(DType::BOOL), ..broadcast_pair(cx, "x1", "x2")? }.into());
    operands(name, doc).infer(rule).legalize(move |cx| elementwise(cx, |a, b| binary(op, a, b)))
}

fn operands(name: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]; y: float32[3]", "x, y")
        .tensor("x1")
        .tensor("x2")
        .layouts(relayout::broadcast)
        .precision(Precision::Follow)
}

fn same_dtype(cx: &CallContext) -> Inferred {
    Ok(broadcast_pair(cx, "x1", "x2")?.into())
}

fn elementwise(cx: &CallContext, f: impl FnOnce(PrimExpr, PrimExpr) -> PrimExpr) -> Result<Legalized, InferError> {
    checked_elementwise(cx, |_, _, _| Ok(()), f)
}

/// The same, after a check of the second operand.
fn checked_elementwise(
    cx: &CallContext,
    check: impl FnOnce(&CallContext, &mut Builder, &Input) -> Result<(), InferError>,
    f: impl FnOnce(PrimExpr, PrimExpr) -> PrimExpr,
) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, cx.op.name)?;
    let (x, y) = (b.input("x1")?, b.input("x2")?);
    let (x, y) = (with_dtype_of(&x, &y), with_dtype_of(&y, &x));
    check(cx, &mut b, &y)?;
    let out = b.broadcast_output(&format!("T_{}", cx.op.name), &["x1", "x2"])?;
    b.compute(&out, |i| f(x.broadcast_to(i, &out.shape), y.broadcast_to(i, &out.shape)));
    Ok(b.finish())
}

/// Converts a number in the program to the dtype of the other operand.
fn with_dtype_of(value: &Input, other: &Input) -> Input {
    let number = match value {
        Input::Scalar(e) => e.as_int().map(|v| v as f64).or(e.as_float()),
        Input::Buffer(_) => None,
    };
    match number {
        Some(v) if value.dtype() != other.dtype() => Input::Scalar(PrimExpr::constant(v, other.dtype())),
        _ => value.clone(),
    }
}

/// Arithmetic on numbers, or on bools as one-bit numbers.
fn one_bit(op: BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr {
    match op {
        _ if !a.dtype().is_bool() => binary(op, a, b),
        BinaryOp::Add | BinaryOp::Max => a.or(b),
        BinaryOp::Mul | BinaryOp::Min => a.and(b),
        _ => a.ne(b),
    }
}

/// Computes in float32 if 16-bit floats are too imprecise.
fn wide(a: PrimExpr, b: PrimExpr, f: Function) -> PrimExpr {
    let dtype = a.dtype();
    let wide = accumulator(dtype);
    f(a.cast(wide), b.cast(wide)).cast(dtype)
}

fn same_type(intrinsic: &'static str, a: PrimExpr, b: PrimExpr) -> PrimExpr {
    let dtype = a.dtype();
    PrimExpr::intrin(intrinsic, vec![a, b], dtype)
}

fn bitwise(intrinsic: &'static str, a: PrimExpr, b: PrimExpr) -> PrimExpr {
    match intrinsic {
        _ if !a.dtype().is_bool() => same_type(intrinsic, a, b),
        "bitwise_and" => a.and(b),
        "bitwise_or" => a.or(b),
        _ => a.ne(b),
    }
}

/// Returns the condition that a number is nonzero.
fn is_nonzero(x: PrimExpr) -> PrimExpr {
    let dtype = x.dtype();
    if dtype.is_bool() { x } else { x.ne(PrimExpr::constant(0.0, dtype)) }
}

/// The maximum plus `log(1 + exp(-|a - b|))`. If the maximum is infinite, the second summand would be NaN and is
/// omitted.
fn log_add_exp(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    let dtype = a.dtype();
    if !dtype.is_floating() {
        let sum = a.cast(DType::FLOAT64).unary("exp") + b.cast(DType::FLOAT64).unary("exp");
        return sum.unary("log").cast(dtype);
    }
    let larger = a.clone().max(b.clone());
    let gap = (a - b).unary("fabs");
    let sum = &larger + (gap * PrimExpr::float(-1.0, dtype)).unary("exp").unary("log1p");
    let infinite = larger.clone().unary("fabs").eq(PrimExpr::float(f64::INFINITY, dtype));
    infinite.select(larger, sum)
}
