//! Scheduling rules, tried in order. Each says what it matches, which loops it chooses, and why.
//!
//! Rules look at axes and access patterns, never at names, and support dynamic sizes like static ones.

mod contraction;
mod dot_product;
mod elementwise;
mod opaque;
mod reductions;
mod row_tiling;
mod split_reduction;
mod transpose;
mod window;

use crate::plan::{Loop, LoopKind, PartPlan, Plan, StagePlan, Staged, duration};
use hammock_ir::{PrimExpr, tir::Buffer};
use hammock_loopnest::{
    Footprint, Kernel, OpaqueStmts, PackedLayout, Part, Stage,
    access::{invariant_divisor, size},
};
use hammock_target::Target;
pub use row_tiling::plan as rows_plan;

/// Minimum cycles of a parallel kernel: about 4 µs, eight times the cost of a parallel region whose threads are awake
/// (`benches/regions.rs` of the runtime).
const MIN_PARALLEL_CYCLES: i64 = 16_000;
/// Minimum cycles for one thread of a parallel kernel.
const MIN_THREAD_CYCLES: i64 = 4_000;
/// Number of parallel iterations that balances the load.
const MIN_PARALLEL_ITERATIONS: i64 = 64;
/// Divisor of a cache's size that yields the budget for reused data.
const REUSE_DIVISOR: u64 = 4;
/// Maximum lanes of a vector during lowering.
pub const MAX_LANES: i64 = 64;

/// A way to schedule stages of one kind.
pub struct Rule {
    /// Name in plans.
    pub name: &'static str,
    /// Name of the kind of stages that it matches.
    pub class: &'static str,
    /// Reason to choose it, in a few words.
    pub why: &'static str,
    /// Stages that it matches, loops that it chooses, and why.
    pub doc: &'static str,
    /// Returns the loops for a stage that it matches, outermost first, not yet parallel.
    plan: fn(&Stage, &ScheduleContext) -> Option<Loops>,
}

/// Loops and copies that a rule chooses.
struct Loops {
    loops: Vec<Loop>,
    staged: Vec<Staged>,
}

impl From<Vec<Loop>> for Loops {
    fn from(loops: Vec<Loop>) -> Loops {
        Loops { loops, staged: Vec::new() }
    }
}

/// Context of scheduling.
#[derive(Clone, Copy)]
pub struct ScheduleContext<'a> {
    /// The target machine.
    pub target: &'a Target,
    /// True if reductions must combine elements in program order.
    pub strict_order: bool,
}

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
pub static RULES: [&Rule; 11] = [
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
    &elementwise::RULE,
];

/// Plans every part of a kernel.
pub fn choose(kernel: &Kernel, ctx: ScheduleContext) -> Plan {
    let part = |part: &Part| match part {
        Part::Stage(stage) => PartPlan::Stage(stage_plan(stage, ctx)),
        Part::Rows(rows) => PartPlan::Rows(row_tiling::plan(rows, ctx, None)),
        Part::Opaque(other) => opaque_plan(other),
    };
    Plan { parts: kernel.parts.iter().map(part).collect() }
}

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

/// Parallelizes the outermost loops if there is enough work.
fn parallelize(plan: &mut StagePlan, stage: &Stage, target: &Target) {
    let inside = plan.staged.iter().map(|staged| staged.inside);
    let again = |n: &usize| plan.loops[..*n].iter().any(|l| l.axis == plan.loops[*n].axis);
    let reduces = plan.loops.iter().position(|l| stage.axes[l.axis].reduce);
    let most = inside.chain((0..plan.loops.len()).find(again)).chain(reduces).fold(plan.tile(stage), usize::min);
    let counts: Vec<TripCount> =
        plan.loops[..most].iter().map(|l| TripCount::of(&stage.axes[l.axis].extent, l.step)).collect();
    if let Some((last, grain)) = parallel(&counts, duration(stage, plan, target), is_symbolic(stage)) {
        plan.loops[last].kind = LoopKind::Parallel(grain);
    }
}

/// Number of iterations of a loop.
struct TripCount {
    estimate: i64,
    /// Lower bound; 1 for a dynamic size.
    min: i64,
}

impl TripCount {
    /// Counts steps along an axis, the partial last one included.
    fn of(extent: &PrimExpr, step: i64) -> TripCount {
        let steps = |extent: i64| ((extent + step - 1) / step).max(1);
        match extent.as_int() {
            Some(extent) => TripCount { estimate: steps(extent), min: steps(extent) },
            None => TripCount { estimate: steps(size(extent)).max(2), min: 1 },
        }
    }
}

/// Returns the innermost of the parallel loops, and the minimum iterations for a thread. The outermost loop with
/// several iterations is parallel, and further ones until there are enough iterations to balance the load. `None` if
/// `time`, in cycles, is known and too short.
fn parallel(counts: &[TripCount], time: i64, symbolic: bool) -> Option<(usize, i64)> {
    if !symbolic && time < MIN_PARALLEL_CYCLES {
        return None;
    }
    let (mut all, mut each, mut last) = (1i64, time, None);
    for (number, count) in counts.iter().enumerate() {
        if last.is_some() && (all >= MIN_PARALLEL_ITERATIONS || each <= MIN_THREAD_CYCLES / 4) {
            break;
        }
        all = all.saturating_mul(count.min);
        each /= count.estimate;
        last = if count.estimate == 1 { last } else { Some(number) };
    }
    last.map(|last| (last, (MIN_THREAD_CYCLES / each.max(1)).max(1)))
}

/// Returns true if a stage has a dynamic extent.
fn is_symbolic(stage: &Stage) -> bool {
    stage.axes.iter().any(|axis| axis.extent.as_int().is_none())
}

/// Returns the size of blocks of nearly equal size, of at most `most` each.
fn even_block(count: i64, most: i64) -> i64 {
    let blocks = (count + most - 1) / most;
    ((count + blocks - 1) / blocks.max(1)).max(1)
}

/// Returns the maximum lanes, up to `lanes`, whose vectors do not cross block boundaries.
fn lanes_within_block(lanes: i64, block: i64) -> i64 {
    (1..=lanes).rev().find(|lanes| block % lanes == 0).unwrap_or(1)
}

/// Returns the elements of one vector register. Elements of less than four bytes count as four unless they are only
/// copied, because comparisons and masks of small elements would need many registers.
pub fn register_lanes(stage: &Stage, target: &Target) -> i64 {
    let min_bytes = if stage.is_copy() { 1 } else { 4 };
    let bytes = stage.buffer.dtype.bytes().max(min_bytes) as i64;
    (i64::from(target.vector_bytes) / bytes).clamp(1, MAX_LANES)
}

/// Returns the lanes of `registers` registers, limited to the extent of the axis; `None` if there would be one.
fn lanes(stage: &Stage, axis: usize, registers: i64, target: &Target) -> Option<i64> {
    let one = register_lanes(stage, target);
    let most = stage.axes[axis].extent.as_int().unwrap_or(MAX_LANES);
    let lanes = (one * registers).min(MAX_LANES).min(most);
    // A partial register may have any length; several registers are filled completely.
    let lanes = if lanes > one { 1 << lanes.ilog2() } else { lanes };
    (lanes >= 2).then_some(lanes)
}

/// Returns serial loops over the reduction axes.
fn reduced(stage: &Stage) -> impl Iterator<Item = Loop> {
    (0..stage.axes.len()).filter(|at| stage.axes[*at].reduce).map(Loop::serial)
}
