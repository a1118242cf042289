//! Conditions on the elements that a reduction reads, as split reductions have them where parts do not end together with
//! the elements.

use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var},
};
use hammock_loopnest::{access::is_unit, replaced};

/// The condition in `if_then_else(position < end, element, otherwise)`, where the position moves by one with each value
/// of an axis: if it holds for the last of several consecutive values, it does for all of them.
pub struct Guard {
    whole: PrimExpr,
    /// The condition.
    pub condition: PrimExpr,
    element: PrimExpr,
}

impl Guard {
    /// Returns the condition of a reduced value along an axis.
    pub fn of(value: &PrimExpr, var: &Var) -> Option<Guard> {
        let PrimKind::Binary(_, a, b) = value.kind() else { return None };
        let (whole, call) = [b, a].into_iter().find_map(|e| Some((e, e.as_intrin("if_then_else")?)))?;
        let [condition, element, _] = call.args.as_slice() else { return None };
        let PrimKind::Binary(BinaryOp::Lt, position, end) = condition.kind() else { return None };
        let is_along = is_unit(position, var) && !end.uses(var);
        let guard = || Guard { whole: whole.clone(), condition: condition.clone(), element: element.clone() };
        is_along.then(guard)
    }

    /// Returns a value whose elements are all read.
    pub fn removed_from(&self, value: &PrimExpr) -> PrimExpr {
        replaced(value, &self.whole, &self.element)
    }
}
