//! Copies of statements with variables of their own.

use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Substitution},
    tir::{Buffer, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// A copy in which every variable and buffer declared inside is new and `values` are put in.
pub fn copy(stmt: &Stmt, values: Substitution) -> Stmt {
    let mut copier = Copier { values, buffers: FxHashMap::default() };
    let mut stmt = stmt.clone();
    copier.stmt(&mut stmt);
    stmt
}

struct Copier {
    values: Substitution,
    buffers: FxHashMap<Buffer, Buffer>,
}

impl Copier {
    fn stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::For(l) => {
                for e in [&mut l.min, &mut l.extent].into_iter().chain(&mut l.step) {
                    *e = self.expr(e);
                }
                let var = l.var.fresh();
                self.values.insert(l.var.clone(), var.expr());
                l.var = var;
            }
            StmtKind::Bind(var, value) => {
                *value = self.expr(value);
                let new = var.fresh();
                self.values.insert(var.clone(), new.expr());
                *var = new;
            }
            StmtKind::Alloc(buffer, _) => {
                let data = buffer.data.fresh();
                self.values.insert(buffer.data.clone(), data.expr());
                self.declare(buffer);
            }
            StmtKind::Decl(buffer) => self.declare(buffer),
            StmtKind::Store { buffer, indices, value, predicate } => {
                *buffer = self.buffer(buffer);
                for e in indices.iter_mut().chain([value]).chain(predicate) {
                    *e = self.expr(e);
                }
            }
            StmtKind::While(e, _) | StmtKind::If(e, ..) | StmtKind::Evaluate(e) | StmtKind::Return(e) => {
                *e = self.expr(e);
            }
            StmtKind::Assert(e, ..) | StmtKind::Attr { value: e, .. } => *e = self.expr(e),
            StmtKind::Seq(_) | StmtKind::Block(_) | StmtKind::Break | StmtKind::Continue => {}
        }
        stmt.each_child_mut(&mut |s| self.stmt(s));
    }

    fn declare(&mut self, buffer: &mut Buffer) {
        let data = self.values.get(&buffer.data).and_then(PrimExpr::as_var).unwrap_or(&buffer.data).clone();
        let shape = buffer.shape.iter().map(|e| e.substitute(&self.values)).collect();
        let new = buffer.change(|b| (b.data, b.shape) = (data, shape));
        self.buffers.insert(buffer.clone(), new.clone());
        *buffer = new;
    }

    fn buffer(&self, buffer: &Buffer) -> Buffer {
        self.buffers.get(buffer).unwrap_or(buffer).clone()
    }

    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Var(v) => self.values.get(v).cloned().unwrap_or_else(|| e.clone()),
            PrimKind::Load(buffer, indices, mask) if self.buffers.contains_key(buffer) => {
                let indices = indices.iter().map(|i| self.expr(i)).collect();
                PrimExpr::load_masked(&self.buffer(buffer), indices, mask.as_ref().map(|m| self.expr(m)))
            }
            _ => e.map_children(&mut |c| self.expr(c)),
        }
    }
}
