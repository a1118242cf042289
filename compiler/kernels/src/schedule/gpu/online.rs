//! Online softmax, such as attention: a block for each tile of rows.

use super::{BLOCK_THREADS, Rule, contraction};
use crate::schedule::{Loop, LoopKind, RowsPlan, ScheduleContext, StagePlan};
use hammock_ir::{PrimExpr, prim::Var, tir::Buffer};
use hammock_loopnest::{
    Stage,
    access::{combiner, spatial},
    row_tiling::{Online, Rows, TilePosition},
};

/// Rows of a block, if they fit.
const ROWS: [i64; 2] = [32, 16];
/// Elements of a row at a time.
const ELEMENTS: i64 = 64;
/// Maximum bytes of a tile in shared memory, without copies of operands.
const MAX_TILE_BYTES: i64 = 36 << 10;

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "online_softmax",
    class: "attention",
    why: "scores stay in shared memory",
    doc: "Matches row-wise stages around a softmax, such as attention, for 16 or more rows of 64 or more elements. A block \
          computes 32 or 16 rows. It takes 64 elements at a time, with the running maximum, and rescales its sums when \
          that grows. Scores, exponentials and sums are in shared memory. Not with --strict-order.",
    plan: |_, _| None,
};

/// Plans an online softmax.
pub fn plan(rows: &Rows, online: &Online, ctx: ScheduleContext) -> Option<RowsPlan> {
    let extent = rows.extents().next_back()?.as_int();
    let fits = |count: &i64| {
        let is_long = extent.is_none_or(|extent| extent >= *count);
        is_long && rows.online_bytes(online, (*count, ELEMENTS)).is_some_and(|bytes| bytes <= MAX_TILE_BYTES)
    };
    let row_count = ROWS.into_iter().find(fits)?;
    let position: Vec<PrimExpr> = rows.vars().map(Var::expr).collect();
    let at = TilePosition { rows: &position, row_count, element: &PrimExpr::int64(0), element_count: ELEMENTS };
    let tile = rows.online_tile(online, &at);
    let shared = tile.buffers.clone();
    let is_shared = |buffer: &Buffer| shared.contains(buffer);
    let plans = tile.row_tiled().iter().map(|stage| stage_plan(stage, &is_shared, ctx)).collect();
    Some(RowsPlan { copied: Vec::new(), parallel: None, online: Some(ELEMENTS), tiles: vec![(row_count, plans)] })
}

/// Returns the plan of a stage on the threads of one block.
pub fn stage_plan(stage: &Stage, is_shared: &dyn Fn(&Buffer) -> bool, ctx: ScheduleContext) -> StagePlan {
    if let Some(loops) = contraction::block_tile(stage, is_shared, &ctx) {
        return StagePlan { staged: loops.staged, ..StagePlan::new(RULE.name, loops.loops) };
    }
    StagePlan::new(RULE.name, row_reduction(stage, ctx).unwrap_or_else(|| spread(stage)))
}

/// Returns the loops of a reduction of rows, each by several threads.
fn row_reduction(stage: &Stage, ctx: ScheduleContext) -> Option<Vec<Loop>> {
    let mut reduced = (0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce);
    let (axis, mut results) = (reduced.next()?, spatial(stage));
    let (row, rows) = results.next().and_then(|row| Some((row, stage.axes[row].extent.as_int()?)))?;
    let is_simple = reduced.next().is_none() && results.next().is_none();
    let threads = BLOCK_THREADS / rows;
    let fits = is_simple && threads * rows == BLOCK_THREADS && threads > 1;
    (fits && combiner(stage).is_some() && super::reduces_in_any_order(stage, &ctx)).then(|| {
        let thread = |axis| Loop { axis, step: 1, kind: LoopKind::Thread };
        vec![thread(row), Loop::with_step(axis, threads), thread(axis)]
    })
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
