//! Schedules as data: how each part of a kernel becomes loops.
//!
//! A plan is a list of loops for each [stage](crate::stage). [`rules`](crate::rules) make one from axes and access
//! patterns alone, never from names; [`lower::loops`](crate::lower) writes it out. Nothing is rewritten step by step, so
//! no plan can change what is computed, only the order, and that only where it may: see [`LoopKind::Vector`].

mod bind;
mod check;
mod cost_model;
mod flops;
mod names;
mod padding;
pub mod primitives;
mod read;
mod search_space;
mod text;

pub use bind::bind;
pub use cost_model::{cost, duration};
pub use flops::Flops;
pub use read::{PlanError, Plans, Written};
pub use search_space::neighbours;

use crate::stage::{
    Stage,
    access::{is_contiguous, parts},
    dots::{self, Dot},
    row_tiling::Copied,
};
use hammock_ir::{PrimExpr, tir::Buffer};
use std::collections::BTreeMap;

/// How the parts of a kernel become loops.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// One entry a part.
    pub parts: Vec<PartPlan>,
}

/// How a part becomes loops.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartPlan {
    /// It stays as it is. So many of the loops around it, the outermost, are spread over threads together, where there are so
    /// many iterations for each.
    AsWritten(Option<(usize, i64)>),
    /// A stage.
    Stage(StagePlan),
    /// Stages that share rows.
    Rows(RowsPlan),
}

/// How stages that share rows become loops: over the rows, and inside over what each stage has besides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowsPlan {
    /// What is copied before the rows of the last axis, and how.
    pub copied: Vec<(Copied, StagePlan)>,
    /// The row axis that is spread over threads, together with those before it, and the fewest iterations that are worth one.
    pub parallel: Option<(usize, i64)>,
    /// How many rows run together, and the plans of the stages for so many: first for most rows, then for those left.
    pub tiles: Vec<(i64, Vec<StagePlan>)>,
}

/// How a stage's axes become loops.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StagePlan {
    /// The name of the rule that made it.
    pub rule: &'static str,
    /// The loops, outermost first. An axis may have several, of smaller and smaller steps; the last has step 1. Those over
    /// terms, and those that are unrolled or vectors, are the *tile*: they come last, and everything that they compute is
    /// in registers. One loop over parts of the terms may be outside of it: what a part makes is stored where the result
    /// will be. Another may be in it: what a part makes is added to the sum.
    pub loops: Vec<Loop>,
    /// What is copied before it is used.
    pub staged: Vec<Staged>,
    /// True if what all values along the vectors' axis are divided by is inverted once, and they are multiplied by it.
    pub inverts: bool,
}

/// A copy of what a load reads inside some loops, in an order that suits the loops.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Staged {
    /// Which of the [parts](crate::stage::access::parts) of the stage's value.
    pub load: usize,
    /// How many of the loops are around the copy.
    pub inside: usize,
    /// The axes that the load changes along, in the order of the copy's dimensions.
    pub axes: Vec<usize>,
    /// Those of them that have [room](padding) for more values than there are, up to a multiple of a number.
    pub padded: BTreeMap<usize, i64>,
    /// How the copy is made: a stage with these axes.
    pub copy: StagePlan,
}

impl Staged {
    /// A copy whose loops are still to be chosen.
    pub fn new(load: usize, inside: usize, axes: Vec<usize>) -> Staged {
        Staged { load, inside, axes, padded: BTreeMap::new(), copy: StagePlan::new("", Vec::new()) }
    }
}

/// A loop of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// The number of the stage's axis.
    pub axis: usize,
    /// How many values of the axis one iteration is for. What is left at the end becomes an iteration for fewer.
    pub step: i64,
    /// How iterations run.
    pub kind: LoopKind,
}

/// How the iterations of a loop run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// One after the other.
    Serial,
    /// On several threads, together with the loops around it up to the last copy, where there are so many iterations for
    /// each.
    Parallel(i64),
    /// Written out side by side.
    Unrolled,
    /// As lanes of vectors. Along a reduce axis, each lane combines its own terms, and in the end the lanes are combined:
    /// an order of its own, the same for every run and any number of threads.
    Vector,
    /// As terms of a [dot product](crate::stage::dots): the innermost loop of a reduce axis, so many of whose values as
    /// the loop around it leaves are added to a sum at once.
    Dot,
}

impl Loop {
    /// One value after the other.
    pub fn serial(axis: usize) -> Loop {
        Loop { axis, step: 1, kind: LoopKind::Serial }
    }

    /// Several values at a time.
    pub fn by(axis: usize, step: i64) -> Loop {
        Loop { axis, step, kind: LoopKind::Serial }
    }

    /// Values side by side.
    pub fn unrolled(axis: usize) -> Loop {
        Loop { axis, step: 1, kind: LoopKind::Unrolled }
    }

    /// Values as terms of dot products.
    pub fn dot(axis: usize) -> Loop {
        Loop { axis, step: 1, kind: LoopKind::Dot }
    }

    /// Returns true if it is spread over threads.
    pub fn is_parallel(&self) -> bool {
        matches!(self.kind, LoopKind::Parallel(_))
    }

    /// Values as lanes.
    pub fn vector(axis: usize) -> Loop {
        Loop { axis, step: 1, kind: LoopKind::Vector }
    }
}

impl StagePlan {
    /// Loops, and nothing staged.
    pub fn new(rule: &'static str, loops: Vec<Loop>) -> StagePlan {
        StagePlan { rule, loops, staged: Vec::new(), inverts: false }
    }

    /// The number of values of an axis that are left inside of some loops, where these divide it.
    pub fn range(&self, axis: usize, inside: usize) -> Option<i64> {
        self.loops[..inside].iter().rev().find(|l| l.axis == axis).map(|l| l.step)
    }

    /// The stage that makes a copy, at the beginning of its axes: no more values than the loops around it leave.
    pub fn copy_of(&self, stage: &Stage, staged: &Staged) -> Stage {
        let load = parts(stage)[staged.load];
        let left = |axis: &usize| {
            let extent = &stage.axes[*axis].extent;
            let known = self.range(*axis, staged.inside).zip(extent.as_int());
            known.map_or_else(|| extent.clone(), |(range, extent)| PrimExpr::int64(range.min(extent)))
        };
        let in_words = self.in_words(stage, staged);
        let left = dots::sizes(&staged.axes, staged.axes.iter().map(left).collect(), in_words);
        let mut position: Vec<PrimExpr> = stage.axes.iter().map(|axis| axis.var.expr()).collect();
        staged.axes.iter().for_each(|axis| position[*axis] = PrimExpr::int64(0));
        let dtype = if in_words.is_some() { dots::WORD } else { load.dtype() };
        let to = Buffer::new("copy", left.clone(), dtype);
        stage.copy_of(load, &staged.axes, left, &position, to, in_words)
    }

    /// The axes that a part changes along inside of some loops, as the tile reads them: those of terms first, of which the
    /// terms of a dot product last, then those of results, of which that of the vectors last.
    pub fn in_tile_order(&self, stage: &Stage, part: &PrimExpr, inside: usize) -> Vec<usize> {
        let several = |axis: &usize| part.uses(&stage.axes[*axis].var) && self.range(*axis, inside) != Some(1);
        let (dot, vector) = (self.dot().map(|l| l.axis), self.vector().map(|l| l.axis));
        let mut axes: Vec<usize> = (0..stage.axes.len()).filter(several).collect();
        axes.sort_by_key(|axis| (!stage.axes[*axis].reduce, Some(*axis) == dot, Some(*axis) == vector));
        axes
    }

    /// The axis that a copy has in words: that of the terms of dot products.
    pub fn in_words(&self, stage: &Stage, staged: &Staged) -> Option<(usize, Dot)> {
        let axis = self.dot()?.axis;
        dots::dot(stage).filter(|_| staged.axes.contains(&axis)).map(|dot| (axis, dot))
    }

    /// The loop over the terms of dot products.
    pub fn dot(&self) -> Option<&Loop> {
        self.loops.iter().find(|l| l.kind == LoopKind::Dot)
    }

    /// The loop that is lanes of vectors.
    pub fn vector(&self) -> Option<&Loop> {
        self.loops.iter().find(|l| l.kind == LoopKind::Vector)
    }

    /// Returns true if lanes of vectors read rows of which several columns are read side by side: the rows are read
    /// instead, and shuffled.
    pub fn crosses(&self, stage: &Stage, load: &PrimExpr) -> bool {
        let columns = |l: &&Loop| l.kind == LoopKind::Unrolled && !stage.axes[l.axis].reduce;
        let mut columns = self.loops.iter().filter(columns).map(|l| &stage.axes[l.axis].var);
        columns.any(|var| load.uses(var) && is_contiguous(load, var))
    }

    /// Where the tile begins: the number of its first loop.
    pub fn tile(&self, stage: &Stage) -> usize {
        let inside = |l: &Loop| match l.kind {
            LoopKind::Unrolled | LoopKind::Vector | LoopKind::Dot => true,
            LoopKind::Serial => stage.axes[l.axis].reduce,
            LoopKind::Parallel(_) => false,
        };
        self.loops.iter().rposition(|l| !inside(l)).map_or(0, |last| last + 1)
    }

    /// Returns true if a loop of the tile is over parts of the terms, each of which is added up by itself: another goes
    /// through them.
    pub fn is_of_parts(&self, number: usize) -> bool {
        let Loop { axis, .. } = self.loops[number];
        let inner = self.loops[number + 1..].iter().find(|l| l.axis == axis);
        inner.is_some_and(|inner| inner.kind == LoopKind::Serial)
    }

    /// How many terms of an axis are combined at once, where they are lanes or words.
    pub fn at_once(&self, axis: usize) -> i64 {
        self.loops.iter().rev().find(|l| l.axis == axis && l.step != 1).map_or(1, |l| l.step)
    }

    /// Inside how many loops an expression is known that stays the same along the vectors' axis: inside those over what it
    /// changes along, and those on threads. `None` where no loop along the axis would be left.
    pub fn known(&self, stage: &Stage, expr: &PrimExpr) -> Option<usize> {
        let axis = self.vector()?.axis;
        let around = |l: &Loop| l.is_parallel() || expr.uses(&stage.axes[l.axis].var);
        let inside = self.loops.iter().rposition(around).map_or(0, |last| last + 1);
        let repeats = self.loops.get(inside..self.tile(stage))?.iter().any(|l| l.axis == axis);
        repeats.then_some(inside)
    }

    /// The plan without threads, for a stage inside a loop that has them.
    pub fn on_one_thread(mut self) -> StagePlan {
        let parallel = self.loops.iter_mut().filter(|l| l.is_parallel());
        parallel.for_each(|l| l.kind = LoopKind::Serial);
        self
    }
}
