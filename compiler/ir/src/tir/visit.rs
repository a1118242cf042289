//! Walking and rewriting statements.

use super::{AttrNode, Block, Buffer, Stmt, StmtKind};
use crate::{
    PrimExpr,
    prim::{PrimKind, Substitution},
};

impl Stmt {
    /// Calls `f` on each statement directly inside.
    pub fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Stmt)) {
        match &self.kind {
            StmtKind::Seq(stmts) => stmts.iter().for_each(f),
            StmtKind::For(l) => f(&l.body),
            StmtKind::While(_, body) | StmtKind::Attr { body, .. } => f(body),
            StmtKind::If(_, then, otherwise) => {
                f(then);
                otherwise.iter().for_each(|s| f(s));
            }
            StmtKind::Block(b) => {
                b.init.iter().for_each(&mut *f);
                f(&b.body);
            }
            _ => {}
        }
    }

    /// Calls `f` on each statement directly inside, to change.
    pub fn each_child_mut(&mut self, f: &mut dyn FnMut(&mut Stmt)) {
        match &mut self.kind {
            StmtKind::Seq(stmts) => stmts.iter_mut().for_each(f),
            StmtKind::For(l) => f(&mut l.body),
            StmtKind::While(_, body) | StmtKind::Attr { body, .. } => f(body),
            StmtKind::If(_, then, otherwise) => {
                f(then);
                otherwise.iter_mut().for_each(|s| f(s));
            }
            StmtKind::Block(b) => {
                b.init.iter_mut().for_each(&mut *f);
                f(&mut b.body);
            }
            _ => {}
        }
    }

    /// Calls `f` on this statement and all inside it, outer ones first.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Stmt)) {
        f(self);
        self.each_child(&mut |s| s.walk(f));
    }

    /// Returns true if anything in it calls functions, of the module or by symbol, whose effects are unknown.
    pub fn runs_functions(&self) -> bool {
        let mut found = false;
        self.walk(&mut |stmt| {
            stmt.each_expr(&mut |e| {
                found |= e.any(&mut |e| matches!(e.kind(), PrimKind::Call(call) if call.runs_function()));
            });
        });
        found
    }

    /// Calls `f` on each expression directly in this statement (not in nested statements): bounds, conditions, indices,
    /// values, axes, regions.
    pub fn each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a PrimExpr)) {
        match &self.kind {
            StmtKind::For(l) => {
                f(&l.min);
                f(&l.extent);
                l.step.iter().for_each(f);
            }
            StmtKind::While(e, _)
            | StmtKind::If(e, ..)
            | StmtKind::Evaluate(e)
            | StmtKind::Bind(_, e)
            | StmtKind::Assert(e, ..)
            | StmtKind::Return(e) => f(e),
            StmtKind::Store { indices, value, predicate, .. } => {
                indices.iter().for_each(&mut *f);
                f(value);
                predicate.iter().for_each(f);
            }
            StmtKind::Alloc(b, _) | StmtKind::Decl(b) => b.each_expr(f),
            StmtKind::Attr { node, value, .. } => {
                if let AttrNode::Thread(iter) = node
                    && let Some((min, extent)) = &iter.dom
                {
                    f(min);
                    f(extent);
                }
                f(value);
            }
            StmtKind::Block(b) => b.each_expr(f),
            StmtKind::Seq(_) | StmtKind::Break | StmtKind::Continue => {}
        }
    }

    /// Rewrites every expression in this statement and all inside it, in place.
    pub fn map_exprs(&mut self, f: &mut dyn FnMut(&PrimExpr) -> PrimExpr) {
        match &mut self.kind {
            StmtKind::For(l) => {
                l.min = f(&l.min);
                l.extent = f(&l.extent);
                l.step = l.step.as_ref().map(&mut *f);
            }
            StmtKind::While(e, _)
            | StmtKind::If(e, ..)
            | StmtKind::Evaluate(e)
            | StmtKind::Bind(_, e)
            | StmtKind::Assert(e, ..)
            | StmtKind::Return(e) => *e = f(e),
            StmtKind::Store { indices, value, predicate, .. } => {
                indices.iter_mut().for_each(|i| *i = f(i));
                *value = f(value);
                *predicate = predicate.as_ref().map(&mut *f);
            }
            StmtKind::Attr { node, value, .. } => {
                if let AttrNode::Thread(iter) = node
                    && let Some((min, extent)) = &mut iter.dom
                {
                    *min = f(min);
                    *extent = f(extent);
                }
                *value = f(value);
            }
            StmtKind::Block(b) => b.map_own_exprs(f),
            _ => {}
        }
        self.each_child_mut(&mut |s| s.map_exprs(f));
    }

    /// Replaces scalar variables in every expression of this statement and all inside it.
    pub fn substitute(&mut self, values: &Substitution) {
        if !values.is_empty() {
            self.map_exprs(&mut |e| e.substitute(values));
        }
    }
}

impl Buffer {
    /// Calls `f` on each expression of the buffer's type: shape, strides, offset.
    pub fn each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a PrimExpr)) {
        self.shape.iter().chain(&self.strides).chain(&self.elem_offset).for_each(f);
    }
}

impl Block {
    fn each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a PrimExpr)) {
        for axis in &self.axes {
            f(&axis.dom.0);
            f(&axis.dom.1);
            f(&axis.binding);
        }
        self.predicate.iter().for_each(&mut *f);
        for region in self.reads.iter().flatten().chain(self.writes.iter().flatten()) {
            for (min, extent) in &region.ranges {
                f(min);
                f(extent);
            }
        }
    }

    fn map_own_exprs(&mut self, f: &mut dyn FnMut(&PrimExpr) -> PrimExpr) {
        for axis in &mut self.axes {
            axis.dom = (f(&axis.dom.0), f(&axis.dom.1));
            axis.binding = f(&axis.binding);
        }
        self.predicate = self.predicate.as_ref().map(&mut *f);
        for region in self.reads.iter_mut().flatten().chain(self.writes.iter_mut().flatten()) {
            for (min, extent) in &mut region.ranges {
                *min = f(min);
                *extent = f(extent);
            }
        }
    }
}
