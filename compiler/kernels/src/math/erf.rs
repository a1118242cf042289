//! The error function.
#![allow(clippy::approx_constant, reason = "coefficients come from fits")]

use super::{Scope, choice::Choice, exp};
use hammock_ir::PrimExpr;

/// erf(x) / x over x^2 for |x| <= 1.
const SMALL_SINGLE: [f64; 6] = [
    1.1283791065216064,
    -0.3761223554611206,
    0.11279378831386566,
    -0.02668687328696251,
    0.0048874663189053535,
    -0.0005502960411831737,
];
const SMALL_DOUBLE: [f64; 12] = [
    1.1283791670955126,
    -0.3761263890318345,
    0.11283791670942256,
    -0.026866170642875126,
    0.005223977604523646,
    -0.0008548325863848387,
    0.00012055291855263691,
    -1.4924682668320873e-05,
    1.6446799340546312e-06,
    -1.620397658710794e-07,
    1.3701613142370826e-08,
    -7.763150931551423e-10,
];
/// -log(1 - erf a) for 0.9 <= a <= 4, where erf is 1 in float32.
const LARGE_SINGLE: [f64; 6] = [
    0.0018224483355879784,
    1.1203970909118652,
    0.6504548788070679,
    0.09132197499275208,
    -0.015652284026145935,
    0.0012613511644303799,
];
/// e^(a^2) (1 - erf a) over t = (a - 2) / (a + 2) for 1 <= a <= 6, where erf is 1 in float64.
const LARGE_DOUBLE: [f64; 14] = [
    0.25539567631050575,
    -0.4271858474139584,
    0.24165819424245766,
    -0.07897858101585051,
    0.00373289240549213,
    0.006997461763069344,
    -0.0008471432209691894,
    -0.0009819782171632562,
    4.35498051611148e-05,
    0.0001743728522278727,
    2.766963703327718e-05,
    -2.733841314310971e-05,
    -1.4680022254120359e-05,
    -1.691847748168016e-06,
];

/// `erf x`.
pub fn erf(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let z = s.name("z", x * x);
    let small = s.poly(&z, if s.is_single() { &SMALL_SINGLE } else { &SMALL_DOUBLE }) * x;
    let bound = if s.is_single() { 4.0 } else { 6.0 };
    let a = s.name("a", s.at_most(&s.abs(x), bound));
    let complement = if s.is_single() {
        let p = s.poly(&a, &LARGE_SINGLE);
        let minus = s.neg(&p);
        exp::exp(s, &minus)
    } else {
        let t = s.name("t", (&a - s.c(2.0)) / (&a + s.c(2.0)));
        let factor = s.poly(&t, &LARGE_DOUBLE);
        let minus = s.neg(&(&a * &a));
        exp::exp(s, &minus) * factor
    };
    let large = s.c(1.0) - complement;
    let large = s.copy_sign(&large, x);
    let limit = if s.is_single() { 0.95 } else { 1.0 };
    // A NaN is not small, and stays one through the other branch.
    s.abs(x).is_lt(s.c(limit)).pick(small, large)
}
