//! Matchers for softplus, `log(1 + e^z)`, and `1 + tanh x`: a single expansion of these is cheaper and more accurate
//! than one of each function.

use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimCall, PrimCallee, PrimKind},
};
use hammock_loopnest::index::same_expr;

/// Value of `z` above which `tanh(log(1 + e^z))` equals `tanh z`.
const SOFTPLUS_CUTOFF: f64 = 20.0;

/// Matches `log(1 + e^z)` and returns `z`. Models also write it as `max(z, 0) + log(1 + e^-|z|)`, or select `z` itself
/// if it is large.
pub fn softplus(e: &PrimExpr) -> Option<&PrimExpr> {
    match e.kind() {
        PrimKind::Select(condition, large, soft) => with_large(condition, large, soft),
        PrimKind::Binary(BinaryOp::Add, a, b) => of_magnitude(a, b).or_else(|| of_magnitude(b, a)),
        PrimKind::Call(call) => match intrinsic(call) {
            ("if_then_else", [condition, large, soft]) => with_large(condition, large, soft),
            ("log1p", [w]) => of_function("exp", w),
            ("log", [sum]) => match sum.kind() {
                PrimKind::Binary(BinaryOp::Add, w, one) if float(one) == Some(1.0) => of_function("exp", w),
                PrimKind::Binary(BinaryOp::Add, one, w) if float(one) == Some(1.0) => of_function("exp", w),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Matches `1 + tanh x` and returns `x`.
pub fn one_plus_tanh<'a>(op: BinaryOp, a: &'a PrimExpr, b: &'a PrimExpr) -> Option<&'a PrimExpr> {
    let other = match (op, float(a), float(b)) {
        (BinaryOp::Add, Some(1.0), _) => b,
        (BinaryOp::Add, _, Some(1.0)) => a,
        _ => return None,
    };
    of_function("tanh", other).filter(|x| softplus(x).is_none())
}

/// Matches a select of `large` above a bound, and of its softplus below.
fn with_large<'a>(condition: &PrimExpr, large: &PrimExpr, soft: &'a PrimExpr) -> Option<&'a PrimExpr> {
    let PrimKind::Binary(BinaryOp::Gt | BinaryOp::Ge, z, bound) = condition.kind() else { return None };
    let far = float(bound).is_some_and(|bound| bound >= SOFTPLUS_CUTOFF);
    softplus(soft).filter(|of| far && same_expr(of, z) && same_expr(of, large))
}

/// Matches `max(z, 0) + log(1 + e^-|z|)`.
fn of_magnitude<'a>(max: &'a PrimExpr, tail: &PrimExpr) -> Option<&'a PrimExpr> {
    let PrimKind::Binary(BinaryOp::Max, a, b) = max.kind() else { return None };
    let z = if float(b) == Some(0.0) { a } else { Some(b).filter(|_| float(a) == Some(0.0))? };
    let of = magnitude(softplus(tail)?)?;
    same_expr(of, z).then_some(z)
}

/// Matches `-|z|` and returns `z`.
fn magnitude(e: &PrimExpr) -> Option<&PrimExpr> {
    let size = match e.kind() {
        PrimKind::Binary(BinaryOp::Sub, zero, size) if float(zero) == Some(0.0) => size,
        PrimKind::Binary(BinaryOp::Mul, a, b) if float(b) == Some(-1.0) => a,
        PrimKind::Binary(BinaryOp::Mul, a, b) if float(a) == Some(-1.0) => b,
        _ => return None,
    };
    of_function("fabs", size).or_else(|| of_function("abs", size))
}

/// Returns true if an expression is `e^-|z|`, which is in `[0, 1]`.
pub fn is_fraction(e: &PrimExpr) -> bool {
    of_function("exp", e).is_some_and(|z| magnitude(z).is_some())
}

/// Returns the operand of a call of a unary function.
fn of_function<'a>(name: &str, e: &'a PrimExpr) -> Option<&'a PrimExpr> {
    match e.kind() {
        PrimKind::Call(call) => match intrinsic(call) {
            (function, [operand]) if function == name => Some(operand),
            _ => None,
        },
        _ => None,
    }
}

fn intrinsic(call: &PrimCall) -> (&str, &[PrimExpr]) {
    match &call.callee {
        PrimCallee::Intrin(name) => (name, &call.args),
        PrimCallee::Global(_) => ("", &[]),
    }
}

/// Returns the value of a constant that is the same in all lanes.
fn float(e: &PrimExpr) -> Option<f64> {
    match e.kind() {
        PrimKind::Broadcast(value, ..) => float(value),
        PrimKind::Float(value) => Some(*value),
        _ => None,
    }
}
