//! Code generation for plans: turns each stage into the loop nest of its plan.
//!
//! The result is scheduled TIR without blocks. Vector lanes are loops of kind `vectorized`; unrolled axes are expanded.

mod collapse_parallel;
mod fuse_loops;
mod hoist_reciprocal;
mod levels;
mod nest;
mod online;
mod pack_operands;
mod peel_boundary;
mod row_tiling;
mod segments;
mod signed_dot_fixup;
mod slack;
mod tail_mask;
mod tile;
mod unswitch;
mod zero_point;

use crate::{
    error::Reason,
    lower::planner::{Planner, allocate, for_each_kernel},
    schedule::{PartPlan, Plan, ScheduleContext},
};
use hammock_ir::tir::{PrimFunc, Stmt};
use hammock_loopnest::{Kernel, Part};
use nest::Nest;

/// Replaces every stage in a body of block TIR with 64-bit indices by the loops of its plan.
///
/// # Errors
/// When the given plan cannot be used.
pub fn replace_stages(func: &PrimFunc, body: &mut Stmt, planner: Planner) -> Result<(), Reason> {
    let (mut result, mut made) = (Ok(()), Vec::new());
    for_each_kernel(body, &mut made, &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, planner.choice.machine());
        match planner.plan(&kernel) {
            Ok(plan) => *stmts = emit_loops(kernel, &plan, planner.choice),
            Err(reason) => result = Err(reason),
        }
    });
    allocate(made, body);
    result
}

/// Returns the statements of a kernel with the loops of a plan.
fn emit_loops(kernel: Kernel, plan: &Plan, choice: ScheduleContext) -> Vec<Stmt> {
    let parts = kernel.parts.into_iter().zip(&plan.parts);
    parts
        .map(|(part, plan)| match (part, plan) {
            (Part::Stage(stage), PartPlan::Stage(plan)) => Nest::loops(&stage, plan, choice),
            (Part::Rows(rows), PartPlan::Rows(plan)) => row_tiling::loops(&rows, plan, choice),
            (Part::Opaque(other), PartPlan::Opaque(Some((loops, grain)))) => {
                collapse_parallel::mark_parallel(other.stmt, *loops, *grain)
            }
            (Part::Opaque(other), _) => other.stmt,
            _ => unreachable!("a plan has the parts of its kernel"),
        })
        .collect()
}

#[cfg(test)]
mod tests;
