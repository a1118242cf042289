//! Contractions: block tiles through shared memory, register tiles for threads.

use super::{Loops, Rule, vectors};
use crate::schedule::{Loop, LoopKind, ScheduleContext, Staged};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, intrinsics::WARP_THREADS},
    tir::Buffer,
};
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
/// Maximum results of a thread where one block computes all of them.
const MAX_BLOCK_RESULTS: i64 = 32;
/// Minimum extent of each axis.
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

/// Axes and operands of a contraction.
pub struct Axes<'a> {
    /// The operand that varies along rows.
    pub rows: &'a PrimExpr,
    /// The operand that varies along columns.
    pub columns: &'a PrimExpr,
    /// Axis of rows.
    pub m: usize,
    /// Axis of columns, along which results are stored.
    pub n: usize,
    /// Reduction axis.
    pub k: usize,
}

/// Returns the axes of a contraction with rows, which one operand has, and columns, which the other has.
pub fn axes<'a>(stage: &'a Stage, ctx: &ScheduleContext) -> Option<Axes<'a>> {
    let (a, b) = contraction_operands(stage).filter(|_| stage.arg_result.is_none())?;
    let uses = |e: &PrimExpr, axis: usize| e.uses(&stage.axes[axis].var);
    let stored = store_axis(stage)?;
    // Columns are the axis of the stores.
    let (rows, columns) = if uses(a, stored) && !uses(b, stored) { (b, a) } else { (a, b) };
    let only = |own: &PrimExpr, other: &PrimExpr, axis: usize| uses(own, axis) && !uses(other, axis);
    let n = Some(stored).filter(|axis| only(columns, rows, *axis))?;
    let row_axes = spatial(stage).filter(|axis| only(rows, columns, *axis));
    let m = row_axes.max_by_key(|axis| size(&stage.axes[*axis].extent))?;
    let k = stage.axes.iter().enumerate().filter(|(at, axis)| axis.reduce && uses(a, *at) && uses(b, *at));
    let k = k.max_by_key(|(_, axis)| size(&axis.extent)).map(|(at, _)| at)?;
    let is_ordered = !ctx.strict_order || !stage.axes[k + 1..].iter().any(|axis| axis.reduce);
    is_ordered.then_some(Axes { rows, columns, m, n, k })
}

fn plan(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let own = axes(stage, ctx).filter(|own| own.fill_tiles(stage))?;
    let (m, n) = (own.m, own.n);
    let extent = |axis: usize| size(&stage.axes[axis].extent);
    let others: Vec<usize> = spatial(stage).filter(|axis| ![m, n].contains(axis)).collect();
    let batch = others.iter().fold(1i64, |count, axis| count.saturating_mul(extent(*axis)));
    let is_dynamic = [m, n].iter().any(|axis| stage.axes[*axis].extent.as_int().is_none());
    let (tm, tn) = if is_dynamic { DYNAMIC_TILE } else { tile(extent(m), extent(n), batch, ctx)? };
    let block = |axis, step| Loop { axis, step, kind: LoopKind::Block };
    let mut loops: Vec<Loop> = others.into_iter().map(|axis| block(axis, 1)).collect();
    loops.extend([block(m, tm * THREADS), block(n, tn * THREADS)]);
    own.tile(stage, loops, (tm * THREADS, tn * THREADS), &|_| false)
}

/// Returns loops on the threads of one block, if a stage is a contraction of constant size whose results fit into their
/// registers. Operands that `is_shared` is true for are in shared memory.
pub fn block_tile(stage: &Stage, is_shared: &dyn Fn(&Buffer) -> bool, ctx: &ScheduleContext) -> Option<Loops> {
    let own = axes(stage, ctx).filter(|own| own.fill_tiles(stage))?;
    let has_others = spatial(stage).any(|axis| ![own.m, own.n].contains(&axis));
    let extent = |axis: usize| stage.axes[axis].extent.as_int();
    let (rows, columns) = (extent(own.m)?, extent(own.n)?);
    let is_whole = rows % THREADS == 0 && columns % THREADS == 0;
    let fits = !has_others && is_whole && rows / THREADS * (columns / THREADS) <= MAX_BLOCK_RESULTS;
    fits.then(|| own.tile(stage, Vec::new(), (rows, columns), is_shared)).flatten()
}

impl Axes<'_> {
    /// Returns true if the extents do not leave most of a tile empty.
    fn fill_tiles(&self, stage: &Stage) -> bool {
        [self.m, self.n, self.k].iter().all(|axis| size(&stage.axes[*axis].extent) >= MIN_EXTENT)
    }

    /// Adds the loops of a block inside of others: over the reduction, with copies of operands, and over its tile of
    /// `rows` times `columns` results.
    fn tile(
        &self,
        stage: &Stage,
        mut loops: Vec<Loop>,
        (rows, columns): (i64, i64),
        is_shared: &dyn Fn(&Buffer) -> bool,
    ) -> Option<Loops> {
        let (m, n, k) = (self.m, self.n, self.k);
        loops.extend((0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce && *axis != k).map(Loop::serial));
        loops.push(Loop::with_step(k, DEPTH));
        let inside = loops.len();
        let reads_shared =
            |e: &PrimExpr| e.any(&mut |e| matches!(e.kind(), PrimKind::Load(buffer, ..) if is_shared(buffer)));
        let operands = [(self.rows, m, rows), (self.columns, n, columns)];
        let operands = operands.into_iter().filter(|(operand, ..)| !reads_shared(operand));
        let copies = operands.map(|(operand, axis, edge)| copy(stage, operand, [k, axis], edge, inside));
        let staged = copies.collect::<Option<Vec<Staged>>>()?;
        let unrolled = |axis, step| Loop { axis, step, kind: LoopKind::Unrolled };
        let thread = |axis| Loop { axis, step: 1, kind: LoopKind::Thread };
        loops.extend([Loop::serial(k), unrolled(m, THREADS), unrolled(n, THREADS), thread(m), thread(n)]);
        Some(Loops { loops, staged })
    }
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
