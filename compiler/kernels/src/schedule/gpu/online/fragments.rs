//! Online softmax on tensor cores: what a block computes of its rows is in the registers of warps.
//!
//! A warp has 16 rows. Its threads have scores, exponentials and sums as `mma.sync` has its results, and the exponentials
//! are an operand of the second matmul as they are. After Dao, "FlashAttention-2" (2023).

use super::RULE;
use crate::schedule::{
    Loop, LoopKind, ScheduleContext, StagePlan,
    gpu::{
        tensor_cores::{MMA_TILE, matrix_row, mma_depth, stored, sums},
        vectors,
    },
};
use hammock_ir::{DType, PrimExpr, prim::PrimKind, tir::Buffer};
use hammock_loopnest::{
    Stage,
    access::{combiner, contraction_operands, spatial},
    row_tiling::OnlineTile,
};

/// Maximum results of a thread in the accumulators of both matmuls.
const MAX_RESULTS: i64 = 96;
/// Threads that have the results of one row.
pub const ROW_THREADS: i64 = 4;

/// A matmul of two operands of 16 bits, with sums of float32.
pub struct Product<'a> {
    /// Axes of rows, columns, and the reduction.
    pub axes: [usize; 3],
    /// Operand of rows, contiguous along the reduction in global memory, or in registers.
    pub rows: &'a PrimExpr,
    /// Operand of columns, in global memory.
    pub columns: &'a PrimExpr,
    /// Condition along the reduction without which the operand of columns is zero.
    pub inside: Option<&'a PrimExpr>,
    /// True if the operand of columns is contiguous along the columns, otherwise along the reduction.
    pub is_along_columns: bool,
    /// True if the operand of rows is in registers.
    pub has_rows_in_registers: bool,
}

/// Returns the plans of the row-tiled stages of a tile of rows; `None` if these are no matmuls for tensor cores around a
/// softmax, or are too large for registers.
pub fn plans(tile: &OnlineTile, ctx: ScheduleContext) -> Option<Vec<StagePlan>> {
    let is_numbered = |(number, _): &&(Option<usize>, Stage)| number.is_some();
    if tile.before.iter().chain(&tile.after).any(|stage| is_numbered(&stage)) {
        return None;
    }
    let is_register = |buffer: &Buffer| tile.buffers.contains(buffer);
    let stages: Vec<&Stage> = tile.body.iter().filter(is_numbered).map(|(_, stage)| stage).collect();
    let products: Vec<_> =
        stages.iter().filter_map(|stage| Some((*stage, product(stage, &is_register, ctx)?))).collect();
    let [(scores, first), (weighted, second)] = &products[..] else { return None };
    let threads = |stage: &Stage, product: &Product| extent(stage, product.axes[1]).map(|columns| columns / 2);
    let results = threads(scores, first)? + threads(weighted, second)?;
    let max_bytes = ctx.gpu.map_or(0, |gpu| i64::from(gpu.max_block_shared));
    let bytes = shared_bytes(scores, first)? + shared_bytes(weighted, second)?;
    let has_places = !first.has_rows_in_registers && second.has_rows_in_registers;
    let fits = has_places && results <= MAX_RESULTS && bytes <= max_bytes;
    let others = tile.before.iter().chain(&tile.after).map(|(_, stage)| stage);
    let plan = |stage: &&Stage| Some(StagePlan::new(RULE.name, loops(stage, &is_register, ctx)?));
    let is_held = others.into_iter().all(|stage| element_loops(stage).is_some());
    stages.iter().map(plan).collect::<Option<Vec<_>>>().filter(|_| fits && is_held)
}

/// Returns the bytes of the operands of a matmul in shared memory.
fn shared_bytes(stage: &Stage, product: &Product) -> Option<i64> {
    let [m, n, k] = product.axes.map(|axis| extent(stage, axis));
    let (outer, inner) = if product.is_along_columns { (k?, n?) } else { (n?, k?) };
    let padding = matrix_row(product.columns.dtype());
    let rows = if product.has_rows_in_registers { 0 } else { m? * (k? + padding) };
    Some((rows + outer * (inner + padding)) * product.columns.dtype().bytes() as i64)
}

/// Returns the loops of a stage.
fn loops(stage: &Stage, is_register: &dyn Fn(&Buffer) -> bool, ctx: ScheduleContext) -> Option<Vec<Loop>> {
    let of_kind = |axis, step, kind| Loop { axis, step, kind };
    let Some(Product { axes: [m, n, k], columns, .. }) = product(stage, is_register, ctx) else {
        return element_loops(stage);
    };
    let ([mma_m, mma_n], mma_k) = (MMA_TILE, mma_depth(columns.dtype()));
    let tiles = [(m, mma_m, LoopKind::Warp), (k, mma_k, LoopKind::Unrolled), (n, mma_n, LoopKind::Unrolled)];
    let mma = [m, n, k].map(|axis| (axis, 1, LoopKind::Mma));
    Some(tiles.into_iter().chain(mma).map(|(axis, step, kind)| of_kind(axis, step, kind)).collect())
}

/// Returns the loops of a stage over the elements that a thread has of rows, or of rows and columns.
fn element_loops(stage: &Stage) -> Option<Vec<Loop>> {
    let [row, ref column @ ..] = held_axes(stage)?[..] else { return None };
    let [mma_m, mma_n] = MMA_TILE;
    let of_kind = |axis, step, kind| Loop { axis, step, kind };
    let mut loops = vec![of_kind(row, mma_m, LoopKind::Warp)];
    loops.extend(column.iter().map(|axis| of_kind(*axis, mma_n, LoopKind::Unrolled)));
    loops.extend([row].iter().chain(column).map(|axis| of_kind(*axis, 1, LoopKind::Mma)));
    Some(loops)
}

/// Returns the axes of a stage that is no matmul: rows, and possibly columns, which may be reduced.
pub fn held_axes(stage: &Stage) -> Option<Vec<usize>> {
    let mut axes: Vec<usize> = spatial(stage).collect();
    let reduced: Vec<usize> = (0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce).collect();
    let is_reduction = combiner(stage).is_some() && axes.len() == 1;
    axes.extend(&reduced);
    let has_tiles = axes[1..].iter().all(|axis| is_multiple(stage, *axis, MMA_TILE[1]));
    ((1..=2).contains(&axes.len()) && (reduced.is_empty() || is_reduction) && has_tiles).then_some(axes)
}

/// Returns the matmul that a stage computes.
pub fn product<'a>(
    stage: &'a Stage,
    is_register: &dyn Fn(&Buffer) -> bool,
    ctx: ScheduleContext,
) -> Option<Product<'a>> {
    let gpu = ctx.gpu.filter(|_| !ctx.strict_order)?;
    let (a, b) = contraction_operands(stage).filter(|_| stage.arg_result.is_none())?;
    let (results, mut reduced) =
        (spatial(stage).collect::<Vec<_>>(), (0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce));
    let [m, n] = results[..] else { return None };
    let k = reduced.next().filter(|_| reduced.next().is_none())?;
    let uses = |e: &PrimExpr, axis: usize| e.uses(&stage.axes[axis].var);
    let (rows, columns) = if uses(a, m) { (a, b) } else { (b, a) };
    let (inside, columns) = match columns.kind() {
        PrimKind::Select(inside, value, other) if other.as_float() == Some(0.0) => (Some(inside), value),
        _ => (None, columns),
    };
    let (rows, columns) = (stored(rows), stored(columns));
    let buffer = |e: &PrimExpr| match e.kind() {
        PrimKind::Load(buffer, _, None) => Some(buffer.clone()),
        _ => None,
    };
    let (of_rows, of_columns) = (buffer(rows)?, buffer(columns)?);
    let has_vectors =
        |e: &PrimExpr, axis: usize| vectors::load_lanes(e, &stage.axes[axis]) == Some(matrix_row(columns.dtype()));
    let has_rows_in_registers = is_register(&of_rows);
    let is_along_columns = has_vectors(columns, n);
    let is_product = uses(rows, m) && uses(rows, k) && !uses(rows, n) && uses(columns, n) && uses(columns, k);
    let is_common = !uses(columns, m) && inside.is_none_or(|inside| !uses(inside, m) && !uses(inside, n));
    let is_stored = !is_register(&of_columns) && (is_along_columns || has_vectors(columns, k));
    let are_rows = has_rows_in_registers || rows.dtype() == columns.dtype() && has_vectors(rows, k);
    let is_supported = columns.dtype().bits == 16
        && sums(&ctx, gpu, columns.dtype()) == Some(DType::FLOAT32)
        && stage.buffer.dtype == DType::FLOAT32;
    let [mma_m, mma_n] = MMA_TILE;
    let tiles = [(m, mma_m), (n, 2 * mma_n), (k, mma_depth(columns.dtype()))];
    let is_whole = tiles.iter().all(|(axis, step)| is_multiple(stage, *axis, *step));
    (is_product && is_common && is_stored && are_rows && is_supported && is_whole).then_some(Product {
        axes: [m, n, k],
        rows,
        columns,
        inside,
        is_along_columns,
        has_rows_in_registers,
    })
}

fn extent(stage: &Stage, axis: usize) -> Option<i64> {
    stage.axes[axis].extent.as_int()
}

fn is_multiple(stage: &Stage, axis: usize, of: i64) -> bool {
    extent(stage, axis).is_some_and(|extent| extent % of == 0)
}
