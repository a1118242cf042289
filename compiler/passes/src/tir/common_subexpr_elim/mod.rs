//! CommonSubexprElim: eliminates common subexpressions in kernels.
//!
//! The variable is declared before the first statement that uses it, or before the loop or branch around that, as far
//! inside as all uses allow. Only arithmetic is considered: loads and calls stay, and so do conditions, and
//! expressions that repeat only as a part of another common subexpression. A division that may be by zero is not
//! moved to where it was not computed before.

mod table;

use super::{each_kernel, has_no_blocks, take};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;
use table::Table;

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "tirx.CommonSubexprElim", doc: "Eliminates common subexpressions in kernels", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |name, kernel| {
        has_no_blocks(&PASS, name, kernel)?;
        let table = Table::of(&kernel.body);
        let planned = table.planned();
        if planned.is_empty() {
            return Ok(());
        }
        let mut rewriter =
            Rewriter { table, vars: FxHashMap::default(), before: <_>::default(), buffers: <_>::default(), seen: 0 };
        for (i, (class, stmt)) in planned.into_iter().enumerate() {
            let value = rewriter.table.value(class).map_children(&mut |child| rewriter.expr(child));
            let var = Var::of_value(format!("cse_v{}", i + 1), &value);
            rewriter.vars.insert(class, var.clone());
            rewriter.before.entry(stmt).or_default().push(Stmt::new(StmtKind::Bind(var, value)));
        }
        let body = take(&mut kernel.body);
        kernel.body = as_one(rewriter.stmt(body));
        Ok(())
    })
}

/// Inserts variables.
struct Rewriter {
    table: Table,
    /// Variables of classes of equal expressions.
    vars: FxHashMap<usize, Var>,
    /// Declarations before statements, by index.
    before: FxHashMap<usize, Vec<Stmt>>,
    /// Buffers whose sizes have changed.
    buffers: FxHashMap<Buffer, Buffer>,
    /// Number of statements so far.
    seen: usize,
}

impl Rewriter {
    /// Returns a statement preceded by its declarations.
    fn stmt(&mut self, mut stmt: Stmt) -> Vec<Stmt> {
        let mut all = self.before.remove(&self.seen).unwrap_or_default();
        self.seen += 1;
        if let StmtKind::Seq(stmts) = stmt.kind {
            let stmts = stmts.into_iter().flat_map(|stmt| self.stmt(stmt)).collect();
            all.push(Stmt::new(StmtKind::Seq(stmts)).at(stmt.span));
            return all;
        }
        match &mut stmt.kind {
            StmtKind::Alloc(buffer, _) | StmtKind::Decl(buffer) => *buffer = self.declare(buffer),
            StmtKind::Store { buffer, .. } => {
                if let Some(new) = self.buffers.get(buffer) {
                    *buffer = new.clone();
                }
            }
            _ => {}
        }
        let mut children = Vec::new();
        stmt.each_child_mut(&mut |child| children.push(take(child)));
        stmt.map_exprs(&mut |e| self.expr(e));
        let mut children = children.into_iter();
        stmt.each_child_mut(&mut |slot| {
            if let Some(child) = children.next() {
                *slot = as_one(self.stmt(child));
            }
        });
        all.push(stmt);
        all
    }

    fn declare(&mut self, buffer: &Buffer) -> Buffer {
        let all = |exprs: &[PrimExpr]| exprs.iter().map(|e| self.expr(e)).collect::<Vec<_>>();
        let (shape, strides, offset) = (all(&buffer.shape), all(&buffer.strides), all(buffer.elem_offset.as_slice()));
        let mut parts = shape.iter().chain(&strides).chain(&offset);
        let mut same = true;
        buffer.each_expr(&mut |old| same &= parts.next().is_some_and(|new| new.same_node(old)));
        if same {
            return buffer.clone();
        }
        let new = buffer.change(|b| (b.shape, b.strides, b.elem_offset) = (shape, strides, offset.into_iter().next()));
        self.buffers.insert(buffer.clone(), new.clone());
        new
    }

    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        if let Some(var) = self.table.class(e).and_then(|class| self.vars.get(&class)) {
            return var.expr();
        }
        if let PrimKind::Let(var, value, body) = e.kind() {
            // uses in the body do not count, so variables may be declared after them
            return PrimExpr::bind(var.clone(), self.expr(value), self.in_let(body));
        }
        self.with_buffers(e.map_children(&mut |child| self.expr(child)))
    }

    fn in_let(&self, e: &PrimExpr) -> PrimExpr {
        self.with_buffers(e.map_children(&mut |child| self.in_let(child)))
    }

    fn with_buffers(&self, e: PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) => match self.buffers.get(buffer) {
                Some(new) => PrimExpr::load_masked(new, indices.clone(), mask.clone()),
                None => e,
            },
            _ => e,
        }
    }
}

fn as_one(mut stmts: Vec<Stmt>) -> Stmt {
    match stmts.len() {
        1 => stmts.remove(0),
        _ => {
            let flat = stmts.into_iter().flat_map(|stmt| match stmt.kind {
                StmtKind::Seq(stmts) => stmts,
                _ => vec![stmt],
            });
            Stmt::new(StmtKind::Seq(flat.collect()))
        }
    }
}
