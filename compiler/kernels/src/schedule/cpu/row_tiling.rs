//! Row-tiled stages.

use super::{
    contraction, even_block, inner_plan, online,
    parallel::{is_symbolic, parallel_rows},
};
use crate::schedule::{LoopKind, RowsPlan, ScheduleContext, StagePlan};
use hammock_ir::{PrimExpr, prim::Var};
use hammock_loopnest::{
    Stage,
    access::{contraction_operands, vector_axis},
    row_tiling::{Rows, SharedCopy},
};

/// Rows of a tile, if several rows help.
const TILE_ROWS: i64 = 8;
/// The same if a contraction reads more data per row than stay in cache, and all rows can share them.
const MAX_ROWS: i64 = 32;
/// Number of tiles that balances the load of threads.
const MIN_TILES: i64 = 16;

/// Plans row-tiled stages, with `given` rows of a tile if it is set.
pub fn plan(rows: &Rows, ctx: ScheduleContext, given: Option<i64>) -> RowsPlan {
    if let Some(plan) = online::plan(rows, ctx).filter(|_| given.is_none()) {
        return plan;
    }
    let count = rows.extents().last().and_then(PrimExpr::as_int);
    let copied: Vec<SharedCopy> =
        (0..rows.stages.len()).filter_map(|number| contraction::shared_copy(rows, number, &ctx)).collect();
    let position: Vec<PrimExpr> = rows.vars().map(Var::expr).collect();
    let (rows, copies) = &rows.with_copies(&copied, &position[..position.len() - 1]);
    let alone = |stage: &Stage| inner_plan(stage, ctx);
    let copied = copied.into_iter().zip(copies.iter().map(alone)).collect();
    // Several rows hide the latency of accumulations, and share the loads of contractions.
    let row_axis = |number: usize| rows.row_axes(number).last().unwrap_or(0);
    let gains = |number: usize, stage: &Stage| {
        contraction::shares(stage, row_axis(number)) || (stage.reduces() && vector_axis(stage).is_none())
    };
    // Horizontal reductions hide latency in one row already: rows then only have to stay in L1.
    let in_lanes = |stage: &Stage| {
        contraction_operands(stage).is_none()
            && inner_plan(stage, ctx).vector().is_some_and(|l| stage.axes[l.axis].reduce)
    };
    let stages = rows.stages.iter().enumerate();
    let gaining: Vec<&Stage> = stages.filter(|(number, stage)| gains(*number, stage)).map(|(_, stage)| stage).collect();
    let room = if gaining.iter().all(|stage| in_lanes(stage)) { ctx.l1_budget() } else { ctx.l2_budget() };
    // The bytes of a dynamic row are a guess, which tiles of few rows should not depend on.
    let guessed = if rows.stages.iter().any(is_symbolic) { 2 * room } else { room };
    let room_for = |n: i64| if n <= TILE_ROWS / 2 { guessed } else { room };
    let fits = |n: &i64| *n == 1 || (!gaining.is_empty() && rows.bytes(*n) <= room_for(*n));
    let far = gaining.iter().any(|stage| contraction::shared_bytes(stage) > ctx.l2_budget());
    let many = count.filter(|_| far).map(|count| whole_register_tiles(rows, even_block(count, MAX_ROWS), ctx));
    let all = rows.extents().try_fold(1, |all: i64, extent| all.checked_mul(extent.as_int()?));
    let plans = |n: i64| {
        let repeated = ScheduleContext { repeats: all.map_or(1, |all| all / n), ..ctx };
        rows.sample(n).stages.iter().map(|stage| inner_plan(stage, repeated)).collect::<Vec<StagePlan>>()
    };
    let few = all.is_some_and(|all| all / TILE_ROWS < MIN_TILES);
    let most = if few && parallel_rows(rows, 1, !copies.is_empty(), ctx).is_some() { TILE_ROWS / 2 } else { TILE_ROWS };
    let sizes = many.into_iter().chain([most, TILE_ROWS / 2, 1]).filter(fits);
    let tile = given.or_else(|| sizes.map(|n| n.min(count.unwrap_or(n))).next()).unwrap_or(1).max(1);
    let rest = count.map_or(tile.min(2) - 1, |count| count % tile);
    let tiles = [tile, rest].into_iter().filter(|n| *n > 0).map(|n| (n, plans(n))).collect();
    RowsPlan { copied, parallel: parallel_rows(rows, tile, !copies.is_empty(), ctx), online: None, tiles }
}

/// Returns the number of rows, up to [`MAX_ROWS`], that register tiles of contractions cover without a partial one: one
/// row of a tile of four takes as long as two.
fn whole_register_tiles(rows: &Rows, count: i64, ctx: ScheduleContext) -> i64 {
    let side = |stage: &Stage| {
        let loops = inner_plan(stage, ctx).loops;
        let unrolled = loops.iter().find(|l| l.kind == LoopKind::Unrolled && !stage.axes[l.axis].reduce)?;
        loops.iter().find(|l| l.axis == unrolled.axis && l.kind == LoopKind::Serial).map(|l| l.step)
    };
    let sample = rows.sample(MAX_ROWS);
    let contractions = sample.stages.iter().filter(|stage| contraction_operands(stage).is_some());
    let side = contractions.filter_map(side).max().unwrap_or(1);
    let whole = (count + side - 1) / side * side;
    if whole <= MAX_ROWS { whole } else { count }
}
