//! Contractions on tensor cores: block tiles in shared memory, `mma.sync` for warps.

use super::{
    Loops, Rule,
    contraction::{Axes, axes},
    shared_bytes, vectors,
};
use crate::schedule::{Loop, LoopKind, ScheduleContext, StagePlan, Staged};
use hammock_ir::{
    DType, PrimExpr,
    prim::{PrimKind, Var},
};
use hammock_loopnest::{
    Stage,
    access::{contraction_operands, is_contiguous, is_copyable, load_stride, parts, size, spatial},
    index::same_expr,
};
use hammock_target::Gpu;

/// Rows and columns of an `mma.sync`.
pub const MMA_TILE: [i64; 2] = [16, 8];
/// Bytes of the reduction elements of an `mma.sync`.
const MMA_DEPTH_BYTES: i64 = 32;
/// Bytes of a row of a matrix that `ldmatrix` loads. Rows of a copy are padded by as many: eight consecutive rows are in
/// different banks.
const MATRIX_ROW_BYTES: i64 = 16;
/// Bytes of the reduction elements of a tile: a row of operands is as long as all banks of shared memory.
const DEPTH_BYTES: i64 = 128;
/// Tiles of a block and of a warp in rows and columns, the largest first.
const TILES: [([i64; 2], [i64; 2]); 4] =
    [([128, 128], [64, 32]), ([128, 64], [32, 32]), ([64, 64], [32, 32]), ([32, 64], [16, 32])];
/// The same for dynamic extents.
const DYNAMIC_TILE: ([i64; 2], [i64; 2]) = ([64, 64], [32, 32]);
/// Tiles of an operand in shared memory: one in use, and those on their way.
pub const MAX_STAGES: i64 = 4;
/// Minimum number of blocks of an SM, so that one computes while another waits.
const MIN_SM_BLOCKS: i64 = 2;
/// Bytes of shared memory that a block takes beside its own.
const BLOCK_SHARED: i64 = 1 << 10;
/// Smaller extents leave most of a tile empty.
const MIN_EXTENT: i64 = 8;

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "tensor_core_contraction",
    class: "contraction",
    why: "tensor cores multiply tiles of operands in shared memory",
    doc: "Matches what contraction does, for operands of float16 or bfloat16 with sums of float32, and of 8-bit integers \
          with sums of int32, and with --allow-tf32 of float32, on GPUs whose tensor cores multiply these 8, 16 or 32 at a time (sm_80 and later). A block computes a tile of up to 128 x 128 results; for each 128 \
          bytes of the reduction, it copies both operands to shared memory, in accesses of 16 bytes where rows are \
          aligned. Copies are asynchronous, and up to three tiles ahead. A warp has up to 64 x 32 results, in registers: it loads operands by ldmatrix, and multiplies \
          them by mma.sync. The epilogue runs in registers. Not with --strict-order.",
    plan: |stage, ctx| plan(stage, ctx),
};

/// Returns the operands of a contraction that tensor cores compute, as they are stored.
pub fn operands<'a>(stage: &'a Stage, ctx: &ScheduleContext) -> Option<[&'a PrimExpr; 2]> {
    let gpu = ctx.gpu.filter(|_| !ctx.strict_order)?;
    let (a, b) = contraction_operands(stage).filter(|_| stage.arg_result.is_none())?;
    let (a, b) = (stored(a), stored(b));
    let is_supported = a.dtype() == b.dtype() && sums(ctx, gpu, a.dtype()) == Some(stage.buffer.dtype);
    (is_supported && is_load(a) && is_load(b)).then_some([a, b])
}

/// Returns the dtype of sums of operands of a dtype, if tensor cores multiply these.
pub fn sums(ctx: &ScheduleContext, gpu: &Gpu, dtype: DType) -> Option<DType> {
    let sums = match dtype {
        DType::FLOAT32 => return (ctx.allow_tf32 && gpu.has_tf32()).then_some(DType::FLOAT32),
        DType::FLOAT16 | DType::BFLOAT16 => DType::FLOAT32,
        DType::INT8 | DType::UINT8 => DType::INT32,
        _ => return None,
    };
    (gpu.capability >= (8, 0) && gpu.has_tensor_cores_for(dtype)).then_some(sums)
}

/// Returns the number of reduction elements of an `mma.sync`.
pub fn mma_depth(dtype: DType) -> i64 {
    MMA_DEPTH_BYTES / dtype.bytes() as i64
}

/// Returns the number of elements of a row of a matrix that `ldmatrix` loads.
pub fn matrix_row(dtype: DType) -> i64 {
    MATRIX_ROW_BYTES / dtype.bytes() as i64
}

/// Returns true if rows of a copy of a dtype may be along results: `ldmatrix` transposes matrices of elements of 16 bits,
/// and elements of 32 bits are loaded one by one.
pub fn can_transpose(dtype: DType) -> bool {
    matches!(dtype.bits, 16 | 32)
}

/// Returns the elements that a row of a copy is padded by, against bank conflicts: rows of matrices that `ldmatrix`
/// loads are in different banks, and so are eight elements of four rows.
fn row_padding(dtype: DType, is_transposed: bool) -> i64 {
    if is_transposed && dtype.bits == 32 { MMA_TILE[1] } else { matrix_row(dtype) }
}

/// Returns an operand before it is converted to the dtype of the sums.
pub fn stored(operand: &PrimExpr) -> &PrimExpr {
    match operand.kind() {
        PrimKind::Cast(stored) => stored,
        _ => operand,
    }
}

fn is_load(e: &PrimExpr) -> bool {
    matches!(e.kind(), PrimKind::Load(..))
}

fn plan(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let [operand, _] = operands(stage, ctx)?;
    let bytes = operand.dtype().bytes() as i64;
    let Axes { rows, columns, m, n, k } = axes(stage, ctx)?;
    let extent = |axis: usize| size(&stage.axes[axis].extent);
    if [m, n, k].into_iter().any(|axis| extent(axis) < MIN_EXTENT) {
        return None;
    }
    let others: Vec<usize> = spatial(stage).filter(|axis| ![m, n].contains(axis)).collect();
    let batch = others.iter().fold(1i64, |count, axis| count.saturating_mul(extent(*axis)));
    let is_dynamic = [m, n].iter().any(|axis| stage.axes[*axis].extent.as_int().is_none());
    let (block, warp) = if is_dynamic { DYNAMIC_TILE } else { tile([extent(m), extent(n)], batch, ctx.gpu?) };
    let of_kind = |axis, step, kind| Loop { axis, step, kind };
    let mut loops: Vec<Loop> = others.into_iter().map(|axis| of_kind(axis, 1, LoopKind::Block)).collect();
    loops.extend([of_kind(m, block[0], LoopKind::Block), of_kind(n, block[1], LoopKind::Block)]);
    let ([mma_m, mma_n], mma_k) = (MMA_TILE, mma_depth(operand.dtype()));
    let depth = (DEPTH_BYTES / bytes).min((extent(k) + mma_k - 1) / mma_k * mma_k);
    let steps = |axis: usize, step: i64| stage.axes[axis].extent.as_int().map(|extent| (extent + step - 1) / step);
    let reduced = (0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce && *axis != k).map(Loop::serial);
    let mut reduced: Vec<Loop> = reduced.chain([Loop::with_step(k, depth)]).collect();
    // Copies run ahead in the innermost loop: not one of a single iteration, if there is another, as in a window.
    reduced.sort_by_key(|l| steps(l.axis, l.step) != Some(1));
    let is_pipelined = reduced.last().is_some_and(|l| steps(l.axis, l.step) != Some(1));
    loops.extend(reduced);
    let inside = loops.len();
    let first = copy(stage, stored(rows), [(k, depth), (m, block[0])], inside)?;
    let second = copy(stage, stored(columns), [(k, depth), (n, block[1])], inside)?;
    loops.extend([of_kind(m, warp[0], LoopKind::Warp), of_kind(n, warp[1], LoopKind::Warp)]);
    loops.extend([(k, mma_k), (m, mma_m), (n, mma_n)].map(|(axis, step)| of_kind(axis, step, LoopKind::Unrolled)));
    loops.extend([m, n, k].map(|axis| of_kind(axis, 1, LoopKind::Mma)));
    let mut plan = StagePlan { staged: vec![first, second], ..StagePlan::new(RULE.name, loops) };
    if is_pipelined {
        let stages = stages(shared_bytes(stage, &plan), ctx.gpu?);
        plan.staged.iter_mut().for_each(|staged| staged.stages = stages);
    }
    Some(Loops { loops: plan.loops, staged: plan.staged })
}

/// Returns the number of stages, two or more, with which an SM holds several blocks, for tiles of this size in bytes.
fn stages(bytes: i64, gpu: &Gpu) -> i64 {
    let for_block = i64::from(gpu.sm_shared) / MIN_SM_BLOCKS - BLOCK_SHARED;
    (for_block / bytes.max(1)).clamp(2, MAX_STAGES)
}

/// Returns the largest tile that leaves enough blocks for the GPU.
fn tile(extents: [i64; 2], batch: i64, gpu: &Gpu) -> ([i64; 2], [i64; 2]) {
    let along = |extent: i64, step: i64| (extent + step - 1) / step;
    let blocks = |[m, n]: [i64; 2]| along(extents[0], m).saturating_mul(along(extents[1], n)).saturating_mul(batch);
    let enough = i64::from(gpu.sm_count);
    let found = TILES.iter().find(|(block, _)| blocks(*block) >= enough);
    found.or(TILES.last()).copied().unwrap_or(DYNAMIC_TILE)
}

/// Returns true if the last index of a load varies along an axis.
fn varies_fastest(load: &PrimExpr, var: &Var) -> bool {
    matches!(load.kind(), PrimKind::Load(_, indices, _) if indices.last().is_some_and(|last| last.uses(var)))
}

/// Returns the copy of an operand along two axes of these sizes. Its rows are along the axis in which the operand is
/// contiguous or has a short stride, padded so that `ldmatrix` has no bank conflicts.
fn copy(stage: &Stage, operand: &PrimExpr, axes: [(usize, i64); 2], inside: usize) -> Option<Staged> {
    let load = parts(stage).iter().position(|part| same_expr(part, operand))?;
    if !is_copyable(stage, operand) {
        return None;
    }
    let [along_k, along_results] = axes;
    let [k, results] = [along_k, along_results].map(|(axis, _)| &stage.axes[axis].var);
    // Rows of an image are pieces of the axis of results. In a window, a load is contiguous along a tap too.
    let is_read_along_results = is_contiguous(operand, results)
        || !is_contiguous(operand, k) && (varies_fastest(operand, results) || load_stride(operand, results).is_some());
    let is_transposed = is_read_along_results && can_transpose(operand.dtype());
    let [outer, inner] = if is_transposed { [along_k, along_results] } else { [along_results, along_k] };
    let mut staged = Staged::new(load, inside, vec![outer.0, inner.0]);
    staged.padded.insert(inner.0, inner.1 + row_padding(operand.dtype(), is_transposed));
    let thread = |axis, step| Loop { axis, step, kind: LoopKind::Thread };
    let lanes = vectors::load_lanes(operand, &stage.axes[inner.0]);
    staged.copy = super::cooperative_copy(match lanes {
        Some(lanes) => vec![thread(0, 1), thread(1, lanes), Loop::vector(1)],
        // Consecutive threads read elements near each other.
        None if is_read_along_results && !is_transposed => vec![thread(1, 1), thread(0, 1)],
        None => vec![thread(0, 1), thread(1, 1)],
    });
    Some(staged)
}
