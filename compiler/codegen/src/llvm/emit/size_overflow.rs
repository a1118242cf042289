//! Overflow checks of size computations: an overflow or a division by zero is an error that shows the expression and
//! the values of its variables.

use super::{Emitter, Exact, Result, Ty, Unsupported, Value};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind},
};

/// Wide enough for 64-bit additions, subtractions and multiplications.
const WIDE: Ty = Ty::int(128);

impl Emitter<'_, '_> {
    /// `exact(value, text, name, variable, …)`: evaluates the value.
    pub(super) fn exact(&mut self, value: &PrimExpr, text: &PrimExpr, variables: &[PrimExpr]) -> Result<Value> {
        let name = |e: &PrimExpr| match e.kind() {
            PrimKind::Str(name) => Ok(name.to_string()),
            _ => Err(Unsupported::Form("an exact expression without its text")),
        };
        let mut exact = Exact { text: name(text)?, names: Vec::new(), values: Vec::new() };
        for pair in variables.chunks_exact(2) {
            exact.names.push(name(&pair[0])?);
            exact.values.push(self.index(&pair[1])?);
        }
        let outer = self.exact.replace(exact);
        let result = self.eval(value);
        self.exact = outer;
        result
    }

    /// Adds, subtracts or multiplies, if the result must be exact.
    pub(super) fn exact_binary(&mut self, op: BinaryOp, a: &Value, b: &Value, dtype: DType) -> Option<Value> {
        let instruction = match op {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            _ => return None,
        };
        if self.exact.is_none() || !dtype.is_int() || dtype.lanes != 1 {
            return None;
        }
        let (a, b) = (self.f.convert("sext", a, WIDE), self.f.convert("sext", b, WIDE));
        let wide = self.f.binary(instruction, &a, &b);
        let result = self.f.convert("trunc", &wide, Ty::int(dtype.bits.into()));
        self.require_same(&wide, &result, dtype);
        Some(result)
    }

    /// Checks that an exact integer is unchanged in a narrower dtype.
    pub(super) fn require_same(&mut self, wide: &Value, narrow: &Value, dtype: DType) {
        if self.exact.is_some() && dtype.is_int() && dtype.lanes == 1 {
            let back = self.f.convert("sext", narrow, wide.ty);
            let wrong = self.f.compare("icmp ne", &back, wide);
            self.fail_if(&wrong, &format!("overflows {dtype}"), "");
        }
    }

    /// Exits the function with an error if any lane of a condition is true: that the exact expression does `what`, or
    /// the message `otherwise` outside of exact expressions.
    pub(super) fn fail_if(&mut self, wrong: &Value, what: &str, otherwise: &str) {
        let wrong = self.any_lane(wrong);
        let (failed, next) = (self.f.label(), self.f.label());
        self.f.branch(&wrong, failed, next);
        self.f.start(failed);
        match self.exact.clone() {
            None => self.raise("ValueError", otherwise),
            Some(Exact { text, names, values }) => {
                let mut parts = vec![format!("{text} {what}{}", if names.is_empty() { "" } else { " with " })];
                for (i, name) in names.iter().enumerate() {
                    parts[i] += &format!("{}{name} = ", if i == 0 { "" } else { ", " });
                    parts.push(String::new());
                }
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                let values: Vec<&Value> = values.iter().collect();
                self.raise_values("ValueError", &parts, &values);
            }
        }
        self.fail();
        self.f.start(next);
    }
}
