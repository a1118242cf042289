//! Structural equality of expressions.

use hammock_ir::{PrimExpr, prim::PrimKind};

/// Whether two expressions are built alike from the same variables and buffers.
pub fn same_expr(a: &PrimExpr, b: &PrimExpr) -> bool {
    a.same_node(b) || a.size() == b.size() && a.ty() == b.ty() && same_kind(a.kind(), b.kind())
}

fn same_kind(a: &PrimKind, b: &PrimKind) -> bool {
    use PrimKind::*;
    match (a, b) {
        (Var(a), Var(b)) => a == b,
        (Int(a), Int(b)) => a == b,
        (Float(a), Float(b)) => a.to_bits() == b.to_bits(),
        (Str(a), Str(b)) => a == b,
        (Binary(p, a, b), Binary(q, c, d)) => p == q && same_expr(a, c) && same_expr(b, d),
        (Ramp(a, b), Ramp(c, d)) => same_expr(a, c) && same_expr(b, d),
        (Not(a), Not(b)) | (Cast(a), Cast(b)) | (Broadcast(a), Broadcast(b)) => same_expr(a, b),
        (Select(a, b, c), Select(d, e, f)) => same_expr(a, d) && same_expr(b, e) && same_expr(c, f),
        (Load(a, i, m), Load(b, j, n)) => a == b && same_all(i, j) && same_option(m, n),
        (Shuffle(a, i), Shuffle(b, j)) => same_all(a, b) && same_all(i, j),
        (Call(a), Call(b)) => {
            a.callee == b.callee && a.attrs.is_empty() && b.attrs.is_empty() && same_all(&a.args, &b.args)
        }
        _ => false,
    }
}

fn same_all(a: &[PrimExpr], b: &[PrimExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_expr(a, b))
}

fn same_option(a: &Option<PrimExpr>, b: &Option<PrimExpr>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same_expr(a, b),
        (None, None) => true,
        _ => false,
    }
}
