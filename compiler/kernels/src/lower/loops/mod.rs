//! Plans to loops.
//!
//! The result is scheduled TIR without blocks: lanes are loops of kind `vectorized`, and what is side by side is written
//! out.

mod limit;
mod margins;
mod moved;
mod nest;
mod quotients;
mod regions;
mod rows;
mod staging;
mod tile;
mod together;

use crate::{
    error::Reason,
    plan::{self, Flops, PartPlan, Plan, Written},
    rules::{self, Choice, Packing},
    stage::{Kernel, Part, Used, is_stage},
};
use hammock_ir::{
    Attrs,
    tir::{Buffer, PrimFunc, Stmt, StmtKind, empty_reductions::hoist_inits},
};
use std::borrow::Cow;

/// Where plans come from: one is given, or rules choose.
#[derive(Clone, Copy)]
pub struct Planner<'a> {
    /// What rules choose from.
    pub choice: Choice<'a>,
    /// The plan that is given.
    pub written: Option<&'a Written>,
}

impl Planner<'_> {
    fn plan(&self, kernel: &Kernel) -> Result<Plan, Reason> {
        match self.written {
            Some(written) => plan::bind(written, kernel, self.choice).map_err(Reason::Plan),
            None => Ok(rules::choose(kernel, self.choice)),
        }
    }
}

/// Chooses and writes the loops of every stage in a body of block TIR with 64-bit indices.
///
/// # Errors
/// When the plan that is given cannot be used.
pub fn schedule(func: &PrimFunc, body: &mut Stmt, planner: Planner) -> Result<(), Reason> {
    let (mut result, mut made) = (Ok(()), Vec::new());
    each_sequence(body, &mut made, &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, planner.choice.target.masks);
        match planner.plan(&kernel) {
            Ok(plan) => *stmts = apply(kernel, &plan, planner.choice),
            Err(reason) => result = Err(reason),
        }
    });
    let made = made.into_iter().map(|buffer| Stmt::new(StmtKind::Alloc(buffer, Attrs::new())));
    *body = Stmt::seq(made.chain([std::mem::replace(body, Stmt::nop())]));
    result
}

/// Adds what starts reductions that may be empty, but for stages: their plans have it.
pub fn start_reductions(body: &mut Stmt) {
    // Stages are read from loops that the steps between have widened.
    let is_planned = |stmt: &Stmt| {
        let mut wide = stmt.clone();
        super::widen::widen(&mut wide);
        is_stage(&wide)
    };
    let start = |stmt: Stmt| match hoist_inits(&stmt) {
        Cow::Owned(hoist_inits) if !is_planned(&stmt) => hoist_inits,
        _ => stmt,
    };
    match &mut body.kind {
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => start_reductions(&mut block.body),
        StmtKind::Seq(stmts) => *stmts = std::mem::take(stmts).into_iter().map(start).collect(),
        _ => *body = start(std::mem::replace(body, Stmt::nop())),
    }
}

/// The plan of a body, as text.
///
/// # Errors
/// As [`schedule`].
pub fn plan_text(func: &PrimFunc, mut body: Stmt, planner: Planner) -> Result<String, Reason> {
    let mut result = Ok(String::new());
    each_sequence(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, planner.choice.target.masks);
        result = planner.plan(&kernel).map(|plan| plan.text(&kernel, planner.choice.target).to_string());
    });
    result
}

/// The plan of a body, and those near it.
///
/// # Errors
/// As [`schedule`].
pub fn neighbours(func: &PrimFunc, mut body: Stmt, planner: Planner) -> Result<Neighbours, Reason> {
    let mut result = Ok(Neighbours::default());
    each_sequence(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, planner.choice.target.masks);
        let near = |plan: Plan| Near {
            text: plan.numbered(&kernel).to_string(),
            cycles: plan::cost(&plan, &kernel, planner.choice.target),
        };
        result = planner.plan(&kernel).map(|plan| {
            let others = plan::neighbours(&plan, &kernel, planner.choice).into_iter().map(near).collect();
            Neighbours { own: near(plan), others }
        });
    });
    result
}

/// A plan and those near it.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    /// The plan.
    pub own: Near,
    /// Those near it.
    pub others: Vec<Near>,
}

/// A plan with what is expected of it.
#[derive(Clone, Debug, Default)]
pub struct Near {
    /// The plan as text, in which axes and buffers are called by their numbers.
    pub text: String,
    /// About how many cycles it takes on one thread.
    pub cycles: f64,
}

/// What is worth packing before a body runs, if it reads it nowhere else.
pub fn packings(func: &PrimFunc, mut body: Stmt, choice: Choice) -> Vec<Packing> {
    let mut found = Vec::new();
    each_sequence(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, choice.target.masks);
        found.extend(rules::packings(&kernel, choice));
    });
    found
}

/// The floating-point operations of a body.
pub fn flops(func: &PrimFunc, mut body: Stmt) -> Option<Flops> {
    let mut found = None;
    each_sequence(&mut body, &mut Vec::new(), &mut |stmts, own| {
        found = Flops::of(func, &Kernel::read(func, std::mem::take(stmts), own, false));
    });
    found
}

/// The statements of a kernel with the loops of a plan.
fn apply(kernel: Kernel, plan: &Plan, choice: Choice) -> Vec<Stmt> {
    let parts = kernel.parts.into_iter().zip(&plan.parts);
    parts
        .map(|(part, plan)| match (part, plan) {
            (Part::Stage(stage), PartPlan::Stage(plan)) => nest::loops(&stage, plan, choice),
            (Part::Rows(rows), PartPlan::Rows(plan)) => rows::loops(&rows, plan, choice),
            (Part::Other(other), PartPlan::AsWritten(Some((loops, grain)))) => {
                regions::spread(other.stmt, *loops, *grain)
            }
            (Part::Other(other), _) => other.stmt,
            _ => unreachable!("a plan has the parts of its kernel"),
        })
        .collect()
}

/// Calls `f` on the statements directly in the function's root block, or in its body, and the buffers of that block, to
/// which it may add. Those that are not used afterwards are removed.
fn each_sequence(body: &mut Stmt, own: &mut Vec<Buffer>, f: &mut dyn FnMut(&mut Vec<Stmt>, &mut Vec<Buffer>)) {
    match &mut body.kind {
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => {
            let outer = own.len();
            own.append(&mut block.alloc_buffers);
            each_sequence(&mut block.body, own, f);
            block.alloc_buffers = own.split_off(outer);
            let used = Used::by_stmt(&block.body);
            block.alloc_buffers.retain(|buffer| used.has(buffer));
        }
        StmtKind::Seq(stmts) => f(stmts, own),
        _ => {
            let mut stmts = vec![std::mem::replace(body, Stmt::nop())];
            f(&mut stmts, own);
            *body = Stmt::seq(stmts);
        }
    }
}

#[cfg(test)]
mod tests;
