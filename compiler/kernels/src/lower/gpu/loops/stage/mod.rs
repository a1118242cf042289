//! Device region of a stage: its loops over blocks and threads, and the code of one thread.
//!
//! All loops over blocks collapse into `blockIdx.x`, all loops over threads into `threadIdx.x`, and `grid` loops into
//! both; the last one varies fastest. A thread runs the remaining loops. If a step does not divide its extent, the
//! last positions are outside of it: such an axis is *open*, and accesses along it are predicated.

mod arg_reduce;
mod copies;
mod cross_thread;
mod mma;
mod nest;
mod pipeline;
mod reduction;
mod thread;

use super::{bound_loop, over_threads, product, unravel};
use crate::{
    lower::gpu::region::device_region,
    schedule::{
        Loop, LoopKind, StagePlan,
        gpu::{block_threads, loops_over, reduces_in_warps},
    },
};
use hammock_ir::{
    PrimExpr,
    prim::{Var, intrinsics::WARP_THREADS},
    tir::Stmt,
};
use hammock_loopnest::{Stage, steps};
use thread::ThreadCode;

pub use cross_thread::{combine, combine_lanes};
pub use mma::{load_matrices, multiply};
pub use pipeline::call;

/// Returns the device region of a stage; nothing for a stage without results, whose positions would be divided by zero.
pub fn region(stage: &Stage, plan: &StagePlan) -> Stmt {
    if stage.axes.iter().any(|axis| !axis.reduce && axis.extent.as_int() == Some(0)) {
        return Stmt::nop();
    }
    let zeros = vec![PrimExpr::int64(0); stage.axes.len()];
    match plan.grid_threads() {
        Some(threads) => grid_region(stage, plan, threads),
        None if plan.is_on_blocks() => block_region(stage, plan),
        None => device_region(ThreadCode::new(stage, plan, Position::new(zeros.clone(), zeros), None).stmt()),
    }
}

/// Position of a thread on every axis, before its own loops: the position of its block, and the offset in there.
#[derive(Clone)]
pub struct Position {
    block: Vec<PrimExpr>,
    thread: Vec<PrimExpr>,
}

impl Position {
    fn new(block: Vec<PrimExpr>, thread: Vec<PrimExpr>) -> Position {
        Position { block, thread }
    }

    /// Returns the position itself.
    fn all(&self) -> Vec<PrimExpr> {
        self.block.iter().zip(&self.thread).map(|(block, thread)| sum(block, thread)).collect()
    }

    /// Moves along an axis, with the block's other threads.
    fn moved(&self, axis: usize, by: PrimExpr) -> Position {
        let mut moved = self.clone();
        moved.block[axis] = sum(&self.block[axis], &by);
        moved
    }

    /// Moves along an axis within the part of the thread.
    fn moved_in_thread(&self, axis: usize, by: PrimExpr) -> Position {
        let mut moved = self.clone();
        moved.thread[axis] = sum(&self.thread[axis], &by);
        moved
    }
}

/// The threads of a block that a stage runs on.
#[derive(Clone)]
pub struct BlockThreads {
    /// Index of the thread in its block.
    pub index: PrimExpr,
    /// Number of threads.
    pub count: i64,
    /// Number of threads that reduce together.
    pub reducers: i64,
    /// Distance of consecutive ones of them: the threads in between have other results.
    pub stride: i64,
}

impl BlockThreads {
    /// Returns the number of consecutive threads that have all reducers of some results.
    fn group(&self) -> i64 {
        self.reducers * self.stride
    }

    /// Returns true if shuffles and the results of warps cannot combine them. They are all threads of the block then.
    fn are_far_apart(&self) -> bool {
        !reduces_in_warps(self.reducers, self.stride)
    }
}

/// One iteration of the `grid` loops for each thread.
fn grid_region(stage: &Stage, plan: &StagePlan, threads: i64) -> Stmt {
    let last = plan.loops.iter().rposition(|l| matches!(l.kind, LoopKind::Grid(_))).map_or(0, |last| last + 1);
    let loops = &plan.loops[..last];
    let counts: Vec<PrimExpr> = loops.iter().map(|l| steps(&stage.axes[l.axis].extent, l.step)).collect();
    let total = counts.iter().fold(PrimExpr::int64(1), |total, count| product(&total, count));
    over_threads(&total, threads, |number| {
        let zeros = vec![PrimExpr::int64(0); stage.axes.len()];
        let mut at = zeros.clone();
        for (l, index) in loops.iter().zip(unravel(&number, &counts)) {
            at[l.axis] = scaled(index, l.step);
        }
        ThreadCode::new(stage, plan, Position::new(zeros, at), None).stmt()
    })
}

/// A block for each iteration of the loops over blocks.
fn block_region(stage: &Stage, plan: &StagePlan) -> Stmt {
    let blocks: Vec<&Loop> = plan.loops.iter().filter(|l| l.kind == LoopKind::Block).collect();
    let counts: Vec<PrimExpr> = blocks.iter().map(|l| steps(&stage.axes[l.axis].extent, l.step)).collect();
    let total = counts.iter().fold(PrimExpr::int64(1), |total, count| product(&total, count));
    let (block, thread) = (Var::int64("block"), Var::int64("thread"));
    let mut position = vec![PrimExpr::int64(0); stage.axes.len()];
    for (l, index) in blocks.iter().zip(unravel(&block.expr(), &counts)) {
        position[l.axis] = scaled(index, l.step);
    }
    let count = block_threads(stage, plan);
    let body = thread_code(stage, plan, position, thread.expr());
    let body = bound_loop("threadIdx.x", thread, PrimExpr::int64(count), body);
    device_region(bound_loop("blockIdx.x", block, total, body))
}

/// Returns the code of one thread of a block at a position.
pub fn thread_code(stage: &Stage, plan: &StagePlan, block: Vec<PrimExpr>, thread: PrimExpr) -> Stmt {
    let kind = if plan.mma_axes().is_some() { LoopKind::Warp } else { LoopKind::Thread };
    let threads = loops_over(stage, plan, kind);
    let zeros = vec![PrimExpr::int64(0); stage.axes.len()];
    let mut position = Position::new(block, zeros);
    let index = match kind {
        LoopKind::Warp => thread.clone().floordiv(PrimExpr::int64(WARP_THREADS)),
        _ => thread.clone(),
    };
    let sizes: Vec<PrimExpr> = threads.iter().map(|(_, count)| PrimExpr::int64(*count)).collect();
    for ((l, _), index) in threads.iter().zip(unravel(&index, &sizes)) {
        position = position.moved_in_thread(l.axis, scaled(index, l.step));
    }
    let is_reducer = |(l, _): &&(&Loop, i64)| stage.axes[l.axis].reduce;
    let reducers = threads.iter().filter(is_reducer).map(|(_, count)| count).product();
    let stride = threads.iter().rev().take_while(|own| !is_reducer(own)).map(|(_, count)| count).product();
    let count = block_threads(stage, plan);
    ThreadCode::new(stage, plan, position, Some(BlockThreads { index: thread, count, reducers, stride })).stmt()
}

/// Returns `index * step`, folded.
pub fn scaled(index: PrimExpr, step: i64) -> PrimExpr {
    product(&index, &PrimExpr::int64(step))
}

/// Returns a sum, folded.
pub fn sum(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(0), _) => b.clone(),
        (_, Some(0)) => a.clone(),
        (Some(a), Some(b)) => PrimExpr::int64(a + b),
        _ => a + b,
    }
}
