//! Parallel loops around opaque statements.
//!
//! Sorting, searching, scanning and scattering along lines have independent iterations: an axis of the block appears
//! alone as an index in every access to what the block writes, so no two iterations touch the same element.

use crate::{
    index::{Simplifier, same_expr},
    raise::BlockNest,
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Block, Buffer, Stmt, StmtKind},
};

/// Statements that are no stage.
pub struct OpaqueStmts {
    /// The statements.
    pub stmt: Stmt,
    /// Extents of the enclosing loops whose iterations are independent, outermost first.
    pub parallel_extents: Vec<PrimExpr>,
}

impl OpaqueStmts {
    /// Statements without parallel loops.
    pub fn new(stmt: Stmt) -> OpaqueStmts {
        OpaqueStmts { stmt, parallel_extents: Vec::new() }
    }

    /// Finds the loops whose iterations are independent, provided that parameters do not alias.
    pub fn find_parallel_loops(&mut self) {
        let Some(nest) = BlockNest::of(&self.stmt) else { return };
        let Some(accesses) = Accesses::of(nest.block) else { return };
        let is_independent = |var: &Var| accesses.written.iter().all(|buffer| accesses.is_partitioned_by(buffer, var));
        let independent = nest.axes.iter().take_while(|axis| !axis.reduce && is_independent(&axis.var));
        self.parallel_extents = independent.map(|axis| axis.extent.clone()).collect();
    }
}

/// Accesses of a block.
struct Accesses {
    /// Buffers that it writes to, except its own allocations.
    written: Vec<Buffer>,
    all: Vec<(Buffer, Vec<PrimExpr>)>,
}

impl Accesses {
    /// Collects the accesses of a block; `None` if there may be unknown ones, or the order of iterations matters for
    /// another reason.
    fn of(block: &Block) -> Option<Accesses> {
        let (mut own, mut written, mut all): (Vec<Var>, Vec<Buffer>, _) = (Vec::new(), Vec::new(), Vec::new());
        let mut known = block.init.is_none();
        block.body.walk(&mut |stmt| {
            match &stmt.kind {
                StmtKind::Alloc(buffer, _) => own.push(buffer.data.clone()),
                StmtKind::Store { buffer, indices, .. } => {
                    written.push(buffer.clone());
                    all.push((buffer.clone(), indices.clone()));
                }
                StmtKind::Decl(_) | StmtKind::Return(_) | StmtKind::Block(_) | StmtKind::Attr { .. } => known = false,
                _ => {}
            }
            stmt.each_expr(&mut |e| {
                e.walk(&mut |e| match e.kind() {
                    PrimKind::Load(buffer, indices, _) => all.push((buffer.clone(), indices.clone())),
                    PrimKind::Var(var) => known &= !var.dtype().is_handle(),
                    PrimKind::Call(call) => known &= !call.runs_function(),
                    _ => {}
                });
            });
        });
        written.retain(|buffer| !own.contains(&buffer.data));
        known.then_some(Accesses { written, all })
    }

    /// Returns true if every access to a buffer's memory has the axis alone as the index of the same dimension.
    fn is_partitioned_by(&self, buffer: &Buffer, axis: &Var) -> bool {
        let touched: Vec<_> = self.all.iter().filter(|(other, _)| other.data == buffer.data).collect();
        let is_own = |e: &PrimExpr| same_expr(&Simplifier::default().index(e), &axis.expr());
        let dims = 0..buffer.ndim();
        buffer.strides.is_empty()
            && touched.iter().all(|(other, indices)| other == buffer && indices.len() == buffer.ndim())
            && dims.into_iter().any(|dim| touched.iter().all(|(_, indices)| is_own(&indices[dim])))
    }
}
