//! Conditional expressions. Only the selected operand is evaluated, unless evaluating both is harmless.

use super::{Emitter, Result, Unsupported, Value};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, intrinsics::MATH_COST},
};

impl Emitter<'_, '_> {
    /// `T.if_then_else`: a branch for a scalar condition, masked loads for a vector one.
    pub(super) fn if_then_else(&mut self, condition: &PrimExpr, a: &PrimExpr, b: &PrimExpr) -> Result<Value> {
        let condition = self.decide(condition)?;
        if condition.ty.lanes > 1 {
            return self.choose_lanes(&condition, a, b);
        }
        if let Some(known) = condition.as_int() {
            return self.eval(if known != 0 { a } else { b });
        }
        if is_harmless(a) && is_harmless(b) {
            let (a, b) = (self.eval(a)?, self.eval(b)?);
            return Ok(self.f.select(&condition, &a, &b));
        }
        self.choose_branch(&condition, |s| s.eval(a), |s| s.eval(b))
    }

    fn choose_lanes(&mut self, condition: &Value, a: &PrimExpr, b: &PrimExpr) -> Result<Value> {
        let opposite = self.not(condition);
        let a = self.eval_masked(condition, a)?;
        let b = self.eval_masked(&opposite, b)?;
        Ok(self.f.select(condition, &a, &b))
    }

    /// Evaluates an expression with loads masked to the active lanes.
    fn eval_masked(&mut self, active: &Value, e: &PrimExpr) -> Result<Value> {
        if is_harmless(e) {
            return self.eval(e);
        }
        let both = match &self.active.clone() {
            Some(outer) if outer.ty == active.ty => self.f.binary("and", outer, active),
            _ => active.clone(),
        };
        let outer = self.active.replace(both);
        // Values loaded under this mask are invalid under another.
        let memo = self.memo.clone();
        let value = self.eval(e);
        self.memo = memo;
        self.active = outer;
        value
    }

    /// `and` and `or`; the right side is evaluated only if needed, unless it is harmless.
    pub(super) fn logic(&mut self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> Result<Value> {
        let left = self.decide(a)?;
        if left.ty.lanes > 1 || is_harmless(b) {
            let right = self.eval(b)?;
            return self.binary(op, &left, &right, a.dtype());
        }
        match op {
            BinaryOp::And => self.choose_branch(&left, |s| s.eval(b), |_| Ok(Value::bool(false))),
            _ => self.choose_branch(&left, |_| Ok(Value::bool(true)), |s| s.eval(b)),
        }
    }

    fn choose_branch(
        &mut self,
        condition: &Value,
        then: impl FnOnce(&mut Self) -> Result<Value>,
        otherwise: impl FnOnce(&mut Self) -> Result<Value>,
    ) -> Result<Value> {
        let (then_block, else_block, next) = (self.f.label(), self.f.label(), self.f.label());
        self.f.branch(condition, then_block, else_block);
        // A value computed in one branch is undefined in the other, and afterwards.
        let memo = self.memo.clone();
        self.f.start(then_block);
        let a = then(self)?;
        let from_then = self.f.current();
        self.f.jump(next);
        self.memo.clone_from(&memo);
        self.f.start(else_block);
        let b = otherwise(self)?;
        let from_else = self.f.current();
        self.f.jump(next);
        self.memo = memo;
        self.f.start(next);
        if a.ty != b.ty {
            return Err(Unsupported::Form("the two values of a choice have different types"));
        }
        Ok(self.f.phi(&[(&a, from_then), (&b, from_else)]))
    }
}

/// Returns true if speculative evaluation is safe and cheap: no loads, divisions or calls.
fn is_harmless(e: &PrimExpr) -> bool {
    !e.any(&mut |e| match e.kind() {
        PrimKind::Load(..) | PrimKind::Reduce(_) => true,
        PrimKind::Binary(op, _, divisor) => {
            let divides = matches!(op, BinaryOp::Div | BinaryOp::Mod | BinaryOp::FloorDiv | BinaryOp::FloorMod);
            divides && !e.dtype().is_floating() && divisor.as_int().is_none()
        }
        PrimKind::Call(call) => !call.is_pure() || call.cost() >= MATH_COST,
        _ => false,
    })
}
