//! Rounding to the nearest integer, ties to even, for both `round` and `nearbyint`.

use super::{Scope, compare_ops::CompareOps};
use hammock_ir::PrimExpr;

/// Emulates rounding on CPUs without it: by adding a large number, or through an integer.
pub fn emulate(s: &mut Scope, name: &str, x: &PrimExpr) -> PrimExpr {
    let limit = if s.is_single() { 8_388_608.0 } else { 4_503_599_627_370_496.0 };
    let a = s.name("a", s.abs(x));
    let nearest = (&a + s.c(limit)) - s.c(limit);
    let nearest = s.name("nearest", nearest);
    let towards_zero = nearest.is_gt(&a).pick(&nearest - s.c(1.0), nearest.clone());
    let towards_zero = s.name("whole", towards_zero);
    let differs = s.name("differs", towards_zero.is_ne(&a));
    let away = &towards_zero + s.c(1.0);
    let negative = s.name("negative", s.is_negative(x));
    let magnitude = match name {
        "nearbyint" => nearest,
        "trunc" => towards_zero,
        "floor" => differs.and(negative).pick(away, towards_zero),
        _ => differs.and(negative.not()).pick(away, towards_zero),
    };
    let value = s.copy_sign(&magnitude, x);
    // Large numbers are integers; NaN compares false.
    a.is_lt(s.c(limit)).pick(value, x.clone())
}
