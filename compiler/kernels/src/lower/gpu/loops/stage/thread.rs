//! Code of one thread under construction: what it computes, where, and which loops it has.

use super::{BlockThreads, Position};
use crate::{
    lower::gpu::loops::guarded,
    schedule::{Loop, LoopKind, StagePlan},
};
use hammock_ir::{PrimExpr, tir::Stmt};
use hammock_loopnest::{Stage, steps, substitution};

/// Results of a thread in an `mma.sync`, along rows and along columns.
pub const THREAD_RESULTS: i64 = 2;

/// Code of one thread under construction.
#[derive(Clone)]
pub struct ThreadCode<'a> {
    pub stage: &'a Stage,
    pub plan: &'a StagePlan,
    /// Stored or accumulated value, with copied operands loaded from their copies.
    pub value: PrimExpr,
    /// Position before the thread's own loops.
    pub start: Position,
    /// The threads of the block, if the plan is for blocks.
    pub threads: Option<BlockThreads>,
    /// True for axes whose positions may be outside of the extent.
    pub open: Vec<bool>,
    /// True for copies of operands that are made.
    pub copied: Vec<bool>,
    /// True if the two columns of a thread in an `mma.sync` are one vector.
    pub has_column_pairs: bool,
}

impl<'a> ThreadCode<'a> {
    pub fn new(stage: &'a Stage, plan: &'a StagePlan, start: Position, threads: Option<BlockThreads>) -> Self {
        let open = (0..stage.axes.len()).map(|axis| is_open(stage, plan, axis)).collect();
        let copied = vec![false; plan.staged.len()];
        ThreadCode { stage, plan, value: stage.value.clone(), start, threads, open, copied, has_column_pairs: false }
    }

    /// Returns the number of iterations of one of the thread's loops.
    pub fn trip_count(&self, number: usize) -> PrimExpr {
        let l = &self.plan.loops[number];
        if l.kind == LoopKind::Mma {
            return PrimExpr::int64(THREAD_RESULTS);
        }
        let known = self.plan.trip_count(self.stage, number).map(PrimExpr::int64);
        known.unwrap_or_else(|| steps(&self.stage.axes[l.axis].extent, l.step))
    }

    /// Returns true if all threads of a block run a loop together: it is serial, and inside of copies, or around them or
    /// loops over threads.
    pub fn is_uniform(&self, number: usize) -> bool {
        let l = &self.plan.loops[number];
        let around_threads =
            self.plan.loops[number..].iter().any(|l| matches!(l.kind, LoopKind::Thread | LoopKind::Warp));
        let around_copies = self.plan.staged.iter().any(|staged| staged.inside > number);
        l.kind == LoopKind::Serial && (around_threads || around_copies)
    }

    /// Returns the distance of the accumulators of consecutive iterations.
    pub fn slot_stride(&self, number: usize) -> i64 {
        if !self.has_slots(&self.plan.loops[number]) {
            return 0;
        }
        let inner = (number + 1..self.plan.loops.len()).filter(|inner| self.has_slots(&self.plan.loops[*inner]));
        inner.map(|inner| self.trip_count(inner).as_int().unwrap_or(1)).product()
    }

    /// Returns true if each iteration of a loop has accumulators of its own.
    pub fn has_slots(&self, l: &Loop) -> bool {
        match self.stage.axes[l.axis].reduce {
            true => l.kind == LoopKind::Vector,
            false => !l.is_bound(),
        }
    }

    pub fn slots(&self) -> i64 {
        let slots = (0..self.plan.loops.len()).filter(|number| self.has_slots(&self.plan.loops[*number]));
        slots.map(|number| self.trip_count(number).as_int().unwrap_or(1)).product()
    }

    /// Returns the number of accumulators of one result.
    pub fn partials(&self) -> i64 {
        let lanes = |(number, l): (usize, &Loop)| {
            let is_lane = self.stage.axes[l.axis].reduce && l.kind == LoopKind::Vector;
            is_lane.then(|| self.trip_count(number).as_int().unwrap_or(1))
        };
        self.plan.loops.iter().enumerate().filter_map(lanes).product()
    }

    /// Runs a statement if the position is inside of all open axes of which `matters` is true.
    pub fn when_inside(&self, at: &[PrimExpr], matters: &dyn Fn(usize) -> bool, stmt: Stmt) -> Stmt {
        match self.inside(at, matters) {
            None => stmt,
            Some(inside) => guarded(inside, stmt),
        }
    }

    /// Returns the condition that a position is inside of the open axes; `None` if it always is.
    pub fn inside(&self, at: &[PrimExpr], matters: &dyn Fn(usize) -> bool) -> Option<PrimExpr> {
        let open = (0..at.len()).filter(|axis| self.open[*axis] && matters(*axis));
        open.map(|axis| at[axis].clone().lt(self.stage.axes[axis].extent.clone())).reduce(PrimExpr::and)
    }
}

/// Returns true if the loops over an axis may go beyond its extent.
fn is_open(stage: &Stage, plan: &StagePlan, axis: usize) -> bool {
    let first = plan.loops.iter().find(|l| l.axis == axis).map_or(1, |l| l.step);
    stage.axes[axis].extent.as_int().map_or(first != 1, |extent| extent % first != 0)
}

/// Returns indices at a position.
pub fn indices(indices: &[PrimExpr], stage: &Stage, at: &[PrimExpr]) -> Vec<PrimExpr> {
    let values = substitution(&stage.axes, at);
    indices.iter().map(|index| index.substitute(&values)).collect()
}
