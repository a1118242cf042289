//! Zero insertion (input dilation): stages that fill a buffer with data at a stride, and zeros in between.
//!
//! It is recognized in conditions `(j + c) % s == r` with constants `c`, `s` and `r` on an axis of the stage, whose
//! extent may be dynamic.

use crate::{
    Stage,
    access::guarded,
    conjuncts,
    index::{Poly, Simplifier},
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind},
};

/// Zero insertion in a dimension of a buffer: only elements with stride `step`, starting at `first`, are nonzero.
#[derive(Clone, Copy, PartialEq)]
pub struct ZeroInsertion {
    /// The dimension.
    pub dim: usize,
    /// Axis of the stage that fills the buffer.
    pub axis: usize,
    /// Stride of the nonzero elements.
    pub step: i64,
    /// The first nonzero element.
    pub first: i64,
}

/// A value that is zero unless all conditions hold.
pub struct GuardedValue {
    /// The conditions.
    pub conditions: Vec<PrimExpr>,
    /// The value if they hold.
    pub value: PrimExpr,
}

impl GuardedValue {
    /// Returns the conditions and the value of a guarded expression.
    pub fn of(value: &PrimExpr) -> Option<GuardedValue> {
        let (condition, value, other) = guarded(value)?;
        let is_zero = match other.kind() {
            PrimKind::Int(value) => *value == 0,
            PrimKind::Float(value) => *value == 0.0,
            _ => false,
        };
        let inner =
            GuardedValue::of(value).unwrap_or_else(|| GuardedValue { conditions: Vec::new(), value: value.clone() });
        let conditions = conjuncts(condition).into_iter().chain(inner.conditions).collect();
        is_zero.then_some(GuardedValue { conditions, value: inner.value })
    }
}

/// Returns the zero insertion that a condition expresses: `(j + 3) % 2 == 0`.
pub fn zero_insertion(stage: &Stage, condition: &PrimExpr) -> Option<ZeroInsertion> {
    let PrimKind::Binary(BinaryOp::Eq, position, rest) = condition.kind() else { return None };
    let PrimKind::Binary(op, position, step) = position.kind() else { return None };
    let (step, rest) = (step.as_int().filter(|step| *step > 1)?, rest.as_int()?);
    // A truncated remainder is zero exactly if the floored one is, and may differ in sign otherwise.
    if *op != BinaryOp::FloorMod && (*op != BinaryOp::Mod || rest != 0) {
        return None;
    }
    let position = Simplifier::default().poly(position);
    let axis = stage.axes.iter().position(|axis| position.uses(&axis.var))?;
    let var = &stage.axes[axis].var;
    let offset = (&position - &Poly::atom(var.expr())).as_constant()?;
    let dim = stage.indices.iter().position(|index| index.as_var() == Some(var))?;
    Some(ZeroInsertion { dim, axis, step, first: (rest - offset).rem_euclid(step) })
}

/// Returns true if a stage inserts zeros between elements.
pub fn inserts_zeros(stage: &Stage) -> bool {
    let guarded = GuardedValue::of(&stage.value);
    guarded.is_some_and(|guarded| guarded.conditions.iter().any(|condition| zero_insertion(stage, condition).is_some()))
}
