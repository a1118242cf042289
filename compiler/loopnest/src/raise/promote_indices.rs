//! Promotes loop variables of narrow integers to int64, so that all index arithmetic has one dtype.
//!
//! Where the program uses such a variable as a value, a cast restores the narrow dtype.

use hammock_ir::{
    DType, PrimExpr,
    prim::{Substitution, Var},
    tir::{Stmt, StmtKind},
};

/// Promotes the variables of loops and block axes.
pub fn promote_indices(body: &mut Stmt) {
    let mut values = Substitution::default();
    rename(body, &mut values);
    body.substitute(&values);
}

/// Replaces the variables of loops and axes, and records the values of the old ones.
fn rename(stmt: &mut Stmt, values: &mut Substitution) {
    match &mut stmt.kind {
        StmtKind::For(l) => {
            replace(&mut l.var, values);
            [&mut l.min, &mut l.extent].into_iter().chain(&mut l.step).for_each(cast);
        }
        StmtKind::Block(b) => {
            for axis in &mut b.axes {
                replace(&mut axis.var, values);
                [&mut axis.binding, &mut axis.dom.0, &mut axis.dom.1].into_iter().for_each(cast);
            }
        }
        _ => {}
    }
    stmt.each_child_mut(&mut |s| rename(s, values));
}

fn replace(var: &mut Var, values: &mut Substitution) {
    if var.dtype() != DType::INT64 {
        let wide = Var::int64(var.name().clone());
        values.insert(var.clone(), wide.expr().cast(var.dtype()));
        *var = wide;
    }
}

fn cast(e: &mut PrimExpr) {
    *e = e.clone().cast(DType::INT64);
}
