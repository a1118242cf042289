//! Loops around statements that are no stage, whose iterations have nothing to do with each other.
//!
//! Lines that are sorted, searched, summed up step by step or scattered to are such iterations: an axis of the block stands
//! alone as an index wherever it touches what it writes, so no two iterations touch the same.

use crate::index::{Simplifier, same_expr};
use hammock_ir::{
    PrimExpr,
    prim::{IterKind, PrimKind, Var},
    tir::{Block, Buffer, Stmt, StmtKind, stage::Nest},
};

/// Statements that are no stage.
pub struct Other {
    /// The statements.
    pub stmt: Stmt,
    /// How many iterations the loops around them have that may run in any order, outermost first.
    pub apart: Vec<PrimExpr>,
}

impl Other {
    /// Statements of which nothing more is known.
    pub fn new(stmt: Stmt) -> Other {
        Other { stmt, apart: Vec::new() }
    }

    /// Finds the loops whose iterations are apart, where parameters share no memory.
    pub fn look(&mut self) {
        let Some(nest) = Nest::of(&self.stmt, |e| Simplifier::default().index(e)) else { return };
        let Some(accesses) = Accesses::of(nest.block) else { return };
        let is_apart = |var: &Var| accesses.written.iter().all(|buffer| accesses.has_own(buffer, var));
        let apart = nest.axes.iter().take_while(|(axis, _)| axis.kind == IterKind::Spatial && is_apart(&axis.var));
        self.apart = apart.map(|(_, extent)| extent.clone()).collect();
    }
}

/// Which elements a block touches.
struct Accesses {
    /// Buffers that it writes to, but for those that it makes.
    written: Vec<Buffer>,
    all: Vec<(Buffer, Vec<PrimExpr>)>,
}

impl Accesses {
    /// Those of a block; `None` if there may be others, or if the order of iterations matters for another reason.
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

    /// Returns true if all that is touched of a buffer's memory is in the axis's own part of one of its dimensions.
    fn has_own(&self, buffer: &Buffer, axis: &Var) -> bool {
        let touched: Vec<_> = self.all.iter().filter(|(other, _)| other.data == buffer.data).collect();
        let is_own = |e: &PrimExpr| same_expr(&Simplifier::default().index(e), &axis.expr());
        let dims = 0..buffer.ndim();
        buffer.strides.is_empty()
            && touched.iter().all(|(other, indices)| other == buffer && indices.len() == buffer.ndim())
            && dims.into_iter().any(|dim| touched.iter().all(|(_, indices)| is_own(&indices[dim])))
    }
}
