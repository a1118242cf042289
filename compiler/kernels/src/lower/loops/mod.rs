//! Code generation for plans: turns each stage into the loop nest of its plan.
//!
//! The result is scheduled TIR without blocks. Vector lanes are loops of kind `vectorized`; unrolled axes are expanded.

mod collapse_parallel;
mod fuse_loops;
mod hoist_reciprocal;
mod nest;
mod pack_operands;
mod peel_boundary;
mod row_tiling;
mod signed_dot_fixup;
mod tail_mask;
mod tile;

use crate::{
    error::Reason,
    plan::{self, Flops, ParsedPlan, PartPlan, Plan},
    rules::{self, ScheduleContext},
};
use hammock_ir::{
    Attrs,
    tir::{Buffer, PrimFunc, Stmt, StmtKind, empty_reductions::hoist_inits},
};
use hammock_loopnest::{Footprint, Kernel, PackedLayout, Part, is_stage, promote_indices};
use std::borrow::Cow;

/// Source of plans: a given plan, or the rules.
#[derive(Clone, Copy)]
pub struct Planner<'a> {
    /// Context in which rules choose.
    pub choice: ScheduleContext<'a>,
    /// Given plan.
    pub written: Option<&'a ParsedPlan>,
}

impl Planner<'_> {
    fn plan(&self, kernel: &Kernel) -> Result<Plan, Reason> {
        match self.written {
            Some(written) => plan::bind(written, kernel, self.choice).map_err(Reason::Plan),
            None => Ok(rules::choose(kernel, self.choice)),
        }
    }
}

/// Replaces every stage in a body of block TIR with 64-bit indices by the loops of its plan.
///
/// # Errors
/// When the given plan cannot be used.
pub fn schedule(func: &PrimFunc, body: &mut Stmt, planner: Planner) -> Result<(), Reason> {
    let (mut result, mut made) = (Ok(()), Vec::new());
    for_each_kernel(body, &mut made, &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, planner.choice.target.masks);
        match planner.plan(&kernel) {
            Ok(plan) => *stmts = emit_loops(kernel, &plan, planner.choice),
            Err(reason) => result = Err(reason),
        }
    });
    allocate(made, body);
    result
}

/// Raises a body of block TIR to stages, runs the first `count` transforms, and turns the stages back into blocks.
pub fn raise_stages(func: &PrimFunc, body: &mut Stmt, masks: bool, count: usize) {
    let mut made = Vec::new();
    for_each_kernel(body, &mut made, &mut |stmts, own| {
        let kernel = Kernel::read_until(func, std::mem::take(stmts), own, masks, count);
        let known: Vec<Buffer> = func.buffers().chain(own.iter()).cloned().collect();
        *stmts = kernel.into_stmts(&known);
    });
    allocate(made, body);
}

/// Allocates buffers before a body.
fn allocate(buffers: Vec<Buffer>, body: &mut Stmt) {
    let allocations = buffers.into_iter().map(|buffer| Stmt::new(StmtKind::Alloc(buffer, Attrs::new())));
    *body = Stmt::seq(allocations.chain([std::mem::replace(body, Stmt::nop())]));
}

/// Initializes possibly empty reductions before their loops, except in stages, whose plans do it.
pub fn start_reductions(body: &mut Stmt) {
    // Stages are raised later, from loops with promoted indices.
    let is_planned = |stmt: &Stmt| {
        let mut promoted = stmt.clone();
        promote_indices(&mut promoted);
        is_stage(&promoted)
    };
    let start = |stmt: Stmt| match hoist_inits(&stmt) {
        Cow::Owned(hoist_inits) if !is_planned(&stmt) => hoist_inits,
        _ => stmt,
    };
    match &mut body.kind {
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => start_reductions(&mut block.body),
        StmtKind::Seq(stmts) => *stmts = std::mem::take(stmts).into_iter().map(start).collect(),
        _ => *body = start(std::mem::replace(body, Stmt::nop())),
    }
}

/// Returns the plan of a body as text.
///
/// # Errors
/// As [`schedule`].
pub fn plan_text(func: &PrimFunc, mut body: Stmt, planner: Planner) -> Result<String, Reason> {
    let mut result = Ok(String::new());
    for_each_kernel(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, planner.choice.target.masks);
        result = planner.plan(&kernel).map(|plan| plan.text(&kernel, planner.choice.target).to_string());
    });
    result
}

/// Returns the plan of a body and its search space.
///
/// # Errors
/// As [`schedule`].
pub fn search_space(func: &PrimFunc, mut body: Stmt, planner: Planner) -> Result<SearchSpace, Reason> {
    let mut result = Ok(SearchSpace::default());
    for_each_kernel(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, planner.choice.target.masks);
        let near = |plan: Plan| Candidate {
            text: plan.numbered(&kernel).to_string(),
            cycles: plan::cost(&plan, &kernel, planner.choice.target),
        };
        result = planner.plan(&kernel).map(|plan| {
            let others = plan::candidates(&plan, &kernel, planner.choice).into_iter().map(near).collect();
            SearchSpace { own: near(plan), others }
        });
    });
    result
}

/// A plan and the candidates that autotuning tries instead.
#[derive(Clone, Debug, Default)]
pub struct SearchSpace {
    /// Plan that the rules or the user chose.
    pub own: Candidate,
    /// Candidates.
    pub others: Vec<Candidate>,
}

/// A plan with its predicted cost.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// Plan as text, with axes and buffers named by number.
    pub text: String,
    /// Predicted cycles on one thread.
    pub cycles: f64,
}

/// Returns the operands that are worth packing before a body runs, provided that nothing else reads them.
pub fn packings(func: &PrimFunc, mut body: Stmt, choice: ScheduleContext) -> Vec<(Buffer, PackedLayout)> {
    let mut found = Vec::new();
    for_each_kernel(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, choice.target.masks);
        found.extend(rules::packings(&kernel, choice));
    });
    found
}

/// Counts the floating-point operations of a body.
pub fn flops(func: &PrimFunc, mut body: Stmt) -> Option<Flops> {
    let mut found = None;
    for_each_kernel(&mut body, &mut Vec::new(), &mut |stmts, own| {
        found = Flops::of(func, &Kernel::read(func, std::mem::take(stmts), own, false));
    });
    found
}

/// Returns the statements of a kernel with the loops of a plan.
fn emit_loops(kernel: Kernel, plan: &Plan, choice: ScheduleContext) -> Vec<Stmt> {
    let parts = kernel.parts.into_iter().zip(&plan.parts);
    parts
        .map(|(part, plan)| match (part, plan) {
            (Part::Stage(stage), PartPlan::Stage(plan)) => nest::loops(&stage, plan, choice),
            (Part::Rows(rows), PartPlan::Rows(plan)) => row_tiling::loops(&rows, plan, choice),
            (Part::Opaque(other), PartPlan::Opaque(Some((loops, grain)))) => {
                collapse_parallel::mark_parallel(other.stmt, *loops, *grain)
            }
            (Part::Opaque(other), _) => other.stmt,
            _ => unreachable!("a plan has the parts of its kernel"),
        })
        .collect()
}

/// Calls `f` on the statements of the function's root block, or of its body, and on the buffers of that block, to which
/// it may add. Removes buffers that are unused afterwards.
fn for_each_kernel(body: &mut Stmt, own: &mut Vec<Buffer>, f: &mut dyn FnMut(&mut Vec<Stmt>, &mut Vec<Buffer>)) {
    match &mut body.kind {
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => {
            let outer = own.len();
            own.append(&mut block.alloc_buffers);
            for_each_kernel(&mut block.body, own, f);
            block.alloc_buffers = own.split_off(outer);
            let used = Footprint::of_stmt(&block.body);
            block.alloc_buffers.retain(|buffer| used.has(buffer));
        }
        StmtKind::Seq(stmts) => f(stmts, own),
        _ => {
            let mut stmts = vec![std::mem::replace(body, Stmt::nop())];
            f(&mut stmts, own);
            *body = Stmt::seq(stmts);
        }
    }
}

#[cfg(test)]
mod tests;
