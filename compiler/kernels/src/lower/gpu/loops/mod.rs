//! Code generation for plans on GPUs: each part of a kernel becomes a device region.

mod online;
mod opaque;
mod place;
mod private_memory;
mod rows;
mod stage;

use super::{host_code::reject_host_only, region::device_region};
use crate::{
    error::Reason,
    lower::planner::{Planner, allocate, for_each_kernel},
    schedule::{PartPlan, Plan, ScheduleContext},
};
use hammock_ir::{
    DType, Name, PrimExpr,
    prim::{Var, intrinsics::WARP_THREADS},
    tir::{ForKind, PrimFunc, Stmt, StmtKind},
};
use hammock_loopnest::{Kernel, Part};
use place::Placer;
use rustc_hash::FxHashSet;

pub use stage::{BlockThreads, combine as combine_across_threads};

/// Replaces every part of a body of block TIR with 64-bit indices by a device region with the loops of its plan.
///
/// # Errors
/// When the function needs the host, or the given plan cannot be used.
pub fn replace_stages(func: &PrimFunc, body: &mut Stmt, planner: Planner) -> Result<(), Reason> {
    reject_host_only(func, body)?;
    place::allocate_declared(func, body);
    let (mut result, mut made) = (Ok(()), Vec::new());
    for_each_kernel(body, &mut made, &mut |stmts, own| {
        let stmts_in = place::group_dependent(std::mem::take(stmts));
        let kernel = Kernel::read(func, stmts_in, own, planner.choice.machine());
        let placer = Placer::new(func.is_noalias());
        let regions = planner.plan(&kernel).and_then(|plan| emit(kernel, &plan, placer, planner.choice));
        match regions {
            Ok((regions, threaded)) => {
                *stmts = regions;
                place::globalize(stmts, own, &threaded);
            }
            Err(reason) => result = Err(reason),
        }
    });
    allocate(made, body);
    result
}

/// Returns the statements of a kernel with the loops of a plan, and the buffers that the program's own loops over
/// threads store to.
fn emit(kernel: Kernel, plan: &Plan, mut placer: Placer, choice: ScheduleContext) -> Result<Placed, Reason> {
    let mut stmts = Vec::new();
    for (part, plan) in kernel.parts.into_iter().zip(&plan.parts) {
        match (part, plan) {
            (Part::Stage(stage), PartPlan::Stage(plan)) => stmts.push(stage::region(&stage, plan)),
            (Part::Rows(rows), PartPlan::Rows(plan)) => stmts.push(rows::region(&rows, plan, choice)),
            (Part::Opaque(other), PartPlan::Opaque(parallel)) => {
                let loops = parallel.map_or(0, |(loops, _)| loops);
                stmts.push(placer.part(other.stmt, loops)?);
            }
            _ => unreachable!("a plan has the parts of its kernel"),
        }
    }
    let (workspaces, threaded) = placer.finish();
    Ok((workspaces.into_iter().chain(stmts).collect(), threaded))
}

/// Placed statements, and buffers of the program's own loops over threads.
type Placed = (Vec<Stmt>, FxHashSet<Var>);

/// Returns loops over `total` threads in blocks of up to `threads`, around the body of a thread, which gets its number.
fn over_threads(total: &PrimExpr, threads: i64, body: impl FnOnce(PrimExpr) -> Stmt) -> Stmt {
    let threads = total.as_int().map_or(threads, |total| {
        let warps = (total.max(1) + WARP_THREADS - 1) / WARP_THREADS;
        threads.min(warps * WARP_THREADS)
    });
    let (block, thread) = (Var::int64("block"), Var::int64("thread"));
    let number = block.expr() * PrimExpr::int64(threads) + thread.expr();
    let blocks = hammock_loopnest::steps(total, threads);
    let body = body(number.clone());
    let is_whole = total.as_int().is_some_and(|total| total % threads == 0);
    let body = if is_whole { body } else { guarded(number.lt(total.clone()), body) };
    let inner = bound_loop("threadIdx.x", thread, PrimExpr::int64(threads), body);
    device_region(bound_loop("blockIdx.x", block, blocks, inner))
}

/// Returns a loop that is bound to a thread axis.
pub fn bound_loop(thread: impl Into<Name>, var: Var, extent: PrimExpr, body: Stmt) -> Stmt {
    Stmt::for_kind(var, extent, ForKind::ThreadBinding(thread.into()), body)
}

/// A barrier of the threads of a block.
pub fn barrier() -> Stmt {
    let args = vec![PrimExpr::str("shared"), PrimExpr::bool(false), PrimExpr::int32(-1)];
    Stmt::new(StmtKind::Evaluate(PrimExpr::intrin("tvm_storage_sync", args, DType::VOID)))
}

/// Returns a statement under a condition.
pub fn guarded(condition: PrimExpr, body: Stmt) -> Stmt {
    Stmt::new(StmtKind::If(condition, Box::new(body), None))
}

/// Returns the indices of nested loops of these extents, given the position in their collapsed range.
fn unravel(position: &PrimExpr, extents: &[PrimExpr]) -> Vec<PrimExpr> {
    let mut inner: Option<PrimExpr> = None;
    let mut indices: Vec<PrimExpr> = Vec::with_capacity(extents.len());
    for (number, extent) in extents.iter().enumerate().rev() {
        let quotient = match &inner {
            None => position.clone(),
            Some(inner) => position.clone().floordiv(inner.clone()),
        };
        indices.push(if number == 0 { quotient } else { quotient.floormod(extent.clone()) });
        inner = Some(inner.map_or_else(|| extent.clone(), |inner| product(&inner, extent)));
    }
    indices.reverse();
    indices
}

/// Returns a product, folded.
fn product(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => PrimExpr::int64(a.saturating_mul(b)),
        (Some(1), _) => b.clone(),
        (_, Some(1)) => a.clone(),
        _ => a * b,
    }
}
