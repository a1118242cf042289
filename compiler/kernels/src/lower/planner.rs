//! Kernels within a function, and the plans that are chosen for them.
//!
//! Nothing here depends on how a plan becomes loops: lowering for a kind of machine asks for plans, as do the printer
//! of plans and the autotuner.

use crate::{
    error::Reason,
    schedule::{self, Flops, ParsedPlan, Plan, ScheduleContext, cpu},
};
use hammock_ir::{
    Attrs,
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};
use hammock_loopnest::{Footprint, Kernel, Machine, PackedLayout};

/// Source of plans: a given plan, or the rules.
#[derive(Clone, Copy)]
pub struct Planner<'a> {
    /// Context in which rules choose.
    pub choice: ScheduleContext<'a>,
    /// Given plan.
    pub written: Option<&'a ParsedPlan>,
}

impl Planner<'_> {
    /// Returns the plan of a kernel.
    ///
    /// # Errors
    /// When the given plan cannot be used.
    pub fn plan(&self, kernel: &Kernel) -> Result<Plan, Reason> {
        match self.written {
            Some(written) => schedule::bind(written, kernel, self.choice).map_err(Reason::Plan),
            None => Ok(self.choice.choose(kernel)),
        }
    }
}

/// Raises a body of block TIR to stages, runs the first `count` transforms, and turns the stages back into blocks.
pub fn raise_stages(func: &PrimFunc, body: &mut Stmt, machine: Machine, count: usize) {
    let mut made = Vec::new();
    for_each_kernel(body, &mut made, &mut |stmts, own| {
        let kernel = Kernel::read_until(func, std::mem::take(stmts), own, machine, count);
        let known: Vec<Buffer> = func.buffers().chain(own.iter()).cloned().collect();
        *stmts = kernel.into_stmts(&known);
    });
    allocate(made, body);
}

/// Returns the plan of a body as text.
///
/// # Errors
/// As [`Planner::plan`].
pub fn plan_text(func: &PrimFunc, mut body: Stmt, planner: Planner) -> Result<String, Reason> {
    let mut result = Ok(String::new());
    for_each_kernel(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, planner.choice.machine());
        result = planner.plan(&kernel).map(|plan| plan.text(&kernel, planner.choice).to_string());
    });
    result
}

/// Returns the plan of a body and its search space.
///
/// # Errors
/// As [`Planner::plan`].
pub fn search_space(func: &PrimFunc, mut body: Stmt, planner: Planner) -> Result<SearchSpace, Reason> {
    let mut result = Ok(SearchSpace::default());
    for_each_kernel(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, planner.choice.machine());
        let near = |plan: Plan| Candidate {
            text: plan.numbered(&kernel).to_string(),
            cycles: schedule::cost(&plan, &kernel, planner.choice.target),
        };
        result = planner.plan(&kernel).map(|plan| {
            // Plans for GPUs are not tuned.
            let others = match planner.choice.gpu {
                Some(_) => Vec::new(),
                None => schedule::candidates(&plan, &kernel, planner.choice).into_iter().map(near).collect(),
            };
            SearchSpace { own: near(plan), others }
        });
    });
    result
}

/// A plan and the candidates that autotuning tries instead.
#[derive(Clone, Debug, Default)]
pub struct SearchSpace {
    /// Plan that the rules or the user chose.
    pub own: Candidate,
    /// Candidates.
    pub others: Vec<Candidate>,
}

/// A plan with its predicted cost.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// Plan as text, with axes and buffers named by number.
    pub text: String,
    /// Predicted cycles on one thread.
    pub cycles: f64,
}

/// Returns the operands that are worth packing before a body runs, provided that nothing else reads them.
pub fn packings(func: &PrimFunc, mut body: Stmt, choice: ScheduleContext) -> Vec<(Buffer, PackedLayout)> {
    let mut found = Vec::new();
    if choice.gpu.is_some() {
        return found;
    }
    for_each_kernel(&mut body, &mut Vec::new(), &mut |stmts, own| {
        let kernel = Kernel::read(func, std::mem::take(stmts), own, choice.machine());
        found.extend(cpu::packings(&kernel, choice));
    });
    found
}

/// Counts the floating-point operations of a body.
pub fn flops(func: &PrimFunc, mut body: Stmt) -> Option<Flops> {
    let mut found = None;
    for_each_kernel(&mut body, &mut Vec::new(), &mut |stmts, own| {
        found = Flops::of(func, &Kernel::read(func, std::mem::take(stmts), own, Machine::Cpu { masks: false }));
    });
    found
}

/// Calls `f` on the statements of the function's root block, or of its body, and on the buffers of that block, to which
/// it may add. Removes buffers that are unused afterwards.
pub fn for_each_kernel(body: &mut Stmt, own: &mut Vec<Buffer>, f: &mut dyn FnMut(&mut Vec<Stmt>, &mut Vec<Buffer>)) {
    match &mut body.kind {
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => {
            let outer = own.len();
            own.append(&mut block.alloc_buffers);
            for_each_kernel(&mut block.body, own, f);
            block.alloc_buffers = own.split_off(outer);
            let used = Footprint::of_stmt(&block.body);
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

/// Allocates buffers before a body.
pub fn allocate(buffers: Vec<Buffer>, body: &mut Stmt) {
    let allocations = buffers.into_iter().map(|buffer| Stmt::new(StmtKind::Alloc(buffer, Attrs::new())));
    *body = Stmt::seq(allocations.chain([std::mem::replace(body, Stmt::nop())]));
}
