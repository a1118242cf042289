//! Loops that are spread over threads together: parallel loops with nothing between them, which code generators make one
//! range of iterations.
//!
//! What is left of an axis at its end is one more iteration, so that it runs beside the others.

use hammock_ir::{
    Name, PrimExpr,
    prim::Var,
    tir::{ForKind, Stmt, StmtKind},
};

/// A loop of a region.
pub struct Counted {
    /// What its variable is called.
    pub name: Name,
    /// How many iterations it has.
    pub count: PrimExpr,
}

/// Parallel loops, outermost first: `body` gets the index of each. A thread is to have `grain` iterations of all together.
pub fn region(loops: &[Counted], grain: i64, body: impl FnOnce(&[PrimExpr]) -> Stmt) -> Stmt {
    if loops.iter().any(|l| l.count.as_int() == Some(0)) {
        return Stmt::nop();
    }
    let vars: Vec<Var> = loops.iter().map(|l| Var::int64(l.name.clone())).collect();
    let single = |l: &Counted| l.count.as_int() == Some(1);
    let index = |(var, l): (&Var, &Counted)| if single(l) { PrimExpr::int64(0) } else { var.expr() };
    let body = body(&vars.iter().zip(loops).map(index).collect::<Vec<_>>());
    let several = vars.into_iter().zip(loops).filter(|(_, l)| !single(l));
    several.rev().fold(body, |body, (var, l)| parallel(var, l.count.clone(), grain, body))
}

/// A statement of which so many loops, the outermost, become such loops.
pub fn spread(mut stmt: Stmt, loops: usize, grain: i64) -> Stmt {
    let mut next = &mut stmt;
    for _ in 0..loops {
        let StmtKind::For(l) = &mut next.kind else { break };
        l.kind = ForKind::Parallel;
        l.annotations.set("grain", grain);
        next = &mut l.body;
    }
    stmt
}

/// A loop that is spread over threads.
fn parallel(var: Var, count: PrimExpr, grain: i64, body: Stmt) -> Stmt {
    let mut stmt = Stmt::for_kind(var, count, ForKind::Parallel, body);
    if let StmtKind::For(l) = &mut stmt.kind {
        l.annotations.set("grain", grain);
    }
    stmt
}
