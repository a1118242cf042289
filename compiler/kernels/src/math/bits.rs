//! Functions of the bits of floats.

use super::{Scope, compare_ops::CompareOps};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, binary},
};

/// Returns the neighbour of `x` in the direction of `y`.
pub fn next_after(s: &mut Scope, x: &PrimExpr, y: &PrimExpr) -> PrimExpr {
    let bits = s.bits(x);
    let bits = s.name("bits", bits);
    // Away from zero the bits increase, for either sign.
    let away = x.is_lt(y).is_eq(x.is_gt(s.c(0.0)));
    let next = away.pick(&bits + s.i(1), bits - s.i(1));
    let next = s.float(next);
    let least = s.copy_sign(&s.float(s.i(1)), y);
    let next = x.is_eq(s.c(0.0)).pick(least, next);
    let next = x.is_eq(y).pick(y.clone(), next);
    x.is_ne(x).or(y.is_ne(y)).pick(x + y, next)
}

/// `x * 2^n`, in float64; `n` is an integer or a float that holds one.
pub fn ldexp(s: &mut Scope, x: &PrimExpr, n: &PrimExpr) -> PrimExpr {
    let n = n.clone().cast(s.int_type());
    let bound = |op, n: PrimExpr, v: i64| binary(op, n, s.i(v));
    let n = bound(BinaryOp::Min, bound(BinaryOp::Max, n, -2200), 2200);
    let mut rest = s.name("n", n);
    let mut value = x.clone();
    // Every factor stays 53 bits above the denormals, so that only the last multiplication rounds.
    for _ in 0..2 {
        let step = binary(BinaryOp::Min, binary(BinaryOp::Max, rest.clone(), s.i(-969)), s.i(1023));
        let step = s.name("step", step);
        value = s.name("value", value * s.power_of_two(step.clone()));
        rest = s.name("rest", rest - step);
    }
    let last = binary(BinaryOp::Min, binary(BinaryOp::Max, rest, s.i(-1022)), s.i(1023));
    value * s.power_of_two(last)
}
