//! Placement of statements: on the host, or in device regions.
//!
//! The host computes sizes, runs branches and loops around launches, and checks what depends on sizes alone. Every other
//! statement, with all inside it, is a device region. A value that is read from memory is not known to the host, so the
//! statements in its scope are in one region with it.

use super::{opaque, private_memory::Workspaces};
use crate::{
    Reason,
    lower::gpu::{
        host_code::{has_thread_loops, is_host_value},
        region::{device_region, region_body},
    },
};
use hammock_ir::{
    prim::Var,
    tir::{Buffer, ForKind, PrimFunc, Stmt, StmtKind},
};
use hammock_loopnest::OpaqueStmts;
use rustc_hash::FxHashSet;

/// Places the statements of a kernel.
pub struct Placer {
    /// True if parameters do not alias.
    noalias: bool,
    workspaces: Workspaces,
    /// Buffers that the program's own loops over threads store to.
    threaded: FxHashSet<Var>,
}

impl Placer {
    /// Starts with no workspaces. `noalias`: true if parameters do not alias.
    pub fn new(noalias: bool) -> Placer {
        Placer { noalias, workspaces: Workspaces::default(), threaded: FxHashSet::default() }
    }

    /// Places a part of a kernel, whose outermost `loops` loops are parallel if they are on the device.
    ///
    /// # Errors
    /// When memory of threads cannot be allocated, or the host needs a value that the device computes.
    pub fn part(&mut self, stmt: Stmt, loops: usize) -> Result<Stmt, Reason> {
        if loops > 0 && !has_thread_loops(&stmt) { self.region(stmt, loops) } else { self.stmt(stmt) }
    }

    /// Returns the allocations that regions need, and the buffers that the program's own loops over threads store to.
    pub fn finish(self) -> (Vec<Stmt>, FxHashSet<Var>) {
        (self.workspaces.allocations(), self.threaded)
    }

    fn stmt(&mut self, stmt: Stmt) -> Result<Stmt, Reason> {
        let span = stmt.span;
        let kind = match stmt.kind {
            StmtKind::Seq(ref stmts) if stmts.len() > 1 && is_unknown(&stmts[0]) => return self.automatic_region(stmt),
            StmtKind::Seq(stmts) => {
                let placed = group_dependent(stmts).into_iter().map(|stmt| self.stmt(stmt));
                StmtKind::Seq(placed.collect::<Result<_, _>>()?)
            }
            StmtKind::For(ref l) if matches!(l.kind, ForKind::ThreadBinding(_)) => {
                stmt.walk(&mut |stmt| {
                    if let StmtKind::Store { buffer, .. } = &stmt.kind {
                        self.threaded.insert(buffer.data.clone());
                    }
                });
                return Ok(device_region(stmt));
            }
            StmtKind::Attr { node, key, value, body } if has_thread_loops(&body) => {
                StmtKind::Attr { node, key, value, body: Box::new(self.stmt(*body)?) }
            }
            StmtKind::Block(mut block)
                if block.axes.is_empty() && block.init.is_none() && has_thread_loops(&block.body) =>
            {
                block.body = self.stmt(block.body)?;
                StmtKind::Block(block)
            }
            StmtKind::For(mut l) if has_thread_loops(&l.body) => {
                l.kind = ForKind::Serial;
                l.body = self.stmt(l.body)?;
                StmtKind::For(l)
            }
            StmtKind::If(condition, then, otherwise) if is_host_value(&condition) => {
                let otherwise = otherwise.map(|stmt| self.stmt(*stmt).map(Box::new)).transpose()?;
                StmtKind::If(condition, Box::new(self.stmt(*then)?), otherwise)
            }
            _ if runs_on_host(&stmt) => return Ok(stmt),
            _ => return self.automatic_region(stmt),
        };
        Ok(Stmt { kind, span })
    }

    /// Returns a region of statements, whose outermost loops are parallel if they are independent.
    fn automatic_region(&mut self, stmt: Stmt) -> Result<Stmt, Reason> {
        let mut opaque = OpaqueStmts::new(stmt);
        if self.noalias {
            opaque.find_parallel_loops();
        }
        let loops = opaque.parallel_extents.len();
        self.region(opaque.stmt, loops)
    }

    fn region(&mut self, stmt: Stmt, loops: usize) -> Result<Stmt, Reason> {
        if has_thread_loops(&stmt) {
            let what = "a value read from memory, on which loops over threads depend,".to_owned();
            return Err(Reason::HostOnly { what, help: "read it inside of these loops" });
        }
        opaque::region(stmt, loops, &mut self.workspaces)
    }
}

/// Returns true if the host runs a statement itself.
fn runs_on_host(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Alloc(..) | StmtKind::Decl(_) => true,
        StmtKind::Bind(var, value) => !var.dtype().is_floating() && is_host_value(value),
        StmtKind::Evaluate(e) | StmtKind::Assert(e, ..) | StmtKind::Return(e) => is_host_value(e),
        _ => false,
    }
}

/// Groups statements that follow a value unknown to the host, or a branch that may return, with it into one.
pub fn group_dependent(mut stmts: Vec<Stmt>) -> Vec<Stmt> {
    if let Some(first) = stmts.iter().position(is_unknown)
        && first + 1 < stmts.len()
    {
        let rest = stmts.split_off(first);
        stmts.push(Stmt::new(StmtKind::Seq(rest)));
    }
    stmts
}

/// Returns true if what follows a statement is in one region with it.
fn is_unknown(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Bind(..) => !runs_on_host(stmt),
        _ => returns_from_device(stmt),
    }
}

/// Returns true if a statement in a device region may return from the function.
fn returns_from_device(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) => false,
        StmtKind::If(condition, then, otherwise) if is_host_value(condition) => {
            returns_from_device(then) || otherwise.iter().any(|stmt| returns_from_device(stmt))
        }
        StmtKind::Seq(stmts) => stmts.iter().any(returns_from_device),
        _ => {
            let mut found = false;
            stmt.walk(&mut |stmt| found |= matches!(stmt.kind, StmtKind::Return(_)));
            found && !has_thread_loops(stmt)
        }
    }
}

/// Turns declarations of buffers without memory into allocations.
pub fn allocate_declared(func: &PrimFunc, body: &mut Stmt) {
    let mut known: FxHashSet<Var> = func.buffers().map(|buffer| buffer.data.clone()).collect();
    known.extend(func.params.iter().map(|param| param.var.clone()));
    allocate_unknown(body, &mut known);
}

fn allocate_unknown(stmt: &mut Stmt, known: &mut FxHashSet<Var>) {
    match &mut stmt.kind {
        StmtKind::Alloc(buffer, _) => drop(known.insert(buffer.data.clone())),
        StmtKind::Bind(var, _) => drop(known.insert(var.clone())),
        StmtKind::Block(block) => {
            known.extend(block.alloc_buffers.iter().map(|buffer| buffer.data.clone()));
            known.extend(block.match_buffers.iter().map(|matched| matched.buffer.data.clone()));
        }
        StmtKind::Decl(buffer) if !known.contains(&buffer.data) => {
            known.insert(buffer.data.clone());
            stmt.kind = StmtKind::Alloc(buffer.clone(), Default::default());
        }
        _ => {}
    }
    stmt.each_child_mut(&mut |stmt| allocate_unknown(stmt, known));
}

/// Puts buffers that are allocated on the host in another scope into global memory, where regions share them. The
/// `threaded` ones belong to the program's own loops over threads.
pub fn globalize(stmts: &mut [Stmt], own: &mut [Buffer], threaded: &FxHashSet<Var>) {
    own.iter_mut().for_each(|buffer| globalize_buffer(buffer, threaded));
    stmts.iter_mut().for_each(|stmt| globalize_stmt(stmt, threaded));
}

fn globalize_buffer(buffer: &mut Buffer, threaded: &FxHashSet<Var>) {
    if *buffer.scope != *"global" && !threaded.contains(&buffer.data) {
        *buffer = buffer.change(|b| b.scope = "global".into());
    }
}

fn globalize_stmt(stmt: &mut Stmt, threaded: &FxHashSet<Var>) {
    if region_body(stmt).is_some() {
        return;
    }
    if let StmtKind::Alloc(buffer, _) = &mut stmt.kind {
        globalize_buffer(buffer, threaded);
    }
    stmt.each_child_mut(&mut |stmt| globalize_stmt(stmt, threaded));
}
