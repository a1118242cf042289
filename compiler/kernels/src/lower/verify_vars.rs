//! Verifies that every variable of a flat function is defined.

use crate::error::Reason;
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{AttrNode, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// Verifies that a function has no undefined variable.
///
/// # Errors
/// When there is one.
pub fn verify_vars(func: &PrimFunc) -> Result<(), Reason> {
    let mut defined: FxHashSet<Var> = func.params.iter().map(|p| p.var.clone()).collect();
    check(&func.body, &mut defined)
}

fn check(stmt: &Stmt, defined: &mut FxHashSet<Var>) -> Result<(), Reason> {
    let mut result = Ok(());
    stmt.each_expr(&mut |e| {
        if result.is_ok() {
            result = check_expr(e, defined);
        }
    });
    result?;
    match &stmt.kind {
        StmtKind::For(l) => drop(defined.insert(l.var.clone())),
        StmtKind::Bind(v, _) => drop(defined.insert(v.clone())),
        StmtKind::Attr { node: AttrNode::Thread(iter), .. } => drop(defined.insert(iter.var.clone())),
        StmtKind::Alloc(b, _) => drop(defined.insert(b.data.clone())),
        StmtKind::Decl(b) => require_defined(&b.data, defined)?,
        StmtKind::Store { buffer, .. } => require_defined(&buffer.data, defined)?,
        _ => {}
    }
    let mut result = Ok(());
    stmt.each_child(&mut |s| {
        if result.is_ok() {
            result = check(s, defined);
        }
    });
    result
}

fn check_expr(e: &PrimExpr, defined: &mut FxHashSet<Var>) -> Result<(), Reason> {
    match e.kind() {
        PrimKind::Var(v) => require_defined(v, defined)?,
        PrimKind::Load(b, ..) => require_defined(&b.data, defined)?,
        PrimKind::Let(v, value, body) => {
            check_expr(value, defined)?;
            defined.insert(v.clone());
            return check_expr(body, defined);
        }
        _ => {}
    }
    let mut result = Ok(());
    e.each_child(&mut |c| {
        if result.is_ok() {
            result = check_expr(c, defined);
        }
    });
    result
}

fn require_defined(var: &Var, defined: &FxHashSet<Var>) -> Result<(), Reason> {
    if defined.contains(var) { Ok(()) } else { Err(Reason::Free(var.name().clone())) }
}
