//! Overflow checks for functions that compute sizes.
//!
//! Every value that a function with the attribute [`EXACT`] stores, binds or returns becomes `exact(value, text, name,
//! variable, …)` before other steps rewrite it. Code generation checks each operation inside; an error shows the text
//! with the names and values of the variables.

use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, check},
    print::dim_text,
    tir::{EXACT, PrimFunc, Stmt, StmtKind},
};

/// Marks the values that must not overflow in the body of a function.
pub fn mark_exact(func: &PrimFunc, body: &mut Stmt) {
    if func.attrs.is_true(EXACT) {
        mark_stmt(body);
    }
}

fn mark_stmt(stmt: &mut Stmt) {
    match &mut stmt.kind {
        StmtKind::Store { value, .. } | StmtKind::Bind(_, value) | StmtKind::Return(value) => *value = exact(value),
        _ => stmt.each_child_mut(&mut mark_stmt),
    }
}

/// Wraps a value whose computation must not overflow.
pub fn exact(value: &PrimExpr) -> PrimExpr {
    if matches!(value.kind(), PrimKind::Load(..)) {
        return value.clone();
    }
    let mut args = vec![value.clone(), PrimExpr::str(dim_text(value))];
    for var in check::variables(value) {
        args.extend([PrimExpr::str(var.name().clone()), var.expr()]);
    }
    PrimExpr::intrin(check::EXACT, args, value.ty().clone())
}
