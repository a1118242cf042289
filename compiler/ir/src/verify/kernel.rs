//! The rules for TIR.

use crate::{
    DType, Name, PrimExpr, Span,
    prim::{BinaryOp, PrimKind, Var},
    print::expr_text,
    tir::{AttrNode, Block, Buffer, PrimFunc, Region, Stmt, StmtKind},
};
use hammock_syntax::{Diagnostic, codes};
use rustc_hash::FxHashSet;

pub fn verify(name: &Name, func: &PrimFunc, found: &mut Vec<Diagnostic>) {
    let mut verifier = Verifier { name, found, scope: FxHashSet::default(), span: func.span };
    for param in &func.params {
        verifier.scope.insert(param.var.clone());
    }
    for buffer in func.buffers() {
        verifier.define_buffer(buffer);
        // A dimension that is a lone variable is defined by the buffer.
        buffer.each_expr(&mut |e| verifier.scope.extend(e.as_var().cloned()));
    }
    for buffer in func.buffers() {
        buffer.each_expr(&mut |e| verifier.expr(e));
    }
    verifier.stmt(&func.body);
}

struct Verifier<'a> {
    name: &'a Name,
    found: &'a mut Vec<Diagnostic>,
    scope: FxHashSet<Var>,
    span: Span,
}

impl Verifier<'_> {
    fn report(&mut self, code: &'static str, message: String) {
        let diagnostic = Diagnostic::error(code, format!("in kernel `{}`: {message}", self.name));
        self.found.push(if self.span.is_none() { diagnostic } else { diagnostic.label(self.span, "") });
    }

    fn define_buffer(&mut self, buffer: &Buffer) {
        self.scope.insert(buffer.data.clone());
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        match &stmt.kind {
            StmtKind::Seq(stmts) => {
                let scope = self.scope.clone();
                stmts.iter().for_each(|s| self.stmt(s));
                self.scope = scope;
            }
            StmtKind::For(l) => {
                stmt.each_expr(&mut |e| self.expr(e));
                self.within(&l.var, |this| this.stmt(&l.body));
            }
            StmtKind::While(condition, _) | StmtKind::If(condition, ..) | StmtKind::Assert(condition, ..) => {
                self.condition(condition);
                stmt.each_child(&mut |s| self.stmt(s));
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::Store { buffer, indices, value, predicate } => {
                self.access(buffer, indices);
                self.expr(value);
                predicate.iter().for_each(|p| self.expr(p));
                if value.dtype().element() != buffer.dtype.element() {
                    let message =
                        format!("{} is stored into `{}`, which holds {}", value.dtype(), buffer.name, buffer.dtype);
                    self.report(codes::KERNEL_TYPES, message);
                }
            }
            StmtKind::Bind(var, value) => {
                self.expr(value);
                self.scope.insert(var.clone());
            }
            StmtKind::Alloc(buffer, _) => {
                buffer.each_expr(&mut |e| self.expr(e));
                self.define_buffer(buffer);
            }
            StmtKind::Decl(buffer) => {
                self.define_buffer(buffer);
                buffer.each_expr(&mut |e| self.expr(e));
            }
            StmtKind::Attr { node, .. } => {
                stmt.each_expr(&mut |e| self.expr(e));
                if let AttrNode::Thread(iter) = node {
                    self.scope.insert(iter.var.clone());
                }
                stmt.each_child(&mut |s| self.stmt(s));
            }
            StmtKind::Evaluate(_) | StmtKind::Return(_) => stmt.each_expr(&mut |e| self.expr(e)),
            StmtKind::Break | StmtKind::Continue => {}
        }
    }

    fn within(&mut self, var: &Var, f: impl FnOnce(&mut Self)) {
        let new = self.scope.insert(var.clone());
        f(self);
        if new {
            self.scope.remove(var);
        }
    }

    fn block(&mut self, block: &Block) {
        let scope = self.scope.clone();
        for axis in &block.axes {
            [&axis.dom.0, &axis.dom.1, &axis.binding].into_iter().for_each(|e| self.expr(e));
        }
        self.scope.extend(block.axes.iter().map(|a| a.var.clone()));
        block.predicate.iter().for_each(|p| self.condition(p));
        for buffer in &block.alloc_buffers {
            buffer.each_expr(&mut |e| self.expr(e));
            self.define_buffer(buffer);
        }
        for matched in &block.match_buffers {
            self.region(&matched.source);
            self.define_buffer(&matched.buffer);
            matched.buffer.each_expr(&mut |e| self.scope.extend(e.as_var().cloned()));
        }
        for region in block.reads.iter().flatten().chain(block.writes.iter().flatten()) {
            self.region(region);
        }
        block.init.iter().for_each(|s| self.stmt(s));
        self.stmt(&block.body);
        self.scope = scope;
    }

    fn region(&mut self, region: &Region) {
        if region.ranges.len() != region.buffer.ndim() {
            self.wrong_rank(&region.buffer, region.ranges.len());
        }
        for (min, extent) in &region.ranges {
            self.expr(min);
            self.expr(extent);
        }
    }

    fn condition(&mut self, condition: &PrimExpr) {
        self.expr(condition);
        if !condition.dtype().element().is_bool() {
            let message = format!("the condition `{}` is {}, not bool", expr_text(condition), condition.dtype());
            self.report(codes::KERNEL_TYPES, message);
        }
    }

    fn access(&mut self, buffer: &Buffer, indices: &[PrimExpr]) {
        if indices.len() != buffer.ndim() {
            self.wrong_rank(buffer, indices.len());
        }
        for index in indices {
            self.expr(index);
            let element = index.dtype().element();
            if !element.is_integer() && !element.is_bool() {
                let message = format!("index `{}` of `{}` is {element}, not an integer", expr_text(index), buffer.name);
                self.report(codes::KERNEL_TYPES, message);
            }
        }
    }

    fn wrong_rank(&mut self, buffer: &Buffer, given: usize) {
        let message = format!("`{}` has {} dimensions, {given} indices given", buffer.name, buffer.ndim());
        self.report(codes::WRONG_INDEX_COUNT, message);
    }

    fn expr(&mut self, expr: &PrimExpr) {
        match expr.kind() {
            PrimKind::Var(v) if !self.scope.contains(v) => {
                let message = format!("variable `{}` is used where it has no value", v.name());
                self.report(codes::OUT_OF_SCOPE, message);
                self.scope.insert(v.clone()); // Said once.
            }
            PrimKind::Let(var, value, body) => {
                self.expr(value);
                self.within(var, |this| this.expr(body));
            }
            PrimKind::Reduce(r) => {
                let axes: Vec<Var> = r.axes.iter().map(|a| a.var.clone()).collect();
                self.scope.extend(axes);
                expr.each_child(&mut |c| self.expr(c));
            }
            PrimKind::Load(buffer, indices, mask) => {
                self.access(buffer, indices);
                mask.iter().for_each(|m| self.expr(m));
            }
            PrimKind::Binary(op, a, b) => {
                self.expr(a);
                self.expr(b);
                self.operands(*op, a, b, expr);
            }
            _ => expr.each_child(&mut |c| self.expr(c)),
        }
    }

    fn operands(&mut self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr, whole: &PrimExpr) {
        let handle = |t: DType| t.is_handle();
        if a.dtype() != b.dtype() && !handle(a.dtype()) && !handle(b.dtype()) {
            let message = format!("operands of `{}` are {} and {}", expr_text(whole), a.dtype(), b.dtype());
            self.report(codes::KERNEL_TYPES, message);
        }
        if matches!(op, BinaryOp::And | BinaryOp::Or) && !a.dtype().element().is_bool() {
            self.report(codes::KERNEL_TYPES, format!("operands of `{}` are {}, not bool", expr_text(whole), a.dtype()));
        }
    }
}
