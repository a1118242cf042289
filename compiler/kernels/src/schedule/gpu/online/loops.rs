//! Loops of the stages of an online softmax on the threads of one block.

use super::RULE;
use crate::schedule::{
    Loop, LoopKind, ScheduleContext, StagePlan,
    gpu::{BLOCK_THREADS, contraction, reduces_in_any_order, vectors},
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, intrinsics::WARP_THREADS},
    tir::Buffer,
};
use hammock_loopnest::{
    Stage,
    access::{loads, spatial},
};

/// Maximum accumulators of a thread, so that what it loads is in registers too.
const MAX_ACCUMULATORS: i64 = 64;

/// Returns the plan of a stage on the threads of one block.
pub fn stage_plan(stage: &Stage, is_shared: &dyn Fn(&Buffer) -> bool, ctx: ScheduleContext) -> StagePlan {
    if let Some(loops) = contraction::block_tile(stage, is_shared, &ctx) {
        return StagePlan { staged: loops.staged, ..StagePlan::new(RULE.name, loops.loops) };
    }
    let loops = vector_rows(stage, is_shared, ctx)
        .or_else(|| vector_columns(stage, is_shared, ctx))
        .or_else(|| row_reduction(stage, ctx));
    StagePlan::new(RULE.name, loops.unwrap_or_else(|| spread(stage)))
}

/// Returns true if the accumulators of all stages are in registers.
pub fn fit_registers(stages: &[Stage], is_shared: &dyn Fn(&Buffer) -> bool, ctx: ScheduleContext) -> bool {
    let results = |stage: &Stage| {
        let loops = vector_rows(stage, is_shared, ctx)?;
        let of = |l: &Loop| matches!(l.kind, LoopKind::Unrolled | LoopKind::Vector);
        let plan = StagePlan::new(RULE.name, loops);
        let counts = (0..plan.loops.len()).filter(|number| of(&plan.loops[*number]));
        Some(counts.map(|number| plan.trip_count(stage, number).unwrap_or(1)).product::<i64>())
    };
    stages.iter().filter_map(results).all(|results| results <= MAX_ACCUMULATORS)
}

/// Returns the axis of a reduction in any order with one such axis, and the results' axes.
fn reduction(stage: &Stage, ctx: ScheduleContext) -> Option<(usize, Vec<usize>)> {
    let mut reduced = (0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce);
    let axis = reduced.next().filter(|_| reduced.next().is_none())?;
    reduces_in_any_order(stage, &ctx).then(|| (axis, spatial(stage).collect()))
}

/// Returns the loops of a reduction of rows, each by several threads.
fn row_reduction(stage: &Stage, ctx: ScheduleContext) -> Option<Vec<Loop>> {
    let (axis, results) = reduction(stage, ctx)?;
    let thread = |axis| Loop { axis, step: 1, kind: LoopKind::Thread };
    let [row] = results[..] else {
        let is_whole = results.is_empty();
        return is_whole.then(|| vec![Loop::with_step(axis, BLOCK_THREADS), thread(axis)]);
    };
    let rows = stage.axes[row].extent.as_int()?;
    let threads = BLOCK_THREADS / rows.max(1);
    (threads * rows == BLOCK_THREADS && threads > 1)
        .then(|| vec![thread(row), Loop::with_step(axis, threads), thread(axis)])
}

/// Returns the loops of dot products of one row, such as a query, with many, such as keys: several threads load a row in
/// accesses of 16 bytes, and a thread has several rows on their way.
fn vector_rows(stage: &Stage, is_shared: &dyn Fn(&Buffer) -> bool, ctx: ScheduleContext) -> Option<Vec<Loop>> {
    let (axis, results) = reduction(stage, ctx)?;
    let [row] = results[..] else { return None };
    let (rows, extent) = (stage.axes[row].extent.as_int()?, stage.axes[axis].extent.as_int()?);
    matrix_along(stage, [axis, row], is_shared)?;
    let lanes = vectors::lanes(stage, axis).filter(|lanes| extent % lanes == 0).unwrap_or(1);
    let threads = sharing_threads(extent / lanes, lanes);
    let (step, groups) = (threads * lanes, BLOCK_THREADS / threads);
    let of_kind = |axis, step, kind| Loop { axis, step, kind };
    let mut loops = Vec::new();
    loops.extend((rows != groups).then(|| of_kind(row, groups, LoopKind::Unrolled)));
    loops.extend((extent != step).then(|| Loop::with_step(axis, step)));
    loops.extend([of_kind(row, 1, LoopKind::Thread), of_kind(axis, lanes, LoopKind::Thread)]);
    loops.extend((lanes > 1).then(|| Loop::vector(axis)));
    Some(loops)
}

/// Returns the loops of a sum of weighted rows, such as values: a thread loads 16 bytes of every few rows.
fn vector_columns(stage: &Stage, is_shared: &dyn Fn(&Buffer) -> bool, ctx: ScheduleContext) -> Option<Vec<Loop>> {
    let (axis, results) = reduction(stage, ctx)?;
    let [column] = results[..] else { return None };
    let (columns, extent) = (stage.axes[column].extent.as_int()?, stage.axes[axis].extent.as_int()?);
    matrix_along(stage, [column, axis], is_shared)?;
    let lanes = vectors::column_lanes(stage, column).unwrap_or(1);
    let threads = sharing_threads(columns / lanes, lanes);
    let (step, groups) = (threads * lanes, BLOCK_THREADS / threads);
    let of_kind = |axis, step, kind| Loop { axis, step, kind };
    let mut loops = Vec::new();
    loops.extend((extent != groups).then(|| of_kind(axis, groups, LoopKind::Unrolled)));
    loops.extend((columns != step).then(|| of_kind(column, step, LoopKind::Unrolled)));
    loops.extend([of_kind(axis, 1, LoopKind::Thread), of_kind(column, lanes, LoopKind::Thread)]);
    loops.extend((lanes > 1).then(|| Loop::vector(column)));
    Some(loops)
}

/// Returns the load of an operand in global memory that is contiguous along one axis and varies along another.
fn matrix_along<'a>(
    stage: &'a Stage,
    [inner, outer]: [usize; 2],
    is_shared: &dyn Fn(&Buffer) -> bool,
) -> Option<&'a PrimExpr> {
    let uses = |load: &PrimExpr, axis: usize| load.uses(&stage.axes[axis].var);
    let is_matrix = |load: &&PrimExpr| {
        let is_global = matches!(load.kind(), PrimKind::Load(buffer, ..) if !is_shared(buffer));
        is_global && uses(load, inner) && uses(load, outer) && vectors::contiguous_axis(stage, load) == Some(inner)
    };
    loads(stage).into_iter().find(is_matrix)
}

/// Returns the number of threads of a warp that share a row of some accesses of `lanes` elements: a power of two, without
/// a rest if they are vectors.
fn sharing_threads(accesses: i64, lanes: i64) -> i64 {
    let accesses = accesses.max(1);
    1 << if lanes > 1 { accesses.trailing_zeros() } else { accesses.ilog2() }.min(WARP_THREADS.ilog2())
}

/// Returns loops that spread the results of any stage over the threads of a block: consecutive ones over consecutive
/// threads.
fn spread(stage: &Stage) -> Vec<Loop> {
    let (mut outer, mut threads) = (Vec::new(), Vec::new());
    let mut left = BLOCK_THREADS;
    let results: Vec<usize> = spatial(stage).collect();
    for (number, axis) in results.iter().enumerate().rev() {
        let extent = stage.axes[*axis].extent.as_int().unwrap_or(left).max(1);
        let count = if number == 0 { left } else { left.min(extent.unsigned_abs().next_power_of_two() as i64) };
        left /= count;
        let kind = if stage.reduces() { LoopKind::Unrolled } else { LoopKind::Serial };
        outer.insert(0, Loop { axis: *axis, step: count, kind });
        threads.insert(0, Loop { axis: *axis, step: 1, kind: LoopKind::Thread });
    }
    outer.extend((0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce).map(Loop::serial));
    outer.extend(threads);
    outer
}
