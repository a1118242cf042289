//! Device region of row-wise stages: a block for each row, with the intermediates of the row in shared memory.
//!
//! An input row that several stages read is copied to shared memory first, so that it is read from global memory once.
//! If rows of dynamic length do not fit, the stages run one after the other, with intermediates in global memory.

use super::{
    barrier, bound_loop, guarded, online, product,
    stage::{self, thread_code},
    unravel,
};
use crate::{
    lower::gpu::region::device_region,
    schedule::{LoopKind, RowsPlan, ScheduleContext, StagePlan, gpu},
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{Axis, Stage, index::same_expr, replaced, row_tiling::Rows};

/// Bytes of shared memory that are left to the results of warps.
const WARP_RESULT_BYTES: i64 = 4 << 10;

/// Returns the region, or a choice between it and regions of the single stages.
pub fn region(rows: &Rows, plan: &RowsPlan, choice: ScheduleContext) -> Stmt {
    let (row_count, plans) = plan.tiles.first().map_or((1, &[][..]), |(row_count, plans)| (*row_count, &plans[..]));
    if let Some((how, found)) = plan.online.zip(rows.online()) {
        return online::Regions::new(rows, &found, (row_count, how), plans, choice).stmt();
    }
    if !rows.fit_a_block() {
        return single_stages(rows, choice);
    }
    let extents: Vec<PrimExpr> = rows.extents().cloned().collect();
    let total = extents.iter().fold(PrimExpr::int64(1), |total, extent| product(&total, extent));
    let (block, thread) = (Var::int64("block"), Var::int64("thread"));
    let tile = rows.tile(&unravel(&block.expr(), &extents), 1);
    let count = tile.stages.iter().zip(plans).map(|(stage, plan)| gpu::block_threads(stage, plan)).max().unwrap_or(1);
    let mut block_rows = BlockRows { stages: tile.stages, plans: plans.to_vec(), shared: tile.buffers, choice };
    block_rows.share_inputs(count);
    let bytes = block_rows.bytes();
    let body = block_rows.code(&thread);
    let body = bound_loop("threadIdx.x", thread, PrimExpr::int64(count), body);
    let whole = device_region(bound_loop("blockIdx.x", block, total, body));
    let max_bytes = max_row_bytes(choice);
    match bytes.as_int() {
        Some(bytes) if bytes <= max_bytes => whole,
        Some(_) => single_stages(rows, choice),
        None => {
            let fits = bytes.le(PrimExpr::int64(max_bytes));
            Stmt::new(StmtKind::If(fits, Box::new(whole), Some(Box::new(single_stages(rows, choice)))))
        }
    }
}

/// Returns the maximum bytes of rows in shared memory: what can be declared, without the results of warps.
fn max_row_bytes(choice: ScheduleContext) -> i64 {
    choice.gpu.map_or(0, |gpu| i64::from(gpu.max_static_shared) - WARP_RESULT_BYTES)
}

/// Returns a region for each stage.
fn single_stages(rows: &Rows, choice: ScheduleContext) -> Stmt {
    let regions = rows.stages.iter().map(|stage| stage::region(stage, &choice.stage_plan(stage)));
    hammock_ir::tir::fresh::copy(&Stmt::seq(regions), Default::default())
}

/// The stages for one row.
struct BlockRows<'a> {
    stages: Vec<Stage>,
    plans: Vec<StagePlan>,
    /// Buffers in shared memory.
    shared: Vec<Buffer>,
    choice: ScheduleContext<'a>,
}

/// A row of an input: the buffer, and the indices before the last.
struct InputRow {
    load: PrimExpr,
    axis: Axis,
}

impl BlockRows<'_> {
    /// Adds stages that copy the input rows which several stages read.
    fn share_inputs(&mut self, threads: i64) {
        let mut at = 0;
        while let Some(row) = (0..self.stages.len()).flat_map(|stage| self.input_rows(stage)).nth(at) {
            let readers =
                (0..self.stages.len()).filter(|stage| self.input_rows(*stage).iter().any(|own| own.is_same(&row)));
            if readers.count() < 2 {
                at += 1;
                continue;
            }
            self.share(&row, threads);
        }
    }

    /// Returns the input rows that a stage reads completely.
    fn input_rows(&self, number: usize) -> Vec<InputRow> {
        let stage = &self.stages[number];
        let is_input = |buffer: &Buffer| {
            let is_target = |stage: &Stage| stage.targets().chain([&stage.buffer]).any(|own| own.data == buffer.data);
            !self.shared.contains(buffer) && !self.stages.iter().any(is_target) && buffer.strides.is_empty()
        };
        let mut found: Vec<InputRow> = Vec::new();
        for value in stage.values() {
            value.walk(&mut |e| {
                let PrimKind::Load(buffer, indices, None) = e.kind() else { return };
                let Some((last, rest)) = indices.split_last() else { return };
                let axis = stage.axes.iter().find(|axis| last.as_var() == Some(&axis.var));
                let Some(axis) = axis.filter(|_| is_input(buffer)) else { return };
                let is_row = rest.iter().all(|index| !stage.axes.iter().any(|axis| index.uses(&axis.var)));
                let is_whole = buffer.shape.last().is_some_and(|size| same_expr(size, &axis.extent));
                let row = InputRow { load: e.clone(), axis: axis.clone() };
                if is_row && is_whole && !found.iter().any(|known| known.is_same(&row)) {
                    found.push(row);
                }
            });
        }
        found
    }

    /// Copies an input row to shared memory, from where all stages read it.
    fn share(&mut self, row: &InputRow, threads: i64) {
        let PrimKind::Load(buffer, ..) = row.load.kind() else { return };
        let to = Buffer::new(buffer.name.clone(), vec![row.axis.extent.clone()], buffer.dtype);
        for number in 0..self.stages.len() {
            for own in self.input_rows(number).into_iter().filter(|own| own.is_same(row)) {
                let copy = PrimExpr::load(&to, vec![own.axis.var.expr()]);
                self.stages[number] = self.stages[number].map_values(|value| replaced(value, &own.load, &copy));
            }
        }
        let axis = row.axis.fresh();
        let value = row.load.substitute(&[(row.axis.var.clone(), axis.var.expr())].into_iter().collect());
        let index = vec![axis.var.expr()];
        let axis = Axis { reduce: false, ..axis };
        let copy = Stage::new(format!("{}_row", buffer.name), vec![axis], to.clone(), index, value);
        self.plans.insert(0, gpu::row_plan(&copy, threads, self.choice));
        self.stages.insert(0, copy);
        self.shared.push(to);
    }

    /// Returns the bytes of shared memory.
    fn bytes(&self) -> PrimExpr {
        let bytes = |buffer: &Buffer| {
            let element = PrimExpr::int64(buffer.dtype.bytes() as i64);
            buffer.shape.iter().fold(element, |bytes, size| product(&bytes, size))
        };
        let add = |a: PrimExpr, b: PrimExpr| match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) => PrimExpr::int64(a.saturating_add(b)),
            _ => a + b,
        };
        self.shared.iter().map(bytes).reduce(add).unwrap_or_else(|| PrimExpr::int64(0))
    }

    /// Returns the code of a thread: all stages, with barriers between them.
    fn code(&self, thread: &Var) -> Stmt {
        let shared = |buffer: &Buffer| {
            Stmt::new(StmtKind::Alloc(buffer.change(|b| b.scope = "shared".into()), Default::default()))
        };
        let mut stmts: Vec<Stmt> = self.shared.iter().map(shared).collect();
        for (number, (stage, plan)) in self.stages.iter().zip(&self.plans).enumerate() {
            stmts.extend((number > 0).then(barrier));
            let zeros = vec![PrimExpr::int64(0); stage.axes.len()];
            let code = thread_code(stage, plan, zeros, thread.expr());
            let is_shared = plan.loops.iter().any(|l| l.kind == LoopKind::Thread);
            stmts.push(if is_shared { code } else { guarded(thread.expr().eq(PrimExpr::int64(0)), code) });
        }
        Stmt::new(StmtKind::Seq(stmts))
    }
}

impl InputRow {
    /// Returns true if both are the same row.
    fn is_same(&self, other: &InputRow) -> bool {
        let (PrimKind::Load(a, x, _), PrimKind::Load(b, y, _)) = (self.load.kind(), other.load.kind()) else {
            return false;
        };
        let same = |(x, y): (&PrimExpr, &PrimExpr)| same_expr(x, y);
        a == b && x.len() == y.len() && x[..x.len() - 1].iter().zip(y).all(same)
    }
}
