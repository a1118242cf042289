//! Builder for expressions that use values several times: a scope names values, and wraps the result in their bindings.

use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, Var, binary},
};

/// Features of the target that expansions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// `a * b + c` with one rounding.
    pub fma: bool,
    /// Rounding to integers: `floor`, `ceil`, `trunc`, `nearbyint`.
    pub rounds: bool,
    /// `a * 2^floor(b)` of a float `b`, rounded once: `ldexp`; and what [steps](super::exp) take.
    pub scales: bool,
}

/// An expression under construction, of float32 or float64 with some number of lanes.
pub struct Scope {
    /// The dtype of values, lanes included.
    pub dtype: DType,
    /// Features of the target.
    pub machine: Machine,
    names: Vec<(Var, PrimExpr)>,
}

impl Scope {
    /// Returns a scope for values of a dtype.
    pub fn new(dtype: DType, machine: Machine) -> Self {
        Scope { dtype, machine, names: Vec::new() }
    }

    /// Returns true if values are float32.
    pub fn is_single(&self) -> bool {
        self.dtype.bits == 32
    }

    /// Runs `f` in a scope of float64 values whose names are bound in this one.
    pub fn in_double<T>(&mut self, f: impl FnOnce(&mut Scope) -> T) -> T {
        let dtype = self.dtype;
        self.dtype = DType::FLOAT64.with_lanes(dtype.lanes);
        let result = f(self);
        self.dtype = dtype;
        result
    }

    /// Wraps the result in the bindings of all names of the scope.
    pub fn finish(self, result: PrimExpr) -> PrimExpr {
        self.names.into_iter().rev().fold(result, |body, (var, value)| PrimExpr::bind(var, value, body))
    }

    /// Builds an expression in an inner scope, which binds its names, so that it can be one operand of a lazy select.
    pub fn nested(&mut self, f: impl FnOnce(&mut Scope) -> PrimExpr) -> PrimExpr {
        let outer = std::mem::take(&mut self.names);
        let result = f(self);
        let inner = std::mem::replace(&mut self.names, outer);
        Scope { names: inner, ..Scope::new(self.dtype, self.machine) }.finish(result)
    }

    /// Names a value, so that it is computed once.
    pub fn name(&mut self, name: &'static str, value: PrimExpr) -> PrimExpr {
        if value.as_var().is_some() {
            return value;
        }
        let var = Var::of_value(name, &value);
        self.names.push((var.clone(), value));
        var.expr()
    }

    /// Returns a float constant in each lane.
    pub fn c(&self, value: f64) -> PrimExpr {
        PrimExpr::float(value, self.dtype.element()).broadcast(self.dtype.lanes)
    }

    /// Returns the integer dtype of the same width.
    pub fn int_type(&self) -> DType {
        DType::int(self.dtype.bits).with_lanes(self.dtype.lanes)
    }

    /// Returns an integer constant of the same width in each lane.
    pub fn i(&self, value: i64) -> PrimExpr {
        PrimExpr::int(value, self.int_type().element()).broadcast(self.dtype.lanes)
    }

    /// Returns the bits of a float as an integer.
    pub fn bits(&self, x: &PrimExpr) -> PrimExpr {
        PrimExpr::intrin("reinterpret", vec![x.clone()], self.int_type())
    }

    /// Returns the float with these bits.
    pub fn float(&self, bits: PrimExpr) -> PrimExpr {
        PrimExpr::intrin("reinterpret", vec![bits], self.dtype)
    }

    /// `a op b` for a bit operation or shift.
    pub fn bitwise(&self, op: &'static str, a: &PrimExpr, b: PrimExpr) -> PrimExpr {
        let dtype = a.dtype();
        PrimExpr::intrin(op, vec![a.clone(), b], dtype)
    }

    /// Number of stored mantissa bits.
    pub fn mantissa_bits(&self) -> i64 {
        if self.is_single() { 23 } else { 52 }
    }

    /// Exponent bias.
    pub fn bias(&self) -> i64 {
        if self.is_single() { 127 } else { 1023 }
    }

    /// `2^n` for an integer within the range of normal exponents.
    pub fn power_of_two(&self, n: PrimExpr) -> PrimExpr {
        let exponent = n + self.i(self.bias());
        self.float(self.bitwise("shift_left", &exponent, self.i(self.mantissa_bits())))
    }

    /// `a * b + c`, rounded once if the target has FMA.
    pub fn fma(&self, a: &PrimExpr, b: &PrimExpr, c: &PrimExpr) -> PrimExpr {
        if self.machine.fma {
            return PrimExpr::intrin("fma", vec![a.clone(), b.clone(), c.clone()], self.dtype);
        }
        a * b + c
    }

    /// Returns a polynomial in `x`, coefficients from the constant upwards.
    pub fn poly(&mut self, x: &PrimExpr, coefficients: &[f64]) -> PrimExpr {
        let mut terms = coefficients.iter().rev().map(|c| self.c(*c)).collect::<Vec<_>>().into_iter();
        let first = terms.next().unwrap_or_else(|| self.c(0.0));
        terms.fold(first, |sum, c| self.fma(&sum, x, &c))
    }

    /// `|x|`.
    pub fn abs(&self, x: &PrimExpr) -> PrimExpr {
        x.clone().unary("fabs")
    }

    /// `-x`, also of zero.
    pub fn neg(&self, x: &PrimExpr) -> PrimExpr {
        let bits = self.bitwise("bitwise_xor", &self.bits(x), self.i(self.sign_bit()));
        self.float(bits)
    }

    /// The smaller of `x` and a bound; NaN stays.
    pub fn at_most(&self, x: &PrimExpr, bound: f64) -> PrimExpr {
        binary(BinaryOp::Min, self.c(bound), x.clone())
    }

    /// The larger of `x` and a bound; NaN stays.
    pub fn at_least(&self, x: &PrimExpr, bound: f64) -> PrimExpr {
        binary(BinaryOp::Max, self.c(bound), x.clone())
    }

    /// Returns the nearest integer, as a float.
    pub fn nearest(&mut self, x: &PrimExpr) -> PrimExpr {
        if self.machine.rounds { x.clone().unary("nearbyint") } else { self.emulate_rounding("nearbyint", x) }
    }

    /// Returns the integer part, as a float.
    pub fn truncate(&mut self, x: &PrimExpr) -> PrimExpr {
        if self.machine.rounds { x.clone().unary("trunc") } else { self.emulate_rounding("trunc", x) }
    }

    /// Returns the magnitude of `x` with the sign of `y`.
    pub fn copy_sign(&mut self, x: &PrimExpr, y: &PrimExpr) -> PrimExpr {
        let sign = self.bitwise("bitwise_and", &self.bits(y), self.i(self.sign_bit()));
        let magnitude = self.bitwise("bitwise_and", &self.bits(x), self.i(!self.sign_bit()));
        self.float(self.bitwise("bitwise_or", &magnitude, sign))
    }

    /// Tests the sign bit, also of zeros and NaNs.
    pub fn is_negative(&self, x: &PrimExpr) -> PrimExpr {
        self.bits(x).lt(self.i(0))
    }

    /// Multiplies float64 numbers, well below overflow; returns the rounded result and its error.
    pub fn two_product(&mut self, a: &PrimExpr, b: &PrimExpr) -> (PrimExpr, PrimExpr) {
        let high = self.name("high", a * b);
        if self.machine.fma {
            let low = self.fma(a, b, &self.neg(&high));
            return (high, self.name("low", low));
        }
        let ((a1, a0), (b1, b0)) = (self.halves(a), self.halves(b));
        let low = ((&a1 * &b1 - &high) + &a1 * &b0 + &a0 * &b1) + a0 * b0;
        (high, self.name("low", low))
    }

    /// Adds; returns the rounded sum and its error.
    pub fn two_sum(&mut self, a: &PrimExpr, b: &PrimExpr) -> (PrimExpr, PrimExpr) {
        let sum = self.name("sum", a + b);
        let part = self.name("part", &sum - a);
        let rest = (a - (&sum - &part)) + (b - &part);
        (sum, self.name("rest", rest))
    }

    /// Splits a float64, well below overflow, into two halves that multiply exactly (Dekker 1971).
    fn halves(&mut self, x: &PrimExpr) -> (PrimExpr, PrimExpr) {
        let scaled = self.name("scaled", x * self.c(134_217_729.0));
        let high = self.name("half", &scaled - (&scaled - x));
        let low = self.name("half", x - &high);
        (high, low)
    }

    fn sign_bit(&self) -> i64 {
        if self.is_single() { i64::from(i32::MIN) } else { i64::MIN }
    }
}
