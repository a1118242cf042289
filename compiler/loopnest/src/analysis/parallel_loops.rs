//! Parallel loops around opaque statements.
//!
//! Sorting, searching, scanning and scattering along lines have independent iterations: an axis of the block appears
//! alone as an index in every access to what the block writes, so no two iterations touch the same element. So have
//! iterations that compute a vector each: the index is `axis * n + lane` with `lane` between 0 and `n`.

use crate::{index::Simplifier, raise::BlockNest};
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
    /// Knows the ranges of the variables of loops inside the block.
    simplifier: Simplifier,
}

impl Accesses {
    /// Collects the accesses of a block; `None` if there may be unknown ones, or the order of iterations matters for
    /// another reason.
    fn of(block: &Block) -> Option<Accesses> {
        let (mut own, mut written, mut all): (Vec<Var>, Vec<Buffer>, _) = (Vec::new(), Vec::new(), Vec::new());
        let mut known = block.init.is_none();
        let mut simplifier = Simplifier::default();
        block.body.walk(&mut |stmt| {
            match &stmt.kind {
                StmtKind::Alloc(buffer, _) => own.push(buffer.data.clone()),
                StmtKind::Store { buffer, indices, .. } => {
                    written.push(buffer.clone());
                    all.push((buffer.clone(), indices.clone()));
                }
                StmtKind::For(l) => simplifier.learn(&l.var, &l.min, &l.extent),
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
        known.then_some(Accesses { written, all, simplifier })
    }

    /// Returns true if every access to a buffer's memory has an index of the same dimension in a range that belongs to
    /// one position along the axis.
    fn is_partitioned_by(&self, buffer: &Buffer, axis: &Var) -> bool {
        let touched: Vec<_> = self.all.iter().filter(|(other, _)| other.data == buffer.data).collect();
        let is_partitioned = |dim: usize| {
            let mut lengths = touched.iter().map(|(_, indices)| self.range_length(&indices[dim], axis));
            lengths.next().flatten().is_some_and(|length| lengths.all(|other| other == Some(length)))
        };
        buffer.strides.is_empty()
            && touched.iter().all(|(other, indices)| other == buffer && indices.len() == buffer.ndim())
            && (0..buffer.ndim()).any(is_partitioned)
    }

    /// Returns `n` of an index `axis * n + rest` with `rest` between 0 and `n`.
    fn range_length(&self, index: &PrimExpr, axis: &Var) -> Option<i64> {
        let (length, rest) = Simplifier::default().poly(index).linear_in(&axis.expr())?;
        let length = length.as_constant().filter(|length| *length > 0)?;
        let rest = rest.to_expr();
        let is_inside = rest.clone().ge(0i64).and(rest.lt(PrimExpr::int64(length)));
        (self.simplifier.truth(&is_inside) == Some(true)).then_some(length)
    }
}
