//! Parallel loops: which loops of a plan run on several threads, and the minimum iterations for a thread.

use super::inner_plan;
use crate::schedule::{LoopKind, ScheduleContext, StagePlan, duration};
use hammock_ir::PrimExpr;
use hammock_loopnest::{Stage, access::size, row_tiling::Rows};
use hammock_target::Target;

/// Minimum cycles of a parallel kernel: about 4 µs, eight times the cost of a parallel region whose threads are awake
/// (`benches/regions.rs` of the runtime).
const MIN_PARALLEL_CYCLES: i64 = 16_000;
/// Minimum cycles for one thread of a parallel kernel.
const MIN_THREAD_CYCLES: i64 = 4_000;
/// Number of parallel iterations that balances the load.
const MIN_PARALLEL_ITERATIONS: i64 = 64;

/// Parallelizes the outermost loops if there is enough work.
pub fn parallelize(plan: &mut StagePlan, stage: &Stage, target: &Target) {
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
pub struct TripCount {
    estimate: i64,
    /// Lower bound; 1 for a dynamic size.
    min: i64,
}

impl TripCount {
    /// Counts steps along an axis, the partial last one included.
    pub fn of(extent: &PrimExpr, step: i64) -> TripCount {
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
pub fn parallel(counts: &[TripCount], time: i64, symbolic: bool) -> Option<(usize, i64)> {
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

/// Returns the parallel axis of row-tiled stages in tiles of some rows, and the minimum iterations for a thread. `copies`:
/// with copies before the loop over the last axis.
pub fn parallel_rows(rows: &Rows, tile: i64, copies: bool, ctx: ScheduleContext) -> Option<(usize, i64)> {
    let time = |stage: &Stage| duration(stage, &inner_plan(stage, ctx), ctx.target);
    let time = rows.stages.iter().map(time).fold(0, i64::saturating_add);
    let last = rows.extents().len() - 1;
    let count = |(n, extent): (usize, &PrimExpr)| TripCount::of(extent, if n == last { tile } else { 1 });
    let counts: Vec<TripCount> = rows.extents().enumerate().map(count).collect();
    let symbolic = rows.stages.iter().any(is_symbolic);
    // Copies are inside all loops but the last: if those have several iterations, copies are not repeated.
    let outer = if copies { parallel(&counts[..last], time, symbolic) } else { None };
    outer.or_else(|| parallel(&counts, time, symbolic))
}

/// Returns true if a stage has a dynamic extent.
pub fn is_symbolic(stage: &Stage) -> bool {
    stage.axes.iter().any(|axis| axis.extent.as_int().is_none())
}
