//! Device regions of an online softmax: a block for each tile of rows, which takes a tile of their elements at a time.
//!
//! If rows are split, each block takes a part of the elements of its rows, and stores the maximum and the sums of that
//! part in a workspace. A second region combines them.

mod copies;
mod fragments;
mod tensor_cores;

use super::{barrier, bound_loop, guarded, product, stage::thread_code, unravel};
use crate::{
    lower::gpu::region::device_region,
    schedule::{
        LoopKind, OnlinePlan, ScheduleContext, StagePlan,
        gpu::{
            BLOCK_THREADS,
            online::{MIN_SPLIT_TILES, max_split_blocks, stage_plan},
        },
    },
};
use hammock_ir::{
    PrimExpr,
    prim::Var,
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    row_tiling::{Online, OnlineTile, Partials, Rows, TilePosition},
    steps,
};

/// The regions of an online softmax.
pub struct Regions<'a> {
    rows: &'a Rows,
    online: &'a Online,
    row_count: i64,
    how: OnlinePlan,
    /// Plans of the row-tiled stages.
    plans: &'a [StagePlan],
    choice: ScheduleContext<'a>,
    /// Numbers of tiles along the row axes.
    counts: Vec<PrimExpr>,
}

/// Tiles of elements.
struct Tiles {
    /// Their number.
    count: PrimExpr,
    /// Index of a tile among them.
    number: Var,
    /// First element of this tile.
    element: PrimExpr,
}

impl<'a> Regions<'a> {
    /// Returns the regions for tiles of `row_count` rows.
    pub fn new(
        rows: &'a Rows,
        online: &'a Online,
        (row_count, how): (i64, OnlinePlan),
        plans: &'a [StagePlan],
        choice: ScheduleContext<'a>,
    ) -> Self {
        let mut counts: Vec<PrimExpr> = rows.extents().cloned().collect();
        if let Some(last) = counts.last_mut() {
            *last = steps(last, row_count);
        }
        Regions { rows, online, row_count, how, plans, choice, counts }
    }

    /// Returns the code. The host chooses by the number of blocks whether rows are split.
    pub fn stmt(&self) -> Stmt {
        let Some(gpu) = self.choice.gpu.filter(|_| self.how.splits > 1) else { return self.whole_rows() };
        let (blocks, max) = (self.blocks(), PrimExpr::int64(max_split_blocks(self.row_count, gpu)));
        if blocks.as_int().is_some() {
            return self.split_rows();
        }
        let (split, whole) = (Box::new(self.split_rows()), Box::new(self.whole_rows()));
        Stmt::new(StmtKind::If(blocks.le(max), split, Some(whole)))
    }

    /// Returns the region of blocks that compute whole rows.
    fn whole_rows(&self) -> Stmt {
        let block = Var::int64("block");
        let tiles = self.tiles(&block.expr(), &PrimExpr::int64(0), None);
        let tile = self.tile(&block.expr(), &tiles.element);
        let body = self.elements(&tile, (tiles.number, tiles.count), &tile.after);
        device_region(bound_loop("blockIdx.x", block, self.blocks(), body))
    }

    /// Returns the region of blocks that compute parts of rows, and the one that combines their results.
    fn split_rows(&self) -> Stmt {
        let extent = self.rows.online_extent(self.online);
        let OnlinePlan { elements, splits, .. } = self.how;
        // A split has whole tiles, and there is one even if rows are empty.
        let tiles = at_least(MIN_SPLIT_TILES, steps(&extent, splits * elements));
        let part = product(&tiles, &PrimExpr::int64(elements));
        let count = at_least(1, quotient_up(&extent, &part));
        let block = Var::int64("block");
        let position = unravel(&block.expr(), &[self.blocks(), count.clone()]);
        let [rows, split] = [&position[0], &position[1]];
        let tiles = self.tiles(rows, &product(split, &part), Some(&part));
        let tile = self.tile(rows, &tiles.element);
        let partials = tile.partials(&self.blocks(), splits);
        let stored: Vec<_> = tile.store_partials(&partials, (rows, split)).into_iter().map(unplanned).collect();
        let body = self.elements(&tile, (tiles.number, tiles.count), &stored);
        let blocks = product(&self.blocks(), &count);
        let parts = device_region(bound_loop("blockIdx.x", block, blocks, body));
        let workspace = |buffer: &Buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default()));
        Stmt::seq(partials.buffers().map(workspace).chain([parts, self.combined(&partials, &count)]))
    }

    /// Returns the region that combines the results of a number of splits.
    fn combined(&self, partials: &Partials, count: &PrimExpr) -> Stmt {
        let block = Var::int64("block");
        let tile = self.tile(&block.expr(), &PrimExpr::int64(0));
        let combination = tile.combine(partials, &block.expr(), count, self.how.splits);
        let buffers: Vec<Buffer> = tile.buffers.iter().chain(&combination.buffers).cloned().collect();
        let stages: Vec<_> = combination.stages.into_iter().map(unplanned).collect();
        let body = self.block(&buffers, |code| vec![code.stages(&stages), code.stages(&tile.after)]);
        device_region(bound_loop("blockIdx.x", block, self.blocks(), body))
    }

    /// Returns the tiles of elements of a block of rows, from an element on, all or those of a part. Tiles that the mask
    /// hides from all rows of the block are left out.
    fn tiles(&self, block: &PrimExpr, from: &PrimExpr, part: Option<&PrimExpr>) -> Tiles {
        let bounds = self.rows.element_bounds(self.online, &self.position(block), self.row_count);
        let extent = self.rows.online_extent(self.online);
        let end = bounds.end.into_iter().fold(extent, |end, bound| end.min(at_least(0, bound)));
        let elements = self.how.elements;
        let count = match part {
            Some(part) => at_least(0, steps(&part.clone().min(end - from.clone()), elements)),
            None => steps(&end, elements),
        };
        let number = Var::int64("tile");
        let start = |tile: PrimExpr| {
            let element = product(&tile, &PrimExpr::int64(elements));
            if from.as_int() == Some(0) { element } else { from + element }
        };
        match bounds.first.into_iter().reduce(PrimExpr::max) {
            None => Tiles { element: start(number.expr()), number, count },
            Some(first) => {
                let hidden = at_least(0, first - from.clone()).floordiv(PrimExpr::int64(elements));
                let count = at_least(0, count - hidden.clone());
                Tiles { element: start(hidden + number.expr()), number, count }
            }
        }
    }

    /// Returns the position of the first row of a block.
    fn position(&self, block: &PrimExpr) -> Vec<PrimExpr> {
        let mut position = unravel(block, &self.counts);
        if let Some(last) = position.last_mut() {
            *last = product(last, &PrimExpr::int64(self.row_count));
        }
        position
    }

    /// Returns the stages of a block of rows, for the elements from `element` on.
    fn tile(&self, block: &PrimExpr, element: &PrimExpr) -> OnlineTile {
        let position = self.position(block);
        let (row_count, element_count) = (self.row_count, self.how.elements);
        let at = TilePosition { rows: &position, row_count, element, element_count, clamps: true };
        self.rows.online_tile(self.online, &at)
    }

    /// Returns the number of blocks of rows.
    fn blocks(&self) -> PrimExpr {
        self.counts.iter().fold(PrimExpr::int64(1), |total, count| product(&total, count))
    }

    /// Returns the code of the threads of a block: a number of tiles of elements, and other stages after them.
    fn elements(&self, tile: &OnlineTile, tiles: (Var, PrimExpr), after: &[(Option<usize>, Stage)]) -> Stmt {
        if self.how.tensor_cores {
            return tensor_cores::block(tile, self.row_count, tiles, after, self.choice);
        }
        let (number, count) = tiles;
        self.block(&tile.buffers, |code| {
            let elements = Stmt::serial(number, count, code.stages(&tile.body));
            vec![code.stages(&tile.before), elements, code.stages(after)]
        })
    }

    /// Returns the code of the threads of a block with buffers in shared memory.
    fn block(&self, buffers: &[Buffer], body: impl FnOnce(&Code) -> Vec<Stmt>) -> Stmt {
        let thread = Var::int64("thread");
        let code = Code { plans: self.plans, shared: buffers, thread: &thread, choice: self.choice };
        let stmts = buffers.iter().map(allocation).chain(body(&code)).collect();
        let threads = PrimExpr::int64(BLOCK_THREADS);
        bound_loop("threadIdx.x", thread.clone(), threads, Stmt::new(StmtKind::Seq(stmts)))
    }
}

/// Returns a stage without a plan of its own.
fn unplanned(stage: Stage) -> (Option<usize>, Stage) {
    (None, stage)
}

/// Returns the larger of a value and a constant.
fn at_least(min: i64, value: PrimExpr) -> PrimExpr {
    match value.as_int() {
        Some(value) => PrimExpr::int64(value.max(min)),
        None => value.max(PrimExpr::int64(min)),
    }
}

/// Returns a quotient of numbers that are not negative, rounded up.
fn quotient_up(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match b.as_int() {
        Some(b) => steps(a, b),
        None => (a + b - PrimExpr::int64(1)).floordiv(b.clone()),
    }
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
        let own = number.is_none().then(|| stage_plan(stage, &is_shared, self.choice));
        let plan = own.as_ref().or(number.map(|number| &self.plans[number]));
        let Some(plan) = plan else { return Stmt::nop() };
        let zeros = vec![PrimExpr::int64(0); stage.axes.len()];
        let code = thread_code(stage, plan, zeros, self.thread.expr());
        let is_spread = plan.loops.iter().any(|l| l.kind == LoopKind::Thread);
        if is_spread { code } else { guarded(self.thread.expr().eq(PrimExpr::int64(0)), code) }
    }
}
