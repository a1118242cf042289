//! Checks that every variable of a flat function has a value.

use crate::error::Reason;
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// Finds a variable without value.
///
/// # Errors
/// When there is one.
pub fn check_variables(func: &PrimFunc) -> Result<(), Reason> {
    let mut known: FxHashSet<Var> = func.params.iter().map(|p| p.var.clone()).collect();
    check(&func.body, &mut known)
}

fn check(stmt: &Stmt, known: &mut FxHashSet<Var>) -> Result<(), Reason> {
    let mut result = Ok(());
    stmt.each_expr(&mut |e| {
        if result.is_ok() {
            result = check_expr(e, known);
        }
    });
    result?;
    match &stmt.kind {
        StmtKind::For(l) => drop(known.insert(l.var.clone())),
        StmtKind::Bind(v, _) => drop(known.insert(v.clone())),
        StmtKind::Alloc(b, _) => drop(known.insert(b.data.clone())),
        StmtKind::Decl(b) => known_or_free(&b.data, known)?,
        StmtKind::Store { buffer, .. } => known_or_free(&buffer.data, known)?,
        _ => {}
    }
    let mut result = Ok(());
    stmt.each_child(&mut |s| {
        if result.is_ok() {
            result = check(s, known);
        }
    });
    result
}

fn check_expr(e: &PrimExpr, known: &mut FxHashSet<Var>) -> Result<(), Reason> {
    match e.kind() {
        PrimKind::Var(v) => known_or_free(v, known)?,
        PrimKind::Load(b, ..) => known_or_free(&b.data, known)?,
        PrimKind::Let(v, value, body) => {
            check_expr(value, known)?;
            known.insert(v.clone());
            return check_expr(body, known);
        }
        _ => {}
    }
    let mut result = Ok(());
    e.each_child(&mut |c| {
        if result.is_ok() {
            result = check_expr(c, known);
        }
    });
    result
}

fn known_or_free(var: &Var, known: &FxHashSet<Var>) -> Result<(), Reason> {
    if known.contains(var) { Ok(()) } else { Err(Reason::Free(var.name().clone())) }
}
