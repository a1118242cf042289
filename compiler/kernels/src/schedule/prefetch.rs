//! Software prefetching: tiles of rows that share a packed operand prefetch what the next ones read of it.
//!
//! The first tile of rows would wait for memory, and the others for arithmetic alone. Each tile prefetches a share of
//! the cache lines, so memory is read at an even rate.

use super::{LoopKind, StagePlan};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind},
};
use hammock_loopnest::{
    Stage,
    access::{block_size, loads},
};
use hammock_target::assumed_machine::CACHE_LINE_BYTES;

/// Prefetches of the tiles of a [prefetching loop](LoopKind::Prefetch) in each step of the reduction.
pub struct Prefetch<'a> {
    /// Index of the axis of rows, and the rows of a tile.
    pub rows: (usize, i64),
    /// Index of the vector axis.
    pub axis: usize,
    /// Load of the packed operand.
    pub load: &'a PrimExpr,
    /// Distance in bytes to what the next iteration of the enclosing loop reads.
    pub distance: i64,
    /// Elements of a cache line.
    pub line: i64,
    /// Cache lines for each full tile, of those that it loads.
    pub lines: i64,
    /// Number of tiles after which the lines repeat.
    pub shares: i64,
}

impl StagePlan {
    /// Returns what the plan prefetches, if it has a loop that does, and the layout of an operand allows it.
    pub fn prefetch<'a>(&self, stage: &'a Stage) -> Option<Prefetch<'a>> {
        let number = self.loops.iter().position(|l| l.kind == LoopKind::Prefetch)?;
        let rows = (self.loops[number].axis, self.loops[number].step);
        let axis = self.vector().map(|l| l.axis).filter(|axis| !stage.axes[*axis].reduce)?;
        let is_shared =
            |load: &&PrimExpr| block_size(load, &stage.axes[axis].var).is_some() && !load.uses(&stage.axes[rows.0].var);
        let load = loads(stage).into_iter().find(is_shared)?;
        let around = self.loops[..number].iter().rev().find(|l| load.uses(&stage.axes[l.axis].var))?;
        let bytes = load.dtype().bytes() as i64;
        let distance = stride(stage, load, around.axis)?.checked_mul(around.step)?.checked_mul(bytes)?;
        let line = CACHE_LINE_BYTES / bytes;
        let all = (self.range(axis, self.loops.len().checked_sub(1)?)? + line - 1) / line;
        let tiles = stage.axes[rows.0].extent.as_int().map_or(all, |extent| extent / rows.1).max(1);
        let lines = (1..=all / tiles.min(all)).rev().find(|lines| all % lines == 0)?;
        Some(Prefetch { rows, axis, load, distance, line, lines, shares: all / lines })
    }
}

/// Returns the distance in elements from one value of an axis to the next; on average for the axis of blocks.
fn stride(stage: &Stage, load: &PrimExpr, axis: usize) -> Option<i64> {
    let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
    let var = &stage.axes[axis].var;
    let mut along = indices.iter().enumerate().filter(|(_, index)| index.uses(var));
    let (dim, index) = along.next()?;
    let mut inner = buffer.shape[dim + 1..].iter().map(PrimExpr::as_int);
    let inner = inner.try_fold(1i64, |all, size| all.checked_mul(size?)).filter(|_| buffer.strides.is_empty())?;
    match index.kind() {
        PrimKind::Binary(BinaryOp::FloorDiv, _, block) if block_size(load, var).is_some() => {
            block.as_int().filter(|block| inner % block == 0).map(|block| inner / block)
        }
        _ => (index.as_var() == Some(var) && along.next().is_none()).then_some(inner),
    }
}
