//! Hyperbolic functions, their inverses, and the logistic function.

use super::{
    Scope,
    compare_ops::CompareOps,
    exp::{self, table},
    log,
};
use hammock_ir::PrimExpr;
use std::f64::consts::LN_2;

/// (tanh x - x) / x^3 over x^2 for x <= 0.55.
const TANH: [f64; 4] = [-0.3333294401272548, 0.13320662218670518, -0.05266764947222974, 0.01642941761638762];

/// `tanh x`.
pub fn tanh(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let a = s.name("a", s.abs(x));
    if !s.is_single() {
        // t = e^-2a - 1 is accurate for small and large a.
        let t = exp::expm1(s, &(&a * s.c(-2.0)));
        let t = s.name("t", t);
        let value = s.neg(&t) / (t + s.c(2.0));
        return s.copy_sign(&value, x);
    }
    let e = if table::is_supported(s) {
        table::exp_beside_one(s, &a, -2.0)
    } else {
        let bounded = s.name("bounded", s.at_most(&a, 10.0) * s.c(-2.0));
        exp::normal_exp(s, &bounded)
    };
    let e = s.name("e", e);
    let large = (s.c(1.0) - &e) / (e + s.c(1.0));
    let z = s.name("z", &a * &a);
    let small = s.poly(&z, &TANH);
    let small = s.fma(&small, &(&z * &a), &a);
    let value = a.is_lt(s.c(0.55)).select(small, large);
    s.copy_sign(&value, x)
}

/// `tanh(log(1 + e^x))`, which is `n / (n + 2)` for `w = e^x`, `n = w^2 + 2 w`, a sum of positive numbers.
pub fn tanh_of_softplus(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    // The result is one above this bound.
    let bounded = s.at_most(x, 20.0);
    let bounded = s.name("bounded", bounded);
    let w = exp::exp(s, &bounded);
    let w = s.name("w", w);
    let n = s.name("n", &w * (&w + s.c(2.0)));
    &n / (&n + s.c(2.0))
}

/// `1 / (1 + e^-x)`.
pub fn sigmoid(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    logistic(s, x, 1.0)
}

/// `1 + tanh x`, without cancellation: `2 / (1 + e^-2x)`.
pub fn one_plus_tanh(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    logistic(s, x, 2.0)
}

/// `k / (1 + e^-kx)` for a power of two.
fn logistic(s: &mut Scope, x: &PrimExpr, k: f64) -> PrimExpr {
    let a = s.abs(x);
    let e = if table::is_supported(s) {
        table::exp_of_multiple(s, &a, -k, 0)
    } else {
        let minus = if k == 1.0 { s.neg(&a) } else { a * s.c(-k) };
        exp::exp_of_negative(s, &minus)
    };
    let e = s.name("e", e);
    let below = if k == 1.0 { e.clone() } else { &e * s.c(k) };
    x.is_ge(s.c(0.0)).pick(s.c(k), below) / (e + s.c(1.0))
}

/// `sinh x`, in float64.
pub fn sinh(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let a = s.name("a", s.abs(x));
    let t = exp::expm1(s, &a);
    let t = s.name("t", t);
    let small = (&t + &t / (&t + s.c(1.0))) * s.c(0.5);
    let half = exp::scaled_exp(s, &a, -1);
    let value = a.is_lt(s.c(22.0)).pick(small, half);
    s.copy_sign(&value, x)
}

/// `cosh x`, in float64.
pub fn cosh(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let half = exp::scaled_exp(s, &s.abs(x), -1);
    let half = s.name("half", half);
    &half + s.c(0.25) / &half
}

/// `asinh x`, in float64.
pub fn asinh(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let a = s.name("a", s.abs(x));
    let square = s.name("square", &a * &a);
    let root = (&square + s.c(1.0)).unary("sqrt");
    let large = s.name("large", a.is_gt(s.c(1e150)));
    // One logarithm serves both ranges: of 1 + (a + a^2 / (1 + sqrt(1 + a^2))), or of a, plus log 2.
    let argument = &a + square / (root + s.c(1.0));
    let argument = large.pick(a, argument);
    let value = log::log1p(s, &argument) + large.pick(s.c(LN_2), s.c(0.0));
    s.copy_sign(&value, x)
}

/// `acosh x`, in float64.
pub fn acosh(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let t = s.name("t", x - s.c(1.0));
    let root = (&t * &t + &t * s.c(2.0)).unary("sqrt");
    let large = s.name("large", x.is_gt(s.c(1e150)));
    let argument = large.pick(t.clone(), t + root);
    let value = log::log1p(s, &argument) + large.pick(s.c(LN_2), s.c(0.0));
    x.is_ge(s.c(1.0)).select(value, s.c(f64::NAN))
}

/// `atanh x`, in float64.
pub fn atanh(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let a = s.name("a", s.abs(x));
    let argument = s.name("argument", (&a * s.c(2.0)) / (s.c(1.0) - &a));
    let value = log::log1p(s, &argument) * s.c(0.5);
    s.copy_sign(&value, x)
}
