//! Reductions of columns: threads read along the results, and rows of threads share the reduction.

use super::{Loops, Rule, vectors};
use crate::schedule::{Loop, LoopKind, ScheduleContext};
use hammock_ir::{PrimExpr, prim::PrimKind};
use hammock_loopnest::{
    Stage,
    access::{combiner, size, spatial, store_axis},
};

/// Threads of a block.
const THREADS: i64 = 256;
/// Threads of a block whose rows are long.
const LONG_ROW_THREADS: i64 = 512;
/// Columns of a block, where rows of that many are aligned.
const ALIGNED_COLUMNS: i64 = 32;
/// The same where they are not: a small part of what a block reads is then read by its neighbours too.
const LONG_ROW_COLUMNS: i64 = 128;
/// Bytes that a thread reads at once, in several accesses.
const THREAD_BYTES: i64 = 16;
/// Bytes of a sector, the unit of transfers with memory.
const SECTOR_BYTES: i64 = 32;
/// Minimum number of elements of a result.
const MIN_EXTENT: i64 = 16;
/// Results of an SM with which one thread for each occupies it.
const SM_RESULTS: i64 = 1024;

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "column_reduction",
    class: "column-wise reduction",
    why: "threads read along the results, and rows of threads share the reduction",
    doc: "Matches reductions, and GEMV, whose elements combine in any order and are contiguous along the results, unless \
          these are so many that one thread for each occupies the GPU. A row of the block's threads has consecutive \
          columns, all of them up to 128; its rows take the elements of a column in turn, and are combined in shared \
          memory. Not with --strict-order.",
    plan,
};

fn plan(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let (_, term) = combiner(stage).filter(|_| super::reduces_in_any_order(stage, ctx))?;
    let column = store_axis(stage).filter(|_| stage.buffer.dtype.is_scalar())?;
    let bytes = element_bytes(stage, term, column)?;
    let extent = |axis: &usize| size(&stage.axes[*axis].extent);
    let reduced: Vec<usize> = (0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce).collect();
    let along = *reduced.iter().max_by_key(|axis| extent(axis))?;
    let results = spatial(stage).map(|axis| extent(&axis)).fold(1, i64::saturating_mul);
    if extent(&along) < MIN_EXTENT || results >= SM_RESULTS * i64::from(ctx.gpu?.sm_count) {
        return None;
    }
    let (columns, rows) = block(stage.axes[column].extent.as_int(), bytes);
    let of_kind = |axis, step, kind| Loop { axis, step, kind };
    let others = spatial(stage).filter(|axis| *axis != column).map(|axis| of_kind(axis, 1, LoopKind::Block));
    let serial = reduced.iter().filter(|axis| **axis != along).map(|axis| Loop::serial(*axis));
    // A thread has several elements on their way.
    let at_once = (THREAD_BYTES / bytes).clamp(1, (extent(&along) / rows).max(1));
    let inner = [
        Loop::with_step(along, rows * at_once),
        of_kind(along, rows, LoopKind::Unrolled),
        of_kind(along, 1, LoopKind::Thread),
        of_kind(column, 1, LoopKind::Thread),
    ];
    let outer = others.chain([of_kind(column, columns, LoopKind::Block)]);
    Some(outer.chain(serial).chain(inner).collect::<Vec<_>>().into())
}

/// Returns the bytes of an element that is read along the results, if one is, and none along a reduction axis by threads
/// for different results.
fn element_bytes(stage: &Stage, term: &PrimExpr, column: usize) -> Option<i64> {
    let (mut bytes, mut is_crossed) = (None, false);
    term.walk(&mut |e| {
        if let PrimKind::Load(buffer, ..) = e.kind()
            && e.uses(&stage.axes[column].var)
        {
            match vectors::contiguous_axis(stage, e) {
                Some(axis) if axis == column => bytes = Some(buffer.dtype.bytes() as i64),
                Some(axis) => is_crossed |= stage.axes[axis].reduce,
                None => {}
            }
        }
    });
    bytes.filter(|_| !is_crossed)
}

/// Returns the columns and rows of a block's threads. Up to some length, rows of threads have all columns, so that a
/// block reads contiguous memory wherever rows begin.
fn block(extent: Option<i64>, bytes: i64) -> (i64, i64) {
    match extent {
        Some(extent) if extent <= LONG_ROW_COLUMNS => (extent.max(1), THREADS / extent.max(1)),
        Some(extent) if extent * bytes % SECTOR_BYTES == 0 => (ALIGNED_COLUMNS, THREADS / ALIGNED_COLUMNS),
        _ => (LONG_ROW_COLUMNS, LONG_ROW_THREADS / LONG_ROW_COLUMNS),
    }
}
