//! Statements that are no stage: only which of the loops around them have threads is chosen.

use super::{Count, parallel, size};
use crate::stage::Other;
use hammock_ir::{
    PrimExpr,
    tir::{Stmt, StmtKind, stage::Cost},
};

/// How often a loop repeats whose condition is found out at run time.
const REPEATS: i64 = 4;

/// How many of the outermost loops are spread over threads together, and how many iterations are worth a thread.
pub fn spread(other: &Other) -> Option<(usize, i64)> {
    let counts: Vec<Count> = other.apart.iter().map(|extent| Count::of(extent, 1)).collect();
    let symbolic = other.apart.iter().any(|extent| extent.as_int().is_none());
    let (last, grain) = parallel(&counts, cycles(&other.stmt), symbolic)?;
    Some((last + 1, grain))
}

/// About how many cycles statements take: one for each operation.
fn cycles(stmt: &Stmt) -> i64 {
    let mut own = 0i64;
    stmt.each_expr(&mut |e: &PrimExpr| own = own.saturating_add(i64::from(Cost::of(e).total())));
    stmt.each_child(&mut |child| own = own.saturating_add(cycles(child)));
    match &stmt.kind {
        StmtKind::For(l) => own.saturating_mul(size(&l.extent)),
        StmtKind::While(..) => own.saturating_mul(REPEATS),
        StmtKind::Store { .. } => own.saturating_add(1),
        _ => own,
    }
}
