//! Contractions: block tiles through shared memory, register tiles for threads.

use super::{Loops, Rule, vectors};
use crate::schedule::{Loop, LoopKind, ScheduleContext, Staged};
use hammock_ir::{PrimExpr, prim::intrinsics::WARP_THREADS};
use hammock_loopnest::{
    Stage,
    access::{contraction_operands, is_copyable, parts, size, spatial, store_axis},
    index::same_expr,
};

/// Reduction elements of a tile.
const DEPTH: i64 = 16;
/// Threads of a block along each axis of its tile.
const THREADS: i64 = 16;
/// Results of a thread along rows and columns, for large and for small results.
const TILES: [(i64, i64); 3] = [(8, 8), (4, 4), (2, 2)];
/// The same for dynamic extents.
const DYNAMIC_TILE: (i64, i64) = (4, 4);
/// Smaller extents leave most of a tile empty.
const MIN_EXTENT: i64 = 8;

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "contraction",
    class: "contraction",
    why: "operands are read from shared memory and used by a register tile",
    doc: "Matches contractions with an axis of rows, which one operand has, and an axis of columns, which the other has. A \
          block of 16 x 16 threads computes a tile of up to 128 x 128 results; for each 16 elements of the reduction, it \
          copies both operands to shared memory. A thread has every 16th row and column of the tile, so that it reads \
          without bank conflicts and stores coalesced. The epilogue runs in registers.",
    plan: |stage, ctx| plan(stage, ctx),
};

fn plan(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let (a, b) = contraction_operands(stage).filter(|_| stage.arg_result.is_none())?;
    let uses = |e: &PrimExpr, axis: usize| e.uses(&stage.axes[axis].var);
    let stored = store_axis(stage)?;
    // Columns are the axis of the stores.
    let (rows_operand, columns_operand) = if uses(a, stored) && !uses(b, stored) { (b, a) } else { (a, b) };
    let only = |own: &PrimExpr, other: &PrimExpr, axis: usize| uses(own, axis) && !uses(other, axis);
    let n = Some(stored).filter(|axis| only(columns_operand, rows_operand, *axis))?;
    let rows = spatial(stage).filter(|axis| only(rows_operand, columns_operand, *axis));
    let m = rows.max_by_key(|axis| size(&stage.axes[*axis].extent))?;
    let k = stage.axes.iter().enumerate().filter(|(at, axis)| axis.reduce && uses(a, *at) && uses(b, *at));
    let k = k.max_by_key(|(_, axis)| size(&axis.extent)).map(|(at, _)| at)?;
    if ctx.strict_order && stage.axes[k + 1..].iter().any(|axis| axis.reduce) {
        return None;
    }
    let extent = |axis: usize| size(&stage.axes[axis].extent);
    if extent(m) < MIN_EXTENT || extent(n) < MIN_EXTENT || extent(k) < MIN_EXTENT {
        return None;
    }
    let others: Vec<usize> = spatial(stage).filter(|axis| ![m, n].contains(axis)).collect();
    let batch = others.iter().fold(1i64, |count, axis| count.saturating_mul(extent(*axis)));
    let is_dynamic = [m, n].iter().any(|axis| stage.axes[*axis].extent.as_int().is_none());
    let (tm, tn) = if is_dynamic { DYNAMIC_TILE } else { tile(extent(m), extent(n), batch, ctx)? };
    let block = |axis, step| Loop { axis, step, kind: LoopKind::Block };
    let mut loops: Vec<Loop> = others.into_iter().map(|axis| block(axis, 1)).collect();
    loops.extend([block(m, tm * THREADS), block(n, tn * THREADS)]);
    loops.extend((0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce && *axis != k).map(Loop::serial));
    loops.push(Loop::with_step(k, DEPTH));
    let inside = loops.len();
    let operands = [(rows_operand, m, tm), (columns_operand, n, tn)];
    let staged = operands.map(|(operand, axis, tile)| copy(stage, operand, [k, axis], tile * THREADS, inside));
    let [Some(first), Some(second)] = staged else { return None };
    let unrolled = |axis, step| Loop { axis, step, kind: LoopKind::Unrolled };
    let thread = |axis| Loop { axis, step: 1, kind: LoopKind::Thread };
    loops.extend([Loop::serial(k), unrolled(m, THREADS), unrolled(n, THREADS), thread(m), thread(n)]);
    Some(Loops { loops, staged: vec![first, second] })
}

/// Returns the results of a thread along rows and columns: the largest tile that leaves enough blocks for the GPU.
fn tile(rows: i64, columns: i64, batch: i64, ctx: &ScheduleContext) -> Option<(i64, i64)> {
    let blocks = |(tm, tn): (i64, i64)| {
        let along = |extent: i64, step: i64| (extent + step - 1) / step;
        along(rows, tm * THREADS).saturating_mul(along(columns, tn * THREADS)).saturating_mul(batch)
    };
    let enough = i64::from(ctx.gpu?.sm_count);
    TILES.iter().find(|tile| blocks(**tile) >= enough).or(TILES.last()).copied()
}

/// Returns the copy of an operand along the reduction axis and `edge` values of an axis of results. Threads read along
/// the axis in which it is contiguous.
fn copy(stage: &Stage, operand: &PrimExpr, [k, axis]: [usize; 2], edge: i64, inside: usize) -> Option<Staged> {
    let load = parts(stage).iter().position(|part| same_expr(part, operand))?;
    if !is_copyable(stage, operand) {
        return None;
    }
    let mut staged = Staged::new(load, inside, vec![k, axis]);
    let thread = |axis| Loop { axis, step: 1, kind: LoopKind::Thread };
    let along_reduction = vectors::contiguous_axis(stage, operand) == Some(k);
    if along_reduction {
        // A warp stores to `DEPTH` rows: their first elements are two banks apart, as many as it has columns.
        staged.padded.insert(axis, edge + WARP_THREADS / DEPTH);
    }
    let order = if along_reduction { [1, 0] } else { [0, 1] };
    staged.copy = super::cooperative_copy(order.map(thread).to_vec());
    Some(staged)
}
