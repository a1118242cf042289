//! The error function.
#![allow(clippy::approx_constant, reason = "coefficients come from fits")]

use super::{Scope, compare_ops::CompareOps, exp};
use hammock_ir::PrimExpr;

/// erf(x) / x - 1 over x^2 for |x| <= 1: subtracting one gains three bits in the first coefficient.
const SMALL_SINGLE: [f64; 6] = [
    0.12837912142276764,
    -0.37612324953079224,
    0.11280178278684616,
    -0.026711350306868553,
    0.004917645826935768,
    -0.0005631905514746904,
];
/// erf(x) / x over x^2 for |x| <= 1.
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
/// The fourth root of 1 - erf a for 1 <= a <= 4, where erf is 1 in float32.
const ROOT_SINGLE: [f64; 9] = [
    1.0020753145217896,
    -0.2931019067764282,
    -0.09429220855236053,
    -0.016420608386397362,
    0.04308867081999779,
    -0.012442316859960556,
    0.0006960614700801671,
    0.00018949071818497032,
    -2.2979784262133762e-05,
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

/// `erf x`. The float32 form uses polynomials only: cheaper and more accurate than a quotient of two polynomials.
pub fn erf(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let z = s.name("z", x * x);
    let (small, large) = if s.is_single() { single(s, x, &z) } else { double(s, x, &z) };
    let large = s.copy_sign(&large, x);
    // NaN takes the other branch, which preserves it.
    s.abs(x).is_lt(s.c(1.0)).pick(small, large)
}

/// Returns the values for magnitudes below one and from one on, given the square.
fn single(s: &mut Scope, x: &PrimExpr, z: &PrimExpr) -> (PrimExpr, PrimExpr) {
    let p = s.poly(z, &SMALL_SINGLE);
    let small = s.fma(&p, x, x);
    let a = s.name("a", s.at_most(&s.abs(x), 4.0));
    let root = s.poly(&a, &ROOT_SINGLE);
    let root = s.name("root", root);
    let square = s.name("square", &root * &root);
    let minus = s.neg(&square);
    (small, s.fma(&minus, &square, &s.c(1.0)))
}

fn double(s: &mut Scope, x: &PrimExpr, z: &PrimExpr) -> (PrimExpr, PrimExpr) {
    let small = s.poly(z, &SMALL_DOUBLE) * x;
    let a = s.name("a", s.at_most(&s.abs(x), 6.0));
    let t = s.name("t", (&a - s.c(2.0)) / (&a + s.c(2.0)));
    let factor = s.poly(&t, &LARGE_DOUBLE);
    let minus = s.neg(&(&a * &a));
    (small, s.c(1.0) - exp::exp_of_negative(s, &minus) * factor)
}
