//! Reductions along a contiguous axis: threads share a row.

use super::{Loops, Rule, vectors};
use crate::schedule::{Loop, LoopKind, ScheduleContext};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, intrinsics::WARP_THREADS},
};
use hammock_loopnest::{
    Stage,
    access::{combiner, size, spatial},
};

/// Rows of up to this length are reduced by one warp.
const MAX_WARP_EXTENT: i64 = 1024;
/// Shorter rows are reduced by one thread.
const MIN_EXTENT: i64 = 16;
/// Rows of a block, one for each warp.
const BLOCK_ROWS: i64 = 8;

/// A warp for each result.
pub static WARP_PER_ROW: Rule = Rule {
    name: "warp_reduction",
    class: "row-wise reduction",
    why: "the lanes of a warp read a row together and exchange sums by shuffles",
    doc: "Matches reductions, and GEMV, whose elements combine in any order and are contiguous along the last reduction \
          axis in all operands, for rows of up to 1024 elements; a dynamic size counts as 64. One warp reduces each row, in \
          16-byte loads where rows are aligned. Not with --strict-order.",
    plan: |stage, ctx| {
        let axis = row_axis(stage, ctx)?;
        let has_rows = spatial(stage).next().is_some();
        (has_rows && size(&stage.axes[axis].extent) <= MAX_WARP_EXTENT)
            .then(|| loops(stage, axis, WARP_THREADS, BLOCK_ROWS))
    },
};

/// A block for each result.
pub static BLOCK_PER_ROW: Rule = Rule {
    name: "block_reduction",
    class: "row-wise reduction",
    why: "the warps of a block read a row together and combine sums in shared memory",
    doc: "Matches what warp_reduction does for longer rows, and reductions to one result. One block of 256 threads \
          reduces each row. Not with --strict-order.",
    plan: |stage, ctx| {
        let axis = row_axis(stage, ctx)?;
        Some(loops(stage, axis, WARP_THREADS * BLOCK_ROWS, 1))
    },
};

/// Returns the reduction axis along which threads read contiguous elements.
fn row_axis(stage: &Stage, ctx: &ScheduleContext) -> Option<usize> {
    let (_, term) = combiner(stage).filter(|_| super::reduces_in_any_order(stage, ctx))?;
    let axis = vectors::contiguous_axis(stage, term).filter(|axis| stage.axes[*axis].reduce)?;
    let is_last = stage.axes.iter().rposition(|axis| axis.reduce) == Some(axis);
    let is_row = is_last && !reads_columns(stage, term, axis);
    (is_row && size(&stage.axes[axis].extent) >= MIN_EXTENT && stage.buffer.dtype.is_scalar()).then_some(axis)
}

/// Returns true if a load in the term is contiguous along an axis of results, and varies along the reduction axis: rows
/// of threads along that axis read it coalesced.
fn reads_columns(stage: &Stage, term: &PrimExpr, axis: usize) -> bool {
    let is_column = |load: &PrimExpr| {
        let along = vectors::contiguous_axis(stage, load);
        along.is_some_and(|along| !stage.axes[along].reduce) && load.uses(&stage.axes[axis].var)
    };
    term.any(&mut |e| matches!(e.kind(), PrimKind::Load(..)) && is_column(e))
}

/// Returns loops with `threads` threads for each of `rows` rows of a block.
fn loops(stage: &Stage, axis: usize, threads: i64, rows: i64) -> Loops {
    let mut loops = Vec::new();
    let results: Vec<usize> = spatial(stage).collect();
    if let Some((last, outer)) = results.split_last() {
        loops.extend(outer.iter().map(|axis| Loop { axis: *axis, step: 1, kind: LoopKind::Block }));
        let rows = stage.axes[*last].extent.as_int().map_or(rows, |extent| rows.min(extent.max(1)));
        loops.push(Loop { axis: *last, step: rows, kind: LoopKind::Block });
        if rows > 1 {
            loops.push(Loop { axis: *last, step: 1, kind: LoopKind::Thread });
        }
    }
    let reduced = (0..stage.axes.len()).filter(|other| stage.axes[*other].reduce && *other != axis);
    loops.extend(reduced.map(Loop::serial));
    // Partial accumulators of vector lanes pay off if every thread has a whole vector.
    let is_long = |lanes: &i64| stage.axes[axis].extent.as_int().is_none_or(|extent| extent >= lanes * threads);
    let lanes = vectors::lanes(stage, axis).filter(is_long).unwrap_or(1);
    loops.push(Loop::with_step(axis, threads * lanes));
    loops.push(Loop { axis, step: lanes, kind: LoopKind::Thread });
    if lanes > 1 {
        loops.push(Loop::vector(axis));
    }
    loops.into()
}
