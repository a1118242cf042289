//! Schedules as data: what a kernel computes, and the loops that compute it.
//!
//! [`recover`] reads the blocks of a function back into a [`Kernel`] of [`Stage`]s: axes, one store, a combiner's
//! initial value. A [`Plan`] says for each stage how its axes become loops. [`rules::choose`] makes one from axes and
//! access patterns alone, never from names; [`schedule::apply`] writes the loops. Nothing is rewritten step by step, so
//! no plan can change what is computed, only the order: an accumulator is a register instead of memory, and each
//! element of a reduction is still combined in the order of the reduce axes.
//!
//! Stages are [merged](merge) where nothing needs to be stored between them, and [share rows](rows) where each needs only
//! its row of what others computed.
//!
//! What is not a stage (several stores, branches, loops that the author has already scheduled) is left as it is.

mod merge;
mod recover;
mod rows;
mod rules;
mod schedule;

use crate::Target;
use hammock_ir::{
    PrimExpr,
    prim::Var,
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};
use rows::Rows;
use std::fmt;

/// What a function computes, part by part, in order.
pub struct Kernel {
    /// The parts.
    pub parts: Vec<Part>,
}

/// A part of a kernel.
pub enum Part {
    /// A computation whose loops may be chosen.
    Stage(Stage),
    /// Several that run for a few rows at a time.
    Rows(Rows),
    /// Anything else, as written.
    Other(Stmt),
}

/// One store over a domain.
#[derive(Clone)]
pub struct Stage {
    /// The block's name.
    pub name: String,
    /// Axes, in the order in which reductions combine.
    pub axes: Vec<Axis>,
    /// Where the result goes.
    pub buffer: Buffer,
    /// At which indices, over the spatial axes.
    pub indices: Vec<PrimExpr>,
    /// What is stored. A reduction reads the buffer at the same indices.
    pub value: PrimExpr,
    /// What a reduction starts from; `None` to start from what the buffer holds.
    pub init: Option<PrimExpr>,
    /// What is stored in place of the results of a reduction.
    pub epilogue: Option<Epilogue>,
}

/// What is done with each result of a reduction. Its buffer, the stage's, is in no memory then.
#[derive(Clone)]
pub struct Epilogue {
    /// Where the values go.
    pub buffer: Buffer,
    /// At which indices, over the spatial axes.
    pub indices: Vec<PrimExpr>,
    /// What is stored; a load of the stage's buffer is the result.
    pub value: PrimExpr,
}

/// An axis of a stage, from zero.
#[derive(Clone)]
pub struct Axis {
    /// Its variable.
    pub var: Var,
    /// The number of values.
    pub extent: PrimExpr,
    /// Whether values combine into one element.
    pub reduce: bool,
}

/// How the parts of a kernel become loops.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// One entry a part.
    pub parts: Vec<PartPlan>,
}

/// How a part becomes loops.
#[derive(Debug, PartialEq, Eq)]
pub enum PartPlan {
    /// It stays as it is.
    AsWritten,
    /// A stage.
    Stage(StagePlan),
    /// Stages that share rows.
    Rows(RowsPlan),
}

/// How stages that share rows become loops: over the rows, and inside over what each stage has besides.
#[derive(Debug, PartialEq, Eq)]
pub struct RowsPlan {
    /// The row axis that is spread over threads, and the fewest iterations that are worth one.
    pub parallel: Option<(usize, i64)>,
    /// How many rows run together, and the plans of the stages for so many: first for most rows, then for those left.
    pub tiles: Vec<(i64, Vec<StagePlan>)>,
}

/// How a stage's axes become loops. Spatial axes come in their order, then the reduce axes.
#[derive(Debug, PartialEq, Eq)]
pub struct StagePlan {
    /// The class that the rule was for.
    pub class: Class,
    /// The axis whose neighbours become lanes of a vector, and how many lanes.
    pub vector: Option<(usize, i64)>,
    /// The axis of which several values are computed side by side, and how many: they share what they load.
    pub rows: Option<(usize, i64)>,
    /// The axis that is spread over threads, and the fewest iterations that are worth one.
    pub parallel: Option<(usize, i64)>,
}

/// Classes of stages, told by axes and access patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Every element on its own.
    Elementwise,
    /// Each element combines many; the operands have no common structure.
    Reduction,
    /// A sum of products of an operand that is contiguous along the vector axis and one that does not change along it.
    Contraction,
}

impl Stage {
    /// The buffer that it writes to.
    pub fn target(&self) -> &Buffer {
        self.epilogue.as_ref().map_or(&self.buffer, |epilogue| &epilogue.buffer)
    }

    /// The expressions that it evaluates to values; not the indices at which it stores.
    fn values(&self) -> impl Iterator<Item = &PrimExpr> {
        self.init.iter().chain([&self.value]).chain(self.epilogue.iter().map(|epilogue| &epilogue.value))
    }
}

/// Chooses and writes the loops of every stage in a body of block TIR with 64-bit indices. Stages are merged when the
/// function says that its parameters share no memory.
pub fn schedule(func: &PrimFunc, body: &mut Stmt, target: &Target) {
    each_sequence(body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = kernel(func, std::mem::take(stmts), own);
        let plan = rules::choose(&kernel, target);
        *stmts = schedule::apply(kernel, &plan, target);
    });
}

fn kernel(func: &PrimFunc, stmts: Vec<Stmt>, own: &[Buffer]) -> Kernel {
    let mut kernel = recover::kernel(stmts);
    if func.is_noalias() {
        merge::merge(&mut kernel, own);
        rows::share(&mut kernel, own);
    }
    kernel
}

/// The plan for a function, to print.
pub fn choose(func: &PrimFunc, target: &Target) -> Plan {
    let mut body = func.body.clone();
    let mut plan = Plan { parts: Vec::new() };
    each_sequence(&mut body, &mut Vec::new(), &mut |stmts, own| {
        plan = rules::choose(&kernel(func, std::mem::take(stmts), own), target);
    });
    plan
}

/// Calls `f` on the statements directly in the function's root block, or in its body, and the buffers of that block. Those
/// that are not used afterwards are removed.
fn each_sequence(body: &mut Stmt, own: &mut Vec<Buffer>, f: &mut dyn FnMut(&mut Vec<Stmt>, &[Buffer])) {
    match &mut body.kind {
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => {
            own.extend(block.alloc_buffers.iter().cloned());
            each_sequence(&mut block.body, own, f);
            block.alloc_buffers.retain(|buffer| merge::stmt_mentions(&block.body, buffer));
        }
        StmtKind::Seq(stmts) => f(stmts, own),
        _ => {
            let mut stmts = vec![std::mem::replace(body, Stmt::nop())];
            f(&mut stmts, own);
            *body = Stmt::seq(stmts);
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            PartPlan::AsWritten => writeln!(f, "as written"),
            PartPlan::Stage(stage) => writeln!(f, "{stage}"),
            PartPlan::Rows(rows) => write!(f, "{rows}"),
        })
    }
}

impl fmt::Display for RowsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, stages) in &self.tiles {
            write!(f, "rows, {count} at a time")?;
            if let Some((axis, grain)) = self.parallel {
                write!(f, ", axis {axis} parallel by {grain}")?;
            }
            writeln!(f, ":")?;
            stages.iter().try_for_each(|stage| writeln!(f, "    {stage}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for StagePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.class)?;
        if let Some((axis, grain)) = self.parallel {
            write!(f, ", axis {axis} parallel by {grain}")?;
        }
        if let Some((axis, count)) = self.rows {
            write!(f, ", axis {axis} {count} at a time")?;
        }
        if let Some((axis, lanes)) = self.vector {
            write!(f, ", axis {axis} in vectors of {lanes}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
