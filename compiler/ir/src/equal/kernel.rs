//! The tokens of scalar expressions and kernels.

use super::token::{Sink, Walker};
use crate::{
    PrimExpr,
    prim::{PrimCallee, PrimKind, Reduce},
    tir::{AttrNode, Block, ForKind, Loop, PrimFunc, Region, Stmt, StmtKind},
};

impl<'a, S: Sink<'a>> Walker<'_, S> {
    pub fn expr(&mut self, e: &'a PrimExpr) {
        match e.kind() {
            PrimKind::Var(v) => {
                self.kind("variable");
                return self.scalar(v);
            }
            PrimKind::Int(v) => self.int(*v),
            PrimKind::Float(v) => self.float(*v),
            PrimKind::Str(text) => self.text(text),
            PrimKind::Binary(op, a, b) => {
                self.kind(op.name());
                self.expr(a);
                return self.expr(b);
            }
            PrimKind::Load(buffer, indices, mask) => {
                self.kind("load");
                self.buffer(buffer);
                self.part("indices", |w| w.list(indices, |w, i| w.expr(i)));
                self.option(mask.as_ref(), |w, m| w.expr(m));
            }
            PrimKind::Let(var, value, body) => {
                self.kind("let");
                self.expr(value);
                self.scalar(var);
                return self.expr(body);
            }
            PrimKind::Call(call) => {
                self.kind("call");
                if matches!(call.callee, PrimCallee::Global(_)) {
                    self.kind("global");
                }
                match &call.callee {
                    PrimCallee::Intrin(name) | PrimCallee::Global(name) => self.text(name),
                }
                self.part("args", |w| w.list(&call.args, |w, a| w.expr(a)));
                self.attrs(&call.attrs);
            }
            PrimKind::Reduce(reduce) => self.reduce(reduce),
            PrimKind::Not(_) => self.operands("not", e),
            PrimKind::Select(..) => self.operands("select", e),
            PrimKind::Cast(_) => self.operands("cast", e),
            PrimKind::Ramp(..) => self.operands("ramp", e),
            PrimKind::Broadcast(_) => self.operands("broadcast", e),
            PrimKind::Shuffle(vectors, _) => {
                self.int(vectors.len() as i64);
                self.operands("shuffle", e);
            }
        }
        self.prim_type(e.ty());
    }

    fn operands(&mut self, kind: &'static str, e: &'a PrimExpr) {
        self.kind(kind);
        let mut operands = Vec::new();
        e.each_child(&mut |c| operands.push(c));
        self.int(operands.len() as i64);
        operands.into_iter().for_each(|c| self.expr(c));
    }

    fn reduce(&mut self, reduce: &'a Reduce) {
        self.kind("reduce");
        self.reducer(&reduce.combiner);
        self.list(&reduce.axes, |w, axis| w.iter_var(axis));
        self.list(&reduce.source, |w, e| w.expr(e));
        self.list(&reduce.init, |w, e| w.expr(e));
        self.expr(&reduce.condition);
        self.int(reduce.index as i64);
    }

    pub fn prim_func(&mut self, func: &'a PrimFunc) {
        self.kind("prim_func");
        self.kind(if func.s_tir { "with blocks" } else { "without blocks" });
        self.part("params", |w| {
            w.list(&func.params, |w, param| {
                w.scalar(&param.var);
                w.option(param.buffer.as_ref(), |w, b| w.buffer(b));
            });
        });
        self.part("result", |w| w.option(func.ret_ty.as_ref(), |w, t| w.prim_type(t)));
        self.part("attributes", |w| w.attrs(&func.attrs));
        self.part("body", |w| w.stmt(&func.body));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Seq(stmts) => {
                self.kind("sequence");
                self.list(stmts, |w, s| w.stmt(s));
            }
            StmtKind::For(l) => self.for_loop(l),
            StmtKind::While(condition, body) => {
                self.kind("while");
                self.part("condition", |w| w.expr(condition));
                self.part("body", |w| w.stmt(body));
            }
            StmtKind::If(condition, then, otherwise) => {
                self.kind("if");
                self.part("condition", |w| w.expr(condition));
                self.part("then", |w| w.stmt(then));
                self.part("else", |w| w.option(otherwise.as_ref(), |w, s| w.stmt(s)));
            }
            StmtKind::Block(block) => self.tir_block(block),
            StmtKind::Store { buffer, indices, value, predicate } => {
                self.kind("store");
                self.buffer(buffer);
                self.part("indices", |w| w.list(indices, |w, i| w.expr(i)));
                self.part("value", |w| w.expr(value));
                self.option(predicate.as_ref(), |w, p| w.expr(p));
            }
            StmtKind::Evaluate(e) => {
                self.kind("evaluate");
                self.expr(e);
            }
            StmtKind::Bind(var, value) => {
                self.kind("bind");
                self.expr(value);
                self.scalar(var);
            }
            StmtKind::Alloc(buffer, attrs) => {
                self.kind("alloc");
                self.buffer(buffer);
                self.attrs(attrs);
            }
            StmtKind::Decl(buffer) => {
                self.kind("decl");
                self.buffer(buffer);
            }
            StmtKind::Attr { node, key, value, body } => {
                self.kind("attr");
                match node {
                    AttrNode::None => self.kind("nothing"),
                    AttrNode::Thread(iter) => self.iter_var(iter),
                    AttrNode::Value(value) => self.attr(value),
                }
                self.text(key);
                self.part("value", |w| w.expr(value));
                self.part("body", |w| w.stmt(body));
            }
            StmtKind::Assert(condition, kind, parts) => {
                self.kind("assert");
                self.expr(condition);
                self.text(kind);
                self.list(parts, |w, p| w.text(p));
            }
            StmtKind::Break => self.kind("break"),
            StmtKind::Continue => self.kind("continue"),
            StmtKind::Return(value) => {
                self.kind("return");
                self.expr(value);
            }
        }
    }

    fn for_loop(&mut self, l: &'a Loop) {
        self.kind("for");
        match &l.kind {
            ForKind::Serial => self.kind("serial"),
            ForKind::Parallel => self.kind("parallel"),
            ForKind::Vectorized => self.kind("vectorized"),
            ForKind::Unrolled => self.kind("unrolled"),
            ForKind::ThreadBinding(thread) => self.text(thread),
        }
        self.part("min", |w| w.expr(&l.min));
        self.part("extent", |w| w.expr(&l.extent));
        self.part("step", |w| w.option(l.step.as_ref(), |w, s| w.expr(s)));
        self.part("annotations", |w| w.attrs(&l.annotations));
        self.scalar(&l.var);
        self.part("body", |w| w.stmt(&l.body));
    }

    fn tir_block(&mut self, block: &'a Block) {
        self.kind(if block.no_realize { "block without bindings" } else { "block" });
        self.part("axes", |w| {
            w.list(&block.axes, |w, axis| {
                w.kind(axis.kind.name());
                w.range(&axis.dom);
                w.expr(&axis.binding);
                w.scalar(&axis.var);
            });
        });
        self.part("predicate", |w| w.option(block.predicate.as_ref(), |w, p| w.expr(p)));
        self.part("alloc_buffers", |w| w.list(&block.alloc_buffers, |w, b| w.buffer(b)));
        self.part("match_buffers", |w| {
            w.list(&block.match_buffers, |w, m| {
                w.region(&m.source);
                w.buffer(&m.buffer);
            });
        });
        self.part("reads", |w| w.option(block.reads.as_ref(), |w, r| w.list(r, |w, r| w.region(r))));
        self.part("writes", |w| w.option(block.writes.as_ref(), |w, r| w.list(r, |w, r| w.region(r))));
        self.part("annotations", |w| w.attrs(&block.annotations));
        self.part("init", |w| w.option(block.init.as_ref(), |w, s| w.stmt(s)));
        self.part("body", |w| w.stmt(&block.body));
    }

    fn region(&mut self, region: &'a Region) {
        self.buffer(&region.buffer);
        self.list(&region.ranges, |w, r| w.range(r));
    }
}
