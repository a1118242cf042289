//! Online softmax, such as attention: a block for each tile of rows, or for each part of a row.

pub mod fragments;
mod loops;

use super::Rule;
use crate::schedule::{OnlinePlan, RowsPlan, ScheduleContext, StagePlan};
use hammock_ir::{PrimExpr, prim::Var, tir::Buffer};
use hammock_loopnest::row_tiling::{Online, OnlineTile, Rows, TilePosition};
use hammock_target::Gpu;
pub use loops::stage_plan;

/// Rows of a block that share elements, such as keys, if they fit.
const ROWS: [i64; 2] = [32, 16];
/// The same on tensor cores, 16 for each warp.
const FRAGMENT_ROWS: [i64; 3] = [64, 32, 16];
/// Elements of these rows at a time.
const ELEMENTS: i64 = 64;
/// Elements of a single row at a time, the most first: loads of 16 bytes by all threads, several times.
const SINGLE_ROW_ELEMENTS: [i64; 3] = [256, 128, 64];
/// Maximum number of splits of a row.
pub const MAX_SPLITS: i64 = 64;
/// Minimum number of tiles of elements in a split.
pub const MIN_SPLIT_TILES: i64 = 2;
/// Blocks of an SM, so that one computes while another waits.
const SM_BLOCKS: i64 = 2;

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "online_softmax",
    class: "attention",
    why: "scores stay in a block",
    doc: "Matches row-wise stages around a softmax, such as attention, for rows of 64 or more elements. A block computes \
          32 or 16 rows that share elements, or else a single row. It takes 64 to 256 elements at a time, with the \
          running maximum, and rescales its sums when that grows; it skips tiles of elements that a causal mask hides \
          from all its rows. Scores, exponentials and sums are in shared memory. For a single row, threads load keys and \
          values in accesses of 16 bytes where these are aligned. On tensor cores, which multiply float16 and bfloat16 \
          (sm_80 and later), a block computes 64, 32 or 16 rows: a warp has 16 of them, with scores, exponentials and \
          sums in registers, and keys and values are copied to shared memory asynchronously, in accesses of 16 bytes. \
          The head sizes of keys and values are multiples of 16, up to 128 for values. If there are too few blocks, rows \
          are split: each block takes some elements of its rows, and a second kernel combines their maxima and sums. Not \
          with --strict-order.",
    plan: |_, _| None,
};

/// Plans an online softmax.
pub fn plan(rows: &Rows, online: &Online, ctx: ScheduleContext) -> Option<RowsPlan> {
    let mut fragments = FRAGMENT_ROWS.into_iter().filter(|count| rows.fill_tiles(online, *count));
    if let Some(plan) = fragments.find_map(|count| tile_plan(rows, online, (count, ELEMENTS), true, ctx)) {
        return Some(plan);
    }
    let tiles = ROWS.map(|count| (count, ELEMENTS));
    let single = SINGLE_ROW_ELEMENTS.map(|elements| (1, elements));
    let mut plans = tiles.into_iter().chain(single).filter(|tile| rows.suits_tiles(online, *tile));
    plans.find_map(|tile| tile_plan(rows, online, tile, false, ctx))
}

/// Plans tiles of rows and elements. `None` if others are better, or tensor cores do not compute them.
fn tile_plan(
    rows: &Rows,
    online: &Online,
    (row_count, elements): (i64, i64),
    tensor_cores: bool,
    ctx: ScheduleContext,
) -> Option<RowsPlan> {
    let splits = splits(rows, online, (row_count, elements), ctx);
    let how = OnlinePlan { elements, splits, tensor_cores, clamps: true };
    let mut plan = RowsPlan { copied: Vec::new(), parallel: None, online: Some(how), tiles: Vec::new() };
    let plans = match tensor_cores {
        true => fragment_plans(rows, &plan, row_count, ctx)?,
        false => block_plans(sample(rows, online, (row_count, elements)), ctx)?,
    };
    plan.tiles.push((row_count, plans));
    Some(plan)
}

/// Returns the stages of a tile of rows and elements.
fn sample(rows: &Rows, online: &Online, (row_count, element_count): (i64, i64)) -> OnlineTile {
    let position: Vec<PrimExpr> = rows.vars().map(Var::expr).collect();
    let element = &PrimExpr::int64(0);
    rows.online_tile(online, &TilePosition { rows: &position, row_count, element, element_count, clamps: true })
}

/// Returns the plans of the stages of a tile on tensor cores.
pub fn fragment_plans(rows: &Rows, plan: &RowsPlan, row_count: i64, ctx: ScheduleContext) -> Option<Vec<StagePlan>> {
    let (how, online) = plan.online.zip(rows.online())?;
    fragments::plans(&sample(rows, &online, (row_count, how.elements)), ctx)
}

/// Returns the plans of the stages of a tile whose results are in shared memory. `None` if there are too many for a single
/// row.
fn block_plans(tile: OnlineTile, ctx: ScheduleContext) -> Option<Vec<StagePlan>> {
    let shared = tile.buffers.clone();
    let is_shared = |buffer: &Buffer| shared.contains(buffer);
    let stages = tile.row_tiled();
    let plans = stages.iter().map(|stage| loops::stage_plan(stage, &is_shared, ctx)).collect();
    loops::fit_registers(&stages, &is_shared, ctx).then_some(plans)
}

/// Returns the number of splits of a row with which there are enough blocks for the GPU. A dynamic number of rows is taken
/// for one: with more, rows are not split when there are [too many blocks](max_split_blocks).
fn splits(rows: &Rows, online: &Online, (row_count, elements): (i64, i64), ctx: ScheduleContext) -> i64 {
    let Some(gpu) = ctx.gpu.filter(|_| online.can_be_split()) else { return 1 };
    let extents: Vec<&PrimExpr> = rows.extents().collect();
    let last = extents.len() - 1;
    let along = |(axis, extent): (usize, &&PrimExpr)| {
        let step = if axis == last { row_count } else { 1 };
        (extent.as_int().unwrap_or(1).max(1) + step - 1) / step
    };
    let blocks = extents.iter().enumerate().map(along).fold(1i64, i64::saturating_mul);
    if blocks > max_split_blocks(row_count, gpu) {
        return 1;
    }
    let wanted = i64::from(gpu.sm_count) * SM_BLOCKS / blocks;
    let tiles = rows.online_extent(online).as_int().map(|extent| extent / (elements * MIN_SPLIT_TILES));
    wanted.min(tiles.unwrap_or(MAX_SPLITS)).clamp(1, MAX_SPLITS)
}

/// Returns the maximum number of blocks whose rows are split. The results of parts of many rows take more time than idle SMs
/// if these are less than half.
pub fn max_split_blocks(row_count: i64, gpu: &Gpu) -> i64 {
    i64::from(gpu.sm_count) / if row_count > 1 { 2 } else { 1 }
}
