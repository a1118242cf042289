//! Collapsed parallel loops: perfectly nested, so that code generators make one range of iterations of them.
//!
//! The tail of an axis is one more iteration, which runs in parallel with the others.

use hammock_ir::{
    Name, PrimExpr,
    prim::Var,
    tir::{ForKind, Stmt, StmtKind},
};

/// A loop of a parallel nest.
pub struct ParallelLoop {
    /// Name of its variable.
    pub name: Name,
    /// Number of iterations.
    pub count: PrimExpr,
}

/// Returns perfectly nested parallel loops, outermost first; `body` gets their indices. A thread should run at least
/// `grain` iterations of the collapsed range.
pub fn parallel_nest(loops: &[ParallelLoop], grain: i64, body: impl FnOnce(&[PrimExpr]) -> Stmt) -> Stmt {
    if loops.iter().any(|l| l.count.as_int() == Some(0)) {
        return Stmt::nop();
    }
    let vars: Vec<Var> = loops.iter().map(|l| Var::int64(l.name.clone())).collect();
    let single = |l: &ParallelLoop| l.count.as_int() == Some(1);
    let index = |(var, l): (&Var, &ParallelLoop)| if single(l) { PrimExpr::int64(0) } else { var.expr() };
    let body = body(&vars.iter().zip(loops).map(index).collect::<Vec<_>>());
    let several = vars.into_iter().zip(loops).filter(|(_, l)| !single(l));
    several.rev().fold(body, |body, (var, l)| parallel(var, l.count.clone(), grain, body))
}

/// Makes the outermost `loops` loops of a statement parallel.
pub fn mark_parallel(mut stmt: Stmt, loops: usize, grain: i64) -> Stmt {
    let mut next = &mut stmt;
    for _ in 0..loops {
        let StmtKind::For(l) = &mut next.kind else { break };
        l.kind = ForKind::Parallel;
        l.annotations.set("grain", grain);
        next = &mut l.body;
    }
    stmt
}

/// Returns a parallel loop.
fn parallel(var: Var, count: PrimExpr, grain: i64, body: Stmt) -> Stmt {
    let mut stmt = Stmt::for_kind(var, count, ForKind::Parallel, body);
    if let StmtKind::For(l) = &mut stmt.kind {
        l.annotations.set("grain", grain);
    }
    stmt
}
