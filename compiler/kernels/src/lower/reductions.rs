//! Properties of reductions that plans for all machines rely on.

use hammock_ir::{DType, PrimExpr, prim::BinaryOp};

/// Returns the identity element of an operation, if it has one.
pub fn identity(op: BinaryOp, dtype: DType) -> Option<PrimExpr> {
    match op {
        BinaryOp::Add => Some(PrimExpr::constant(0.0, dtype)),
        BinaryOp::Mul => Some(PrimExpr::constant(1.0, dtype)),
        _ => None,
    }
}
