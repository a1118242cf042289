//! Scheduling rules for GPUs, tried in order. Each says what it matches, which loops it chooses, and why.
//!
//! Rules look at axes and access patterns, never at names, and support dynamic sizes like static ones.

mod columns;
mod contraction;
mod elementwise;
mod guard;
pub mod online;
mod reductions;
mod rows;
pub mod tensor_cores;
mod thread_per_result;
mod transpose;
mod vectors;

use crate::schedule::{
    Loop, LoopKind, PartPlan, ScheduleContext, StagePlan, Staged,
    rule::{Loops, Rule},
};
use hammock_ir::prim::intrinsics::WARP_THREADS;
use hammock_loopnest::{
    OpaqueStmts, Stage,
    access::{combiner, parts},
};

pub use guard::Guard;
pub use online::RULE as ONLINE;
pub use rows::{RULE as ROWS, plan as rows_plan, row_plan};
pub use vectors::{column_lanes, lanes as vector_lanes, load_lanes};

/// Threads of a block where nothing else determines their number: eight warps, of which an SM holds several blocks.
pub const BLOCK_THREADS: i64 = 256;

/// All rules, in the order in which they are tried.
pub static RULES: &[&Rule] = &[
    &COOPERATIVE_COPY,
    &rows::RULE,
    &online::RULE,
    &tensor_cores::RULE,
    &contraction::RULE,
    &reductions::WARP_PER_ROW,
    &reductions::BLOCK_PER_ROW,
    &columns::RULE,
    &transpose::RULE,
    &elementwise::RULE,
    &thread_per_result::RULE,
];

/// Copies of operands in shared memory, which other rules make.
static COOPERATIVE_COPY: Rule = Rule {
    name: "cooperative_copy",
    class: "copy of an operand",
    why: "the threads of a block share what they read",
    doc: "Copies of operands in shared memory, as the plans of other stages have them. Threads take the elements in turn, \
          in the order of the loops.",
    plan: |_, _| None,
};

/// Returns true if several threads can reduce one result: its elements combine in any order, starting from a value that
/// is not in memory, where one of the threads stores the result.
pub fn reduces_in_any_order(stage: &Stage, ctx: &ScheduleContext) -> bool {
    combiner(stage).is_some() && stage.init.is_some() && !ctx.strict_order
}

/// Returns true if shuffles combine the threads that reduce a result: a warp has whole groups of those of as many results
/// as are between them, or they are whole warps.
pub fn reduces_in_warps(reducers: i64, stride: i64) -> bool {
    let group = reducers.saturating_mul(stride);
    let is_part = |threads: i64| threads > 0 && WARP_THREADS % threads == 0;
    if group <= WARP_THREADS { is_part(group) } else { is_part(stride) && group % WARP_THREADS == 0 }
}

/// Returns the plan of a copy whose elements threads take in turn, in the order of these loops.
fn cooperative_copy(loops: Vec<Loop>) -> StagePlan {
    StagePlan::new(COOPERATIVE_COPY.name, loops)
}

/// Returns the plans of the rules that match a stage, in order.
pub fn stage_plans(stage: &Stage, ctx: ScheduleContext) -> impl Iterator<Item = StagePlan> {
    RULES.iter().filter_map(move |rule| {
        let Loops { loops, staged } = (rule.plan)(stage, &ctx)?;
        Some(StagePlan { staged, ..StagePlan::new(rule.name, loops) })
    })
}

/// Returns the plan of the first rule that matches a stage.
pub fn stage_plan(stage: &Stage, ctx: ScheduleContext) -> StagePlan {
    let mut plans = stage_plans(stage, ctx);
    plans.next().unwrap_or_else(|| unreachable!("the last rule matches every stage"))
}

/// Returns the loops over the threads of a block, or its warps, with their numbers of iterations.
pub fn loops_over<'a>(stage: &Stage, plan: &'a StagePlan, kind: LoopKind) -> Vec<(&'a Loop, i64)> {
    let count = |(number, l): (usize, &'a Loop)| (l, plan.trip_count(stage, number).unwrap_or(1));
    plan.loops.iter().enumerate().filter(|(_, l)| l.kind == kind).map(count).collect()
}

/// Returns the number of threads of a block.
pub fn block_threads(stage: &Stage, plan: &StagePlan) -> i64 {
    let count = |kind| loops_over(stage, plan, kind).iter().map(|(_, count)| count).product::<i64>().max(1);
    let has_warps = plan.loops.iter().any(|l| l.kind == LoopKind::Warp);
    let threads = if has_warps { WARP_THREADS * count(LoopKind::Warp) } else { count(LoopKind::Thread) };
    plan.grid_threads().unwrap_or(threads)
}

/// Returns the shape of a copy in shared memory, padding included, for the numbers of elements along its axes.
pub fn copy_shape(staged: &Staged, extents: &[i64]) -> Vec<i64> {
    let size = |(axis, extent): (&usize, &i64)| {
        let to = staged.padded.get(axis).copied().unwrap_or(1).max(1);
        (extent + to - 1) / to * to
    };
    staged.axes.iter().zip(extents).map(size).collect()
}

/// Returns the number of elements of a copy along each of its axes; `None` if one is dynamic.
pub fn copy_extents(stage: &Stage, plan: &StagePlan, staged: &Staged) -> Option<Vec<i64>> {
    let extent = |axis: &usize| plan.range(*axis, staged.inside).or(stage.axes[*axis].extent.as_int());
    staged.axes.iter().map(extent).collect()
}

/// Returns the bytes of all copies in shared memory.
pub fn shared_bytes(stage: &Stage, plan: &StagePlan) -> i64 {
    let parts = parts(stage);
    let bytes = |staged: &Staged| {
        let extents = copy_extents(stage, plan, staged).unwrap_or_default();
        let elements = copy_shape(staged, &extents).into_iter().fold(1i64, i64::saturating_mul);
        let bytes = elements.saturating_mul(parts[staged.load].dtype().bytes() as i64);
        bytes.saturating_mul(staged.stages)
    };
    plan.staged.iter().map(bytes).fold(0, i64::saturating_add)
}

/// Describes a plan: the threads of a block, and its shared memory.
pub fn remark(stage: &Stage, plan: &StagePlan) -> String {
    let threads = hammock_ir::count(block_threads(stage, plan) as usize, "thread");
    format!("{threads} a block, {} bytes of shared memory", shared_bytes(stage, plan))
}

/// Returns the plan of opaque statements: their independent loops are on threads.
pub fn opaque_plan(other: &OpaqueStmts) -> PartPlan {
    let loops = other.parallel_extents.len();
    PartPlan::Opaque((loops > 0).then_some((loops, BLOCK_THREADS)))
}
