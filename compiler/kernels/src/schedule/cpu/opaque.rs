//! Opaque statements: only their parallel loops are chosen.

use super::parallel::{TripCount, parallel};
use hammock_ir::{
    PrimExpr,
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::{Cost, OpaqueStmts, access::size};
use hammock_target::dynamic_extent;

/// Returns the number of outermost loops that are parallel together, and the minimum iterations for a thread.
pub fn parallelize(other: &OpaqueStmts) -> Option<(usize, i64)> {
    let counts: Vec<TripCount> = other.parallel_extents.iter().map(|extent| TripCount::of(extent, 1)).collect();
    let symbolic = other.parallel_extents.iter().any(|extent| extent.as_int().is_none());
    let (last, grain) = parallel(&counts, cycles(&other.stmt), symbolic)?;
    Some((last + 1, grain))
}

/// Estimates the cycles of statements: one for each operation.
fn cycles(stmt: &Stmt) -> i64 {
    let mut own = 0i64;
    stmt.each_expr(&mut |e: &PrimExpr| own = own.saturating_add(i64::from(Cost::of(e).total())));
    stmt.each_child(&mut |child| own = own.saturating_add(cycles(child)));
    match &stmt.kind {
        StmtKind::For(l) => own.saturating_mul(size(&l.extent)),
        StmtKind::While(..) => own.saturating_mul(dynamic_extent::WHILE_ITERATIONS),
        StmtKind::Store { .. } => own.saturating_add(1),
        _ => own,
    }
}
