//! Plans to loops.
//!
//! The result is scheduled TIR without blocks: lanes are loops of kind `vectorized`, and what is side by side is written
//! out.

mod nest;
mod quotients;
mod rows;
mod staging;
mod tile;

use crate::{
    Target,
    plan::{PartPlan, Plan},
    rules::{self, Choice},
    stage::{Kernel, Part, stmt_mentions},
};
use hammock_ir::tir::{Buffer, PrimFunc, Stmt, StmtKind};

/// Chooses and writes the loops of every stage in a body of block TIR with 64-bit indices.
pub fn schedule(func: &PrimFunc, body: &mut Stmt, choice: Choice) {
    each_sequence(body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own);
        let plan = rules::choose(&kernel, choice);
        *stmts = apply(kernel, &plan, choice.target);
    });
}

/// The plans of a body, as text.
pub fn plan_text(func: &PrimFunc, mut body: Stmt, choice: Choice) -> String {
    let mut text = String::new();
    each_sequence(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own);
        text += &rules::choose(&kernel, choice).text(&kernel).to_string();
    });
    text
}

/// What is worth copying before a body runs, if it reads it nowhere else: buffers with the dimension that is copied in
/// blocks of so many elements.
pub fn packed(func: &PrimFunc, mut body: Stmt, choice: Choice) -> Vec<(Buffer, usize, i64)> {
    let mut found = Vec::new();
    each_sequence(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own);
        found.extend(rules::packed(&kernel, choice));
    });
    found
}

/// The statements of a kernel with the loops of a plan.
fn apply(kernel: Kernel, plan: &Plan, target: &Target) -> Vec<Stmt> {
    let parts = kernel.parts.into_iter().zip(&plan.parts);
    parts
        .map(|(part, plan)| match (part, plan) {
            (Part::Stage(stage), PartPlan::Stage(plan)) => nest::loops(&stage, plan, target),
            (Part::Rows(rows), PartPlan::Rows(plan)) => rows::loops(&rows, plan, target),
            (Part::Other(stmt), _) => stmt,
            _ => unreachable!("a plan has the parts of its kernel"),
        })
        .collect()
}

/// Calls `f` on the statements directly in the function's root block, or in its body, and the buffers of that block. Those
/// that are not used afterwards are removed.
fn each_sequence(body: &mut Stmt, own: &mut Vec<Buffer>, f: &mut dyn FnMut(&mut Vec<Stmt>, &[Buffer])) {
    match &mut body.kind {
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => {
            own.extend(block.alloc_buffers.iter().cloned());
            each_sequence(&mut block.body, own, f);
            block.alloc_buffers.retain(|buffer| stmt_mentions(&block.body, buffer));
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
