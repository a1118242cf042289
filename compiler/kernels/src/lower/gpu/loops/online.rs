//! Device region of an online softmax: a block for each tile of rows, which takes a tile of their elements at a time.

use super::{barrier, bound_loop, guarded, product, stage::thread_code, unravel};
use crate::{
    lower::gpu::region::device_region,
    schedule::{
        LoopKind, ScheduleContext, StagePlan,
        gpu::{BLOCK_THREADS, online_stage_plan},
    },
};
use hammock_ir::{
    PrimExpr,
    prim::Var,
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    row_tiling::{Online, Rows, TilePosition},
    steps,
};

/// Returns the region, for tiles of `row_count` rows and `element_count` elements.
pub fn region(
    rows: &Rows,
    online: &Online,
    plans: &[StagePlan],
    (row_count, element_count): (i64, i64),
    choice: ScheduleContext,
) -> Stmt {
    let mut counts: Vec<PrimExpr> = rows.extents().cloned().collect();
    if let Some(last) = counts.last_mut() {
        *last = steps(last, row_count);
    }
    let total = counts.iter().fold(PrimExpr::int64(1), |total, count| product(&total, count));
    let (block, thread, number) = (Var::int64("block"), Var::int64("thread"), Var::int64("tile"));
    let mut position = unravel(&block.expr(), &counts);
    if let Some(last) = position.last_mut() {
        *last = product(last, &PrimExpr::int64(row_count));
    }
    let element = &(number.expr() * PrimExpr::int64(element_count));
    let tile = rows.online_tile(online, &TilePosition { rows: &position, row_count, element, element_count });
    let code = Code { plans, shared: &tile.buffers, thread: &thread, choice };
    let elements = Stmt::serial(number, steps(&rows.online_extent(online), element_count), code.stages(&tile.body));
    let mut stmts: Vec<Stmt> = tile.buffers.iter().map(allocation).collect();
    stmts.extend([code.stages(&tile.before), elements, code.stages(&tile.after)]);
    let threads = PrimExpr::int64(BLOCK_THREADS);
    let body = bound_loop("threadIdx.x", thread.clone(), threads, Stmt::new(StmtKind::Seq(stmts)));
    device_region(bound_loop("blockIdx.x", block, total, body))
}

/// Returns the allocation of a buffer in shared memory.
fn allocation(buffer: &Buffer) -> Stmt {
    Stmt::new(StmtKind::Alloc(buffer.change(|b| b.scope = "shared".into()), Default::default()))
}

struct Code<'a> {
    /// Plans of the row-tiled stages.
    plans: &'a [StagePlan],
    /// Buffers in shared memory.
    shared: &'a [Buffer],
    thread: &'a Var,
    choice: ScheduleContext<'a>,
}

impl Code<'_> {
    /// Returns the code of stages, with a barrier after each.
    fn stages(&self, stages: &[(Option<usize>, Stage)]) -> Stmt {
        Stmt::new(StmtKind::Seq(
            stages.iter().flat_map(|(number, stage)| [self.stage(*number, stage), barrier()]).collect(),
        ))
    }

    fn stage(&self, number: Option<usize>, stage: &Stage) -> Stmt {
        let is_shared = |buffer: &Buffer| self.shared.contains(buffer);
        let own = number.is_none().then(|| online_stage_plan(stage, &is_shared, self.choice));
        let plan = own.as_ref().or(number.map(|number| &self.plans[number]));
        let Some(plan) = plan else { return Stmt::nop() };
        let zeros = vec![PrimExpr::int64(0); stage.axes.len()];
        let code = thread_code(stage, plan, zeros, self.thread.expr());
        let is_spread = plan.loops.iter().any(|l| l.kind == LoopKind::Thread);
        if is_spread { code } else { guarded(self.thread.expr().eq(PrimExpr::int64(0)), code) }
    }
}
