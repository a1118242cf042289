//! Device regions of opaque statements: independent loops around them become threads, all else runs as it is.

use super::{over_threads, private_memory::Workspaces, product, unravel};
use crate::{
    Reason,
    lower::gpu::{host_code::is_host_value, region::device_region},
    schedule::gpu::BLOCK_THREADS,
};
use hammock_ir::{
    PrimExpr,
    prim::{Substitution, Var},
    tir::{ForKind, Loop, Stmt, StmtKind},
};

/// Returns a region for statements, whose outermost `loops` loops are independent. Without such loops, one thread runs
/// them.
///
/// # Errors
/// When memory that the statements allocate cannot be allocated before.
pub fn region(stmt: Stmt, loops: usize, workspaces: &mut Workspaces) -> Result<Stmt, Reason> {
    let span = stmt.span;
    let (outer, mut body) = peel(stmt, loops);
    serialize(&mut body);
    let extents: Vec<PrimExpr> = outer.iter().map(|l| l.extent.clone()).collect();
    let total = extents.iter().fold(PrimExpr::int64(1), |total, extent| product(&total, extent));
    let number = Var::int64("number");
    let threads = (!outer.is_empty()).then(|| (number.clone(), total.clone()));
    match workspaces.hoist(&mut body, threads.as_ref()) {
        Ok(()) => {}
        // Threads cannot share this memory.
        Err(_) if !outer.is_empty() => return region(nest(outer, body), 0, workspaces),
        Err(reason) => return Err(reason),
    }
    if outer.is_empty() {
        return Ok(device_region(body).at(span));
    }
    let region = over_threads(&total, BLOCK_THREADS, |thread| {
        let indices = unravel(&thread, &extents);
        let mut values: Substitution = outer.iter().map(|l| l.var.clone()).zip(indices).collect();
        values.insert(number, thread);
        hammock_ir::tir::fresh::replace(&body, values)
    });
    Ok(region.at(span))
}

/// Removes up to `count` outermost loops that the host knows the extents of.
fn peel(mut stmt: Stmt, count: usize) -> (Vec<Loop>, Stmt) {
    let mut outer: Vec<Loop> = Vec::new();
    while outer.len() < count {
        match stmt.kind {
            StmtKind::For(l) if is_collapsible(&l, &outer) => {
                let mut l = *l;
                stmt = std::mem::replace(&mut l.body, Stmt::nop());
                outer.push(l);
            }
            _ => break,
        }
    }
    (outer, stmt)
}

/// Returns true if a loop is from zero, in single steps, and its extent does not depend on the loops around it.
fn is_collapsible(l: &Loop, outer: &[Loop]) -> bool {
    l.step.is_none()
        && l.min.as_int() == Some(0)
        && is_host_value(&l.extent)
        && !outer.iter().any(|around| l.extent.uses(&around.var))
}

/// Returns loops around a body, as [`peel`] found them.
fn nest(outer: Vec<Loop>, body: Stmt) -> Stmt {
    let around = |body, l: Loop| Stmt::new(StmtKind::For(Box::new(Loop { body, ..l })));
    outer.into_iter().rev().fold(body, around)
}

/// Makes parallel loops inside of a thread serial.
fn serialize(stmt: &mut Stmt) {
    if let StmtKind::For(l) = &mut stmt.kind
        && l.kind == ForKind::Parallel
    {
        l.kind = ForKind::Serial;
    }
    stmt.each_child_mut(&mut serialize);
}
