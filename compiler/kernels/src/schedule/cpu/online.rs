//! Online softmax on CPUs: a tile of rows that share keys and values takes as many elements at a time as stay in L2.

use super::{even_block, inner_plan, parallel::parallel_rows};
use crate::schedule::{OnlinePlan, RowsPlan, ScheduleContext, StagePlan};
use hammock_ir::PrimExpr;
use hammock_loopnest::{
    Stage,
    access::{contraction_operands, size},
    row_tiling::Rows,
};

/// Rows of a tile. Fewer rows read keys and values almost as fast as memory allows, also stage by stage.
const MIN_ROWS: i64 = 16;
const MAX_ROWS: i64 = 64;
/// Number of tiles, for threads, that smaller ones are made for.
const MIN_TILES: i64 = 4;
/// Elements of a row at a time.
const ELEMENTS: i64 = 256;

/// Plans row-tiled stages as an online softmax. `None` if the rows are too few, or what they share stays in cache anyway.
pub fn plan(rows: &Rows, ctx: ScheduleContext) -> Option<RowsPlan> {
    let (own, online) = rows.online_form().filter(|_| !ctx.strict_order)?;
    let count = own.extents().next_back()?.as_int().filter(|count| *count >= MIN_ROWS)?;
    let is_long = match own.online_extent(&online).as_int() {
        Some(extent) => extent > ELEMENTS && shared_bytes(&own) > ctx.l2_budget(),
        None => true,
    };
    if !is_long || !own.share_elements(&online, own.extents().len() - 1) {
        return None;
    }
    let tile = rows_of_tile(&own, count);
    let how = OnlinePlan { elements: ELEMENTS, splits: 1, tensor_cores: false, clamps: false };
    let parallel = parallel_rows(&own, tile, false, ctx);
    let mut plan = RowsPlan { copied: Vec::new(), parallel, online: Some(how), tiles: Vec::new() };
    for rows_of_tile in [tile, count % tile].into_iter().filter(|n| *n > 0) {
        let plans: Vec<StagePlan> =
            plan.sample(rows, rows_of_tile).iter().map(|stage| inner_plan(stage, ctx)).collect();
        plan.tiles.push((rows_of_tile, plans));
    }
    Some(plan)
}

/// Returns the rows of a tile: as many as share a packed part of the keys, if there are tiles for several threads.
fn rows_of_tile(rows: &Rows, count: i64) -> i64 {
    let known = rows.extents().rev().skip(1).filter_map(PrimExpr::as_int);
    let others = known.fold(1, i64::saturating_mul);
    let mut sizes = std::iter::successors(Some(MAX_ROWS), |size| Some(size / 2)).take_while(|size| *size >= MIN_ROWS);
    let tiles = |size: i64| (count + size - 1) / size * others;
    let found = sizes.find(|size| tiles(*size) >= MIN_TILES);
    even_block(count, found.unwrap_or(MIN_ROWS))
}

/// Estimates the bytes of the operands of contractions that all rows of the last row axis share.
fn shared_bytes(rows: &Rows) -> i64 {
    let of_stage = |(number, stage): (usize, &Stage)| {
        let row = rows.row_axes(number).last();
        let operands = contraction_operands(stage).into_iter().flat_map(|(a, b)| [a, b]);
        let shared = operands.filter(|e| row.is_some_and(|row| !e.uses(&stage.axes[row].var)));
        let bytes = |e: &PrimExpr| {
            let is_row = |axis: usize| rows.row_axes(number).any(|row| row == axis);
            let used = (0..stage.axes.len()).filter(|axis| !is_row(*axis) && e.uses(&stage.axes[*axis].var));
            used.map(|axis| size(&stage.axes[axis].extent)).fold(e.dtype().bytes() as i64, i64::saturating_mul)
        };
        shared.map(bytes).max().unwrap_or(0)
    };
    rows.stages.iter().enumerate().map(of_stage).max().unwrap_or(0)
}
