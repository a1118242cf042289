//! Schedules as data: the loops of each part of a kernel.
//!
//! A plan is a list of loops for each [stage](hammock_loopnest). The rules of a kind of machine ([`cpu`],
//! [`gpu`]) make one from axes and access patterns alone, never from names; lowering generates the loop nest. Since a plan never rewrites a
//! computation, it can only change the order of operations, and only where that is allowed: see [`LoopKind::Vector`].

mod bind;
mod check;
mod choice;
mod context;
mod cost_model;
pub mod cpu;
mod flops;
pub mod gpu;
mod names;
mod padding;
mod prefetch;
pub mod primitives;
mod read;
mod rule;
mod search_space;
mod text;

pub use bind::bind;
pub use context::ScheduleContext;
pub use cost_model::{cost, duration};
pub use flops::Flops;
pub use prefetch::Prefetch;
pub use read::{ParsedPlan, PlanError, Plans};
pub use rule::Rule;
pub use search_space::candidates;

use hammock_ir::{
    PrimExpr,
    prim::{
        Var,
        flat::{Dot, PACKED_DTYPE},
    },
    tir::Buffer,
};
use hammock_loopnest::{
    ScaleGroups, Stage,
    access::{is_contiguous, parts},
    dots,
    row_tiling::{Rows, SharedCopy, TilePosition},
};
use std::collections::BTreeMap;

/// Schedule of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// One entry for each part.
    pub parts: Vec<PartPlan>,
}

/// Schedule of a part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartPlan {
    /// Opaque statements, with the number of enclosing loops, outermost first, that are parallel together, and the
    /// minimum iterations for a thread.
    Opaque(Option<(usize, i64)>),
    /// A stage.
    Stage(StagePlan),
    /// Row-tiled stages.
    Rows(RowsPlan),
}

/// Schedule of row-tiled stages: loops over row axes, around loops over the stages' other axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowsPlan {
    /// Copies made before the loop over the last row axis, with their schedules.
    pub copied: Vec<(SharedCopy, StagePlan)>,
    /// The innermost parallel row axis, which is parallel together with those before it, and the minimum iterations for
    /// a thread.
    pub parallel: Option<(usize, i64)>,
    /// How an [online softmax](hammock_loopnest::row_tiling::Online) takes the elements of a row.
    pub online: Option<OnlinePlan>,
    /// Rows of a tile with the plans of its stages: first the main tile, then remainders.
    pub tiles: Vec<(i64, Vec<StagePlan>)>,
}

/// Schedule of the elements of a row in an online softmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OnlinePlan {
    /// Number of elements at a time.
    pub elements: i64,
    /// Maximum number of parts that different blocks compute.
    pub splits: i64,
    /// True if tensor cores compute the matmuls, and warps have everything else in registers.
    pub tensor_cores: bool,
    /// True if tiles may reach beyond the last row and element, as on a GPU. A CPU has a tile for the tail.
    pub clamps: bool,
}

impl RowsPlan {
    /// Returns the row-tiled stages that read its copies, and the stages that make these at a symbolic position.
    pub fn with_copies(&self, rows: &Rows) -> (Rows, Vec<Stage>) {
        let mut position: Vec<PrimExpr> = rows.vars().map(Var::expr).collect();
        position.pop();
        rows.with_copies(self.copied.iter().map(|(copied, _)| copied), &position)
    }

    /// Returns the row-tiled stages that the plans of a tile are for, for all rows.
    pub fn stages(&self, rows: &Rows) -> Vec<Stage> {
        let online = self.online.and_then(|_| rows.online_form());
        online.map_or_else(|| rows.stages.clone(), |(rows, _)| rows.stages)
    }

    /// Returns the stages for a tile of rows, which the plans of a tile are for.
    pub fn sample(&self, rows: &Rows, row_count: i64) -> Vec<Stage> {
        let Some((OnlinePlan { elements: element_count, clamps, .. }, (rows, online))) =
            self.online.zip(rows.online_form())
        else {
            return rows.sample(row_count).stages;
        };
        let position: Vec<PrimExpr> = rows.vars().map(Var::expr).collect();
        let element = &PrimExpr::int64(0);
        rows.online_tile(&online, &TilePosition { rows: &position, row_count, element, element_count, clamps })
            .row_tiled()
    }
}

/// Schedule of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StagePlan {
    /// Name of the rule that made it.
    pub rule: &'static str,
    /// The loops, outermost first. An axis may have several, of decreasing steps; the last one has step 1. Trailing
    /// reduction, unrolled and vector loops are the *tile*, whose results are in registers. At most one reduction loop
    /// may be outside the tile: it splits the reduction, and partial results are stored in the result's buffer. Another
    /// one may split it inside the tile, with partial accumulators in registers.
    pub loops: Vec<Loop>,
    /// Packed copies of operands.
    pub staged: Vec<Staged>,
    /// True if the divisor that is invariant along the vector axis is inverted once, and multiplied by.
    pub hoists_reciprocal: bool,
}

/// A packed copy of what an operand loads, made inside some loops in the order in which they use it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Staged {
    /// Index among the [parts](hammock_loopnest::access::parts) of the stage's value.
    pub load: usize,
    /// Number of loops around the copy.
    pub inside: usize,
    /// Axes that the load varies along, in the order of the copy's dimensions.
    pub axes: Vec<usize>,
    /// Axes that are [padded](padding), with the multiple that they are padded to.
    pub padded: BTreeMap<usize, i64>,
    /// On a GPU: number of tiles in shared memory. With several, copies run ahead of their use, asynchronously.
    pub stages: i64,
    /// Schedule of the copy, a stage over these axes.
    pub copy: StagePlan,
}

impl Staged {
    /// Creates a copy that is not scheduled yet.
    pub fn new(load: usize, inside: usize, axes: Vec<usize>) -> Staged {
        Staged { load, inside, axes, padded: BTreeMap::new(), stages: 1, copy: StagePlan::new("", Vec::new()) }
    }
}

/// A loop of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// Index of the stage's axis.
    pub axis: usize,
    /// Step: number of values of the axis for each iteration. The tail has fewer.
    pub step: i64,
    /// Execution of iterations.
    pub kind: LoopKind,
}

/// Execution of a loop's iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// Sequential.
    Serial,
    /// Parallel, collapsed with enclosing loops up to the last copy; with the minimum iterations for a thread.
    Parallel(i64),
    /// Sequential, over tiles of rows that [prefetch](Prefetch) what the next iteration of the enclosing loop reads of a
    /// packed operand.
    Prefetch,
    /// Unrolled.
    Unrolled,
    /// Vectorized. Along a reduction axis, each lane accumulates its own elements, and the lanes are combined at the
    /// end: in an order that is the same for every run and number of threads.
    Vector,
    /// On a GPU: collapsed with enclosing loops; one iteration for each thread, in blocks of this number of threads.
    Grid(i64),
    /// On a GPU: collapsed with the other loops of this kind; one iteration for each block.
    Block,
    /// On a GPU: collapsed with the other loops of this kind; one iteration for each thread of a block. Along a
    /// reduction axis, threads reduce their own elements, and are combined at the end.
    Thread,
    /// On a GPU: collapsed with the other loops of this kind; one iteration for each warp of a block.
    Warp,
    /// On a GPU: computed by tensor cores. The three innermost loops of a contraction, over 16 rows, 8 columns and 16
    /// elements of a reduction axis, are one `mma.sync` of a warp.
    Mma,
    /// Reduced by a [dot instruction](hammock_loopnest::dots): the innermost loop of a reduction axis, whose enclosing loop
    /// has the group size as step.
    Dot,
}

impl Loop {
    /// Creates a serial loop with step 1.
    pub fn serial(axis: usize) -> Loop {
        Loop { axis, step: 1, kind: LoopKind::Serial }
    }

    /// Creates a serial loop with a step.
    pub fn with_step(axis: usize, step: i64) -> Loop {
        Loop { axis, step, kind: LoopKind::Serial }
    }

    /// Creates an unrolled loop.
    pub fn unrolled(axis: usize) -> Loop {
        Loop { axis, step: 1, kind: LoopKind::Unrolled }
    }

    /// Creates a loop of dot instructions.
    pub fn dot(axis: usize) -> Loop {
        Loop { axis, step: 1, kind: LoopKind::Dot }
    }

    /// Returns true if it is parallel.
    pub fn is_parallel(&self) -> bool {
        matches!(self.kind, LoopKind::Parallel(_))
    }

    /// Returns true if it runs on blocks or threads of a GPU.
    pub fn is_bound(&self) -> bool {
        matches!(self.kind, LoopKind::Grid(_) | LoopKind::Block | LoopKind::Thread | LoopKind::Warp)
    }

    /// Creates a vector loop.
    pub fn vector(axis: usize) -> Loop {
        Loop { axis, step: 1, kind: LoopKind::Vector }
    }
}

impl StagePlan {
    /// Creates a plan without copies.
    pub fn new(rule: &'static str, loops: Vec<Loop>) -> StagePlan {
        StagePlan { rule, loops, staged: Vec::new(), hoists_reciprocal: false }
    }

    /// Returns the number of values of an axis inside of some loops, if these divide it.
    pub fn range(&self, axis: usize, inside: usize) -> Option<i64> {
        self.loops[..inside].iter().rev().find(|l| l.axis == axis).map(|l| l.step)
    }

    /// Returns the stage that makes a copy, at position zero of its axes, of the size that the loops around it leave.
    pub fn copy_of(&self, stage: &Stage, staged: &Staged) -> Stage {
        let load = parts(stage)[staged.load];
        let left = |axis: &usize| {
            let extent = &stage.axes[*axis].extent;
            let known = self.range(*axis, staged.inside).zip(extent.as_int());
            known.map_or_else(|| extent.clone(), |(range, extent)| PrimExpr::int64(range.min(extent)))
        };
        let packed_axis = self.packed_axis(stage, staged);
        let left = dots::sizes(&staged.axes, staged.axes.iter().map(left).collect(), packed_axis);
        let mut position: Vec<PrimExpr> = stage.axes.iter().map(|axis| axis.var.expr()).collect();
        staged.axes.iter().for_each(|axis| position[*axis] = PrimExpr::int64(0));
        let dtype = if packed_axis.is_some() { PACKED_DTYPE } else { load.dtype() };
        let to = Buffer::new("copy", left.clone(), dtype);
        stage.copy_of(load, &staged.axes, left, &position, to, packed_axis)
    }

    /// Returns the axes that a part varies along inside of some loops, in tile order: reduction axes first, of these
    /// the packed one last, then spatial axes, the vector axis last.
    pub fn in_tile_order(&self, stage: &Stage, part: &PrimExpr, inside: usize) -> Vec<usize> {
        let several = |axis: &usize| part.uses(&stage.axes[*axis].var) && self.range(*axis, inside) != Some(1);
        let (dot, vector) = (self.dot().map(|l| l.axis), self.vector().map(|l| l.axis));
        let mut axes: Vec<usize> = (0..stage.axes.len()).filter(several).collect();
        axes.sort_by_key(|axis| (!stage.axes[*axis].reduce, Some(*axis) == dot, Some(*axis) == vector));
        axes
    }

    /// Returns the axis of a copy that is packed in groups for dot instructions.
    pub fn packed_axis(&self, stage: &Stage, staged: &Staged) -> Option<(usize, Dot)> {
        let axis = self.dot()?.axis;
        dots::dot(stage).filter(|_| staged.axes.contains(&axis)).map(|dot| (axis, dot))
    }

    /// Returns the number of iterations of a loop, if it is constant.
    pub fn trip_count(&self, stage: &Stage, number: usize) -> Option<i64> {
        let l = &self.loops[number];
        let range = self.range(l.axis, number).or(stage.axes[l.axis].extent.as_int())?;
        Some((range + l.step - 1) / l.step)
    }

    /// Returns the number of threads of a block, if its outer loops are `grid` loops of a GPU.
    pub fn grid_threads(&self) -> Option<i64> {
        self.loops.iter().find_map(|l| match l.kind {
            LoopKind::Grid(threads) => Some(threads),
            _ => None,
        })
    }

    /// Returns true if its loops are on blocks of a GPU and their threads.
    pub fn is_on_blocks(&self) -> bool {
        self.loops.iter().any(|l| matches!(l.kind, LoopKind::Block | LoopKind::Thread | LoopKind::Warp))
    }

    /// Returns the axes of rows, of columns and of the reduction that tensor cores compute.
    pub fn mma_axes(&self) -> Option<[usize; 3]> {
        match &self.loops[..] {
            [.., m, n, k] if [m, n, k].iter().all(|l| l.kind == LoopKind::Mma) => Some([m.axis, n.axis, k.axis]),
            _ => None,
        }
    }

    /// Returns the loop of dot instructions.
    pub fn dot(&self) -> Option<&Loop> {
        self.loops.iter().find(|l| l.kind == LoopKind::Dot)
    }

    /// Returns the vector loop.
    pub fn vector(&self) -> Option<&Loop> {
        self.loops.iter().find(|l| l.kind == LoopKind::Vector)
    }

    /// Returns true if the vector axis is strided in a load that is contiguous along an unrolled spatial axis: rows are
    /// loaded and transposed in registers.
    pub fn transposes(&self, stage: &Stage, load: &PrimExpr) -> bool {
        let columns = |l: &&Loop| l.kind == LoopKind::Unrolled && !stage.axes[l.axis].reduce;
        let mut columns = self.loops.iter().filter(columns).map(|l| &stage.axes[l.axis].var);
        columns.any(|var| load.uses(var) && is_contiguous(load, var))
    }

    /// Returns the index of the tile's first loop.
    pub fn tile(&self, stage: &Stage) -> usize {
        let inside = |l: &Loop| match l.kind {
            LoopKind::Unrolled | LoopKind::Vector | LoopKind::Dot => true,
            LoopKind::Serial => stage.axes[l.axis].reduce,
            LoopKind::Prefetch | LoopKind::Parallel(_) | LoopKind::Grid(_) | LoopKind::Block | LoopKind::Thread => {
                false
            }
            LoopKind::Warp | LoopKind::Mma => false,
        };
        self.loops.iter().rposition(|l| !inside(l)).map_or(0, |last| last + 1)
    }

    /// Returns true if a loop of the tile splits a reduction: another loop over its axis is inside.
    pub fn splits_reduction(&self, number: usize) -> bool {
        let Loop { axis, .. } = self.loops[number];
        let inner = self.loops[number + 1..].iter().find(|l| l.axis == axis);
        inner.is_some_and(|inner| matches!(inner.kind, LoopKind::Serial | LoopKind::Unrolled))
    }

    /// Returns the elements of a part of a split reduction in the tile.
    pub fn part_size(&self, stage: &Stage, axis: usize) -> Option<i64> {
        let tile = self.tile(stage);
        let is_split = |number: &usize| self.loops[*number].axis == axis && self.splits_reduction(*number);
        (tile..self.loops.len()).find(is_split).map(|number| self.loops[number].step)
    }

    /// Returns the groups of a reduction's elements that share scales, if the parts of a split reduction in the tile are
    /// within groups: a part is multiplied by its scale.
    pub fn scale_groups(&self, stage: &Stage) -> Option<ScaleGroups> {
        let groups = ScaleGroups::of(stage).filter(|_| self.staged.is_empty())?;
        let part = self.part_size(stage, groups.axis)?;
        let mut around = self.loops[..self.tile(stage)].iter().filter(|l| l.axis == groups.axis);
        let is_whole = stage.axes[groups.axis].extent.as_int().is_some_and(|extent| extent % part == 0);
        let starts_parts = around.all(|l| l.step % part == 0);
        (is_whole && groups.size % part == 0 && starts_parts).then_some(groups)
    }

    /// Returns the number of reduction elements combined at once: lanes, or the group size.
    pub fn reduction_step(&self, axis: usize) -> i64 {
        self.loops.iter().rev().find(|l| l.axis == axis && l.step != 1).map_or(1, |l| l.step)
    }

    /// Returns the number of loops around an expression that is invariant along the vector axis, once hoisted: loops
    /// over axes that it uses, and parallel ones. `None` if no loop along the vector axis is left inside.
    pub fn hoist_depth(&self, stage: &Stage, expr: &PrimExpr) -> Option<usize> {
        let axis = self.vector()?.axis;
        let around = |l: &Loop| l.is_parallel() || expr.uses(&stage.axes[l.axis].var);
        let inside = self.loops.iter().rposition(around).map_or(0, |last| last + 1);
        let repeats = self.loops.get(inside..self.tile(stage))?.iter().any(|l| l.axis == axis);
        repeats.then_some(inside)
    }

    /// Makes all loops serial, for a stage inside a parallel loop.
    pub fn on_one_thread(mut self) -> StagePlan {
        let parallel = self.loops.iter_mut().filter(|l| l.is_parallel());
        parallel.for_each(|l| l.kind = LoopKind::Serial);
        self
    }
}
