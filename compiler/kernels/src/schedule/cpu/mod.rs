//! Scheduling rules for CPUs, tried in order. Each says what it matches, which loops it chooses, and why.
//!
//! Rules look at axes and access patterns, never at names, and support dynamic sizes like static ones.

mod contraction;
mod dot_product;
mod elementwise;
mod lanes;
pub mod online;
mod opaque;
mod parallel;
mod reductions;
mod register_tile;
mod row_tiling;
mod split_reduction;
mod transpose;
mod window;

use crate::schedule::{
    Loop, PartPlan, ScheduleContext, StagePlan,
    rule::{Loops, Rule},
};
use hammock_ir::tir::Buffer;
use hammock_loopnest::{Footprint, Kernel, OpaqueStmts, PackedLayout, Part, Stage, access::invariant_divisor};
pub use lanes::{MAX_LANES, register_lanes};
use parallel::parallelize;
pub use row_tiling::plan as rows_plan;

/// Divisor of a cache's size that yields the budget for reused data.
const REUSE_DIVISOR: u64 = 4;

impl ScheduleContext<'_> {
    /// Returns the bytes that stay in L1 while other data stream through it.
    fn l1_budget(&self) -> i64 {
        (self.target.caches.l1 / REUSE_DIVISOR) as i64
    }

    /// Returns the bytes that stay in L1 while little else is used.
    fn l1_exclusive_budget(&self) -> i64 {
        (self.target.caches.l1 / 4 * 3) as i64
    }

    /// Returns the bytes that stay in L2 while other data stream through it.
    fn l2_budget(&self) -> i64 {
        (self.target.caches.l2 / REUSE_DIVISOR) as i64
    }
}

/// All rules, in the order in which they are tried.
pub static RULES: &[&Rule] = &[
    &dot_product::RULE,
    &contraction::PACKED,
    &contraction::OUTER,
    &contraction::INNER,
    &reductions::VERTICAL,
    &reductions::HORIZONTAL,
    &reductions::STRIDED,
    &reductions::UNROLLED,
    &transpose::RULE,
    &elementwise::PERIODIC_SELECT,
    &elementwise::UNPACK_BITS,
    &elementwise::RULE,
];

/// Returns the buffers that are worth packing before a kernel runs, among those that it reads only once.
pub fn packings(kernel: &Kernel, ctx: ScheduleContext) -> Vec<(Buffer, PackedLayout)> {
    let of_stage = |stage: &Stage| dot_product::packing(stage, &ctx).or_else(|| contraction::packing(stage, &ctx));
    // Row-tiled stages are examined at the tile size.
    let stages = |part: &Part| match part {
        Part::Stage(stage) => vec![stage.clone()],
        Part::Rows(rows) => {
            rows.sample(row_tiling::plan(rows, ctx, None).tiles.first().map_or(1, |tile| tile.0)).stages
        }
        Part::Opaque(_) => Vec::new(),
    };
    let all: Vec<Stage> = kernel.parts.iter().flat_map(stages).collect();
    let others = kernel.parts.iter().filter(|part| matches!(part, Part::Opaque(_)));
    let used: Vec<Footprint> = all.iter().map(Footprint::of_stage).chain(others.map(Footprint::of_part)).collect();
    let once = |(buffer, _): &(Buffer, PackedLayout)| used.iter().filter(|used| used.has(buffer)).count() == 1;
    all.iter().filter_map(of_stage).filter(once).collect()
}

/// Plans opaque statements.
pub fn opaque_plan(other: &OpaqueStmts) -> PartPlan {
    PartPlan::Opaque(opaque::parallelize(other))
}

/// Plans a stage by the first rule that matches.
pub fn stage_plan(stage: &Stage, ctx: ScheduleContext) -> StagePlan {
    stage_plans(stage, ctx).next().unwrap_or_else(|| unreachable!("the last rule is for every stage"))
}

/// Returns the plans of all rules that match a stage.
pub fn stage_plans<'a>(stage: &'a Stage, ctx: ScheduleContext<'a>) -> impl Iterator<Item = StagePlan> + 'a {
    serial_plans(stage, ctx).map(move |mut plan| {
        parallelize(&mut plan, stage, ctx.target);
        plan.hoists_reciprocal = hoists_reciprocal(&plan, stage, ctx);
        plan
    })
}

/// Plans a stage inside parallel loops.
pub fn inner_plan(stage: &Stage, ctx: ScheduleContext) -> StagePlan {
    let plan = serial_plans(stage, ctx).next();
    let mut plan = plan.unwrap_or_else(|| unreachable!("the last rule is for every stage"));
    plan.hoists_reciprocal = hoists_reciprocal(&plan, stage, ctx);
    plan
}

/// Returns the plans of all rules that match, not yet parallel.
fn serial_plans<'a>(stage: &'a Stage, ctx: ScheduleContext<'a>) -> impl Iterator<Item = StagePlan> + 'a {
    let chosen = RULES.iter().filter_map(move |rule| Some((rule, (rule.plan)(stage, &ctx)?)));
    chosen.map(move |(rule, Loops { loops, staged })| {
        let mut plan = StagePlan { rule: rule.name, loops, staged, hoists_reciprocal: false };
        split_reduction::apply(&mut plan, stage, &ctx);
        plan
    })
}

/// Returns true if an invariant divisor should be inverted once: a division costs as much as ten multiplications. Not
/// with --strict-order, since results differ in the last bit.
fn hoists_reciprocal(plan: &StagePlan, stage: &Stage, ctx: ScheduleContext) -> bool {
    let Some(axis) = plan.vector().map(|l| l.axis) else { return false };
    let repeats = stage.axes[axis].extent.as_int().is_none_or(|n| n >= 4 * register_lanes(stage, ctx.target));
    let known = invariant_divisor(stage, axis).and_then(|divisor| plan.hoist_depth(stage, divisor));
    !ctx.strict_order && plan.staged.is_empty() && repeats && known.is_some()
}

/// Returns the size of blocks of nearly equal size, of at most `most` each.
fn even_block(count: i64, most: i64) -> i64 {
    let blocks = (count + most - 1) / most;
    ((count + blocks - 1) / blocks.max(1)).max(1)
}

/// Returns serial loops over the reduction axes.
fn reduced(stage: &Stage) -> impl Iterator<Item = Loop> {
    (0..stage.axes.len()).filter(|at| stage.axes[*at].reduce).map(Loop::serial)
}
