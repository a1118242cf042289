//! Rounding to the nearest integer, ties to even, for both `round` and `nearbyint`.

use super::{Scope, compare_ops::CompareOps};
use hammock_ir::PrimExpr;

impl Scope {
    /// Emulates rounding on CPUs without it: by adding a large number, or through an integer.
    pub fn emulate_rounding(&mut self, name: &str, x: &PrimExpr) -> PrimExpr {
        let limit = if self.is_single() { 8_388_608.0 } else { 4_503_599_627_370_496.0 };
        let a = self.name("a", self.abs(x));
        let nearest = (&a + self.c(limit)) - self.c(limit);
        let nearest = self.name("nearest", nearest);
        let towards_zero = nearest.is_gt(&a).pick(&nearest - self.c(1.0), nearest.clone());
        let towards_zero = self.name("whole", towards_zero);
        let differs = self.name("differs", towards_zero.is_ne(&a));
        let away = &towards_zero + self.c(1.0);
        let negative = self.name("negative", self.is_negative(x));
        let magnitude = match name {
            "nearbyint" => nearest,
            "trunc" => towards_zero,
            "floor" => differs.and(negative).pick(away, towards_zero),
            _ => differs.and(negative.not()).pick(away, towards_zero),
        };
        let value = self.copy_sign(&magnitude, x);
        // Large numbers are integers; NaN compares false.
        a.is_lt(self.c(limit)).pick(value, x.clone())
    }
}
