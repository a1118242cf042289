//! Online softmax, such as attention: a block for each tile of rows, or for each part of a row.

use super::{Rule, online_loops};
use crate::schedule::{OnlinePlan, RowsPlan, ScheduleContext};
use hammock_ir::{PrimExpr, prim::Var, tir::Buffer};
use hammock_loopnest::row_tiling::{Online, Rows, TilePosition};

/// Rows of a block that share elements, such as keys, if they fit.
const ROWS: [i64; 2] = [32, 16];
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
    why: "scores stay in shared memory",
    doc: "Matches row-wise stages around a softmax, such as attention, for rows of 64 or more elements. A block computes \
          32 or 16 rows that share elements, or else a single row. It takes 64 to 256 elements at a time, with the \
          running maximum, and rescales its sums when that grows. Scores, exponentials and sums are in shared memory. \
          For a single row, threads load keys and values in accesses of 16 bytes where these are aligned. If there are \
          too few blocks, rows are split: each block takes some elements of its rows, and a second kernel combines \
          their maxima and sums. Not with --strict-order.",
    plan: |_, _| None,
};

/// Plans an online softmax.
pub fn plan(rows: &Rows, online: &Online, ctx: ScheduleContext) -> Option<RowsPlan> {
    let tiles = ROWS.map(|count| (count, ELEMENTS));
    let single = SINGLE_ROW_ELEMENTS.map(|elements| (1, elements));
    let mut plans = tiles.into_iter().chain(single).filter(|tile| rows.suits_tiles(online, *tile));
    plans.find_map(|tile| tile_plan(rows, online, tile, ctx))
}

/// Plans tiles of rows and elements. `None` if other tiles are better.
fn tile_plan(
    rows: &Rows,
    online: &Online,
    (row_count, elements): (i64, i64),
    ctx: ScheduleContext,
) -> Option<RowsPlan> {
    let position: Vec<PrimExpr> = rows.vars().map(Var::expr).collect();
    let at = TilePosition { rows: &position, row_count, element: &PrimExpr::int64(0), element_count: elements };
    let tile = rows.online_tile(online, &at);
    let shared = tile.buffers.clone();
    let is_shared = |buffer: &Buffer| shared.contains(buffer);
    let stages = tile.row_tiled();
    if row_count == 1 && elements > ELEMENTS && !online_loops::fit_registers(&stages, &is_shared, ctx) {
        return None;
    }
    let plans = stages.iter().map(|stage| online_loops::stage_plan(stage, &is_shared, ctx)).collect();
    let online = OnlinePlan { elements, splits: splits(rows, online, (row_count, elements), ctx) };
    Some(RowsPlan { copied: Vec::new(), parallel: None, online: Some(online), tiles: vec![(row_count, plans)] })
}

/// Returns the number of splits of a row with which there are enough blocks for the GPU. Tiles of a dynamic number of rows
/// are enough; single rows are taken for one.
fn splits(rows: &Rows, online: &Online, (row_count, elements): (i64, i64), ctx: ScheduleContext) -> i64 {
    let extents: Vec<Option<i64>> = rows.extents().map(PrimExpr::as_int).collect();
    let is_enough = row_count > 1 && extents.last().is_some_and(Option::is_none);
    if is_enough || !online.can_be_split() {
        return 1;
    }
    let last = extents.len() - 1;
    let along = |(axis, extent): (usize, &Option<i64>)| {
        let step = if axis == last { row_count } else { 1 };
        (extent.unwrap_or(1).max(1) + step - 1) / step
    };
    let blocks = extents.iter().enumerate().map(along).fold(1i64, i64::saturating_mul);
    let wanted = ctx.gpu.map_or(1, |gpu| i64::from(gpu.sm_count) * SM_BLOCKS / blocks);
    let tiles = rows.online_extent(online).as_int().map(|extent| extent / (elements * MIN_SPLIT_TILES));
    wanted.min(tiles.unwrap_or(MAX_SPLITS)).clamp(1, MAX_SPLITS)
}
