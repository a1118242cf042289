//! Prefetching of a contraction's operand that streams from L3: each element is used once, in the order of memory.

use super::{Tile, shifted, substitution};
use crate::schedule::cpu::register_lanes;
use hammock_ir::{
    DType, PrimExpr,
    prim::flat::PREFETCH,
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::{
    access::{block_size, is_contiguous},
    contraction::vector_operand,
};
use hammock_target::assumed_machine::CACHE_LINE_BYTES;

/// Number of bytes that prefetching is ahead. Between 1 and 8 KiB, a GEMV reads L3 up to a sixth faster than without.
const DISTANCE: i64 = 4 << 10;
/// Part of L3 in which an operand is assumed to stay between calls. From memory, prefetching costs a thirtieth.
const L3_DIVISOR: u64 = 4;

impl Tile<'_> {
    /// Returns the prefetches for one step of the reduction, of what a later one loads.
    pub(super) fn prefetches(&self, at: &[PrimExpr]) -> Vec<Stmt> {
        self.streamed_lines(at).unwrap_or_default().into_iter().map(prefetch).collect()
    }

    /// Returns an element of each cache line that a step of the reduction loads from the operand; `None` if it does not
    /// stream.
    fn streamed_lines(&self, at: &[PrimExpr]) -> Option<Vec<PrimExpr>> {
        let (nest, stage) = (self.nest, self.nest.stage);
        let lanes = self.results.as_ref().filter(|lanes| lanes.active.is_none())?;
        let along = &stage.axes[lanes.axis];
        let operand = vector_operand(stage, &along.var)?;
        let mut reduced = (0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce);
        let (Some(_), None) = (reduced.next(), reduced.next()) else { return None };
        let is_used_once = stage.axes.iter().all(|axis| axis.is_unit() || operand.uses(&axis.var));
        let is_sequential =
            block_size(operand, &along.var) == Some(lanes.count()) && is_contiguous(operand, &along.var);
        if !is_used_once
            || !is_sequential
            || nest.dot.is_some()
            || lanes.count() < register_lanes(stage, nest.choice.target)
        {
            return None;
        }
        let width = operand.dtype().bytes() as i64;
        let used = stage.axes.iter().filter(|axis| operand.uses(&axis.var));
        let bytes = used.map(|axis| axis.extent.as_int()).try_fold(width, |all, n| all.checked_mul(n?))?;
        let caches = &nest.choice.target.caches;
        if bytes as u64 <= caches.l2 || bytes as u64 > caches.l3 / L3_DIVISOR {
            return None;
        }
        let lines = (0..lanes.count()).step_by((CACHE_LINE_BYTES / width) as usize);
        let element = |lane| {
            let at = shifted(at, lanes.axis, PrimExpr::int64(lane));
            operand.substitute(&substitution(&stage.axes, &at))
        };
        Some(lines.map(element).collect())
    }
}

fn prefetch(element: PrimExpr) -> Stmt {
    let hints = [DISTANCE, 1].map(PrimExpr::int64);
    let args = [element].into_iter().chain(hints).collect();
    Stmt::new(StmtKind::Evaluate(PrimExpr::intrin(PREFETCH, args, DType::VOID)))
}
