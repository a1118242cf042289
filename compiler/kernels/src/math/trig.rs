//! Sine, cosine and tangent, after range reduction to a quadrant and at most pi/4.

use super::{Scope, angle_reduction, compare_ops::CompareOps};
use hammock_ir::PrimExpr;

/// (sin r - r) / r^3 over r^2 for |r| <= pi / 4.
const SIN_SINGLE: [f64; 3] = [-0.16666653752326965, 0.008332106284797192, -0.00019507894467096776];
const SIN_DOUBLE: [f64; 6] = [
    -0.1666666666666663,
    0.008333333333321752,
    -0.00019841269829246053,
    2.7557313489623594e-06,
    -2.5050725579830027e-08,
    1.5894869671212098e-10,
];
/// (cos r - 1 + r^2 / 2) / r^4 over r^2.
const COS_SINGLE: [f64; 3] = [0.04166664555668831, -0.0013887304812669754, 2.4431425117654726e-05];
const COS_DOUBLE: [f64; 6] = [
    0.04166666666666659,
    -0.0013888888888872197,
    2.480158728830692e-05,
    -2.7557314019474953e-07,
    2.0875678784519035e-09,
    -1.1357377463751611e-11,
];

/// Sine and cosine of a reduced angle, and its quadrant.
struct SinCos {
    sin: PrimExpr,
    cos: PrimExpr,
    quadrant: PrimExpr,
}

/// `sin x`.
pub fn sin(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    with_any_angle(s, x, |s, angle, x| {
        let reduced = evaluate(s, angle);
        let sine = turned(s, &reduced, 0);
        // The sine of a zero has its sign.
        x.is_eq(s.c(0.0)).pick(x.clone(), sine)
    })
}

/// `cos x`.
pub fn cos(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    with_any_angle(s, x, |s, angle, _| {
        let reduced = evaluate(s, angle);
        turned(s, &reduced, 1)
    })
}

/// `tan x`.
pub fn tan(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    with_any_angle(s, x, |s, angle, x| {
        let SinCos { sin, cos, quadrant } = evaluate(s, angle);
        let (sin, cos) = (s.name("sin", sin), s.name("cos", cos));
        let odd = s.bitwise("bitwise_and", &quadrant, s.i(1)).is_ne(s.i(0));
        let odd = s.name("odd", odd);
        let above = odd.pick(s.neg(&cos), sin.clone());
        let below = odd.pick(sin, cos);
        x.is_eq(s.c(0.0)).pick(x.clone(), above / below)
    })
}

/// Computes a function of the reduced angle. Angles beyond the short reduction take the long one, which is skipped
/// unless some lane needs it.
fn with_any_angle(
    s: &mut Scope,
    x: &PrimExpr,
    f: impl Fn(&mut Scope, angle_reduction::Angle, &PrimExpr) -> PrimExpr,
) -> PrimExpr {
    let limit = angle_reduction::short_limit(s);
    let is_long = s.abs(x).is_gt(s.c(limit));
    let is_long = s.name("long", is_long);
    let short = s.nested(|s| {
        let angle = angle_reduction::reduce_short(s, x);
        f(s, angle, x)
    });
    let short = s.name("short", short);
    let long = s.nested(|s| {
        let angle = angle_reduction::reduce_long(s, x);
        let long = f(s, angle, x);
        is_long.pick(long, short.clone())
    });
    any(is_long).if_then_else(long, short)
}

/// Tests if a condition holds in any lane.
pub(super) fn any(condition: PrimExpr) -> PrimExpr {
    match condition.dtype().lanes {
        1 => condition,
        _ => PrimExpr::intrin("vector_any", vec![condition], hammock_ir::DType::BOOL),
    }
}

fn evaluate(s: &mut Scope, angle: angle_reduction::Angle) -> SinCos {
    let angle_reduction::Angle { high: r, low, quadrant } = angle;
    let z = s.name("z", &r * &r);
    let (sin_terms, cos_terms): (&[f64], &[f64]) =
        if s.is_single() { (&SIN_SINGLE, &COS_SINGLE) } else { (&SIN_DOUBLE, &COS_DOUBLE) };
    let (p, q) = (s.poly(&z, sin_terms), s.poly(&z, cos_terms));
    let half_z = s.name("h", &z * s.c(0.5));
    let head = s.name("w", s.c(1.0) - &half_z);
    let (mut sin_rest, mut cos_rest) = (p * (&z * &r), q * (&z * &z));
    if let Some(low) = low {
        sin_rest = s.fma(&low, &head, &sin_rest);
        cos_rest = s.fma(&s.neg(&r), &low, &cos_rest);
    }
    let cos = &head + (((s.c(1.0) - &head) - half_z) + cos_rest);
    SinCos { sin: r + sin_rest, cos, quadrant }
}

/// Sine of the angle plus `turns` quadrants.
fn turned(s: &mut Scope, reduced: &SinCos, turns: i64) -> PrimExpr {
    let quadrant = s.name("q", &reduced.quadrant + s.i(turns));
    let odd = s.bitwise("bitwise_and", &quadrant, s.i(1)).is_ne(s.i(0));
    let value = odd.pick(reduced.cos.clone(), reduced.sin.clone());
    let value = s.name("value", value);
    let lower = s.bitwise("bitwise_and", &quadrant, s.i(2)).is_ne(s.i(0));
    lower.pick(s.neg(&value), value)
}
