//! Properties of reductions that plans for all machines rely on.

use hammock_ir::{DType, PrimExpr, prim::BinaryOp};

/// Returns the condition under which a value replaces another in an arg-reduction. `selects_nan`: true if the first NaN
/// is the result.
pub fn is_better(op: BinaryOp, selects_nan: bool, new: &PrimExpr, old: &PrimExpr) -> PrimExpr {
    let (new, old) = (new.clone(), old.clone());
    if selects_nan {
        let no_better = if op == BinaryOp::Max { new.le(old.clone()) } else { new.ge(old.clone()) };
        let is_nan = PrimExpr::intrin("isnan", vec![old], DType::BOOL);
        return is_nan.select(PrimExpr::bool(false), no_better.not());
    }
    if op == BinaryOp::Max { new.gt(old) } else { new.lt(old) }
}

/// Returns the identity element of an operation, if it has one.
pub fn identity(op: BinaryOp, dtype: DType) -> Option<PrimExpr> {
    match op {
        BinaryOp::Add => Some(PrimExpr::constant(0.0, dtype)),
        BinaryOp::Mul => Some(PrimExpr::constant(1.0, dtype)),
        _ => None,
    }
}
