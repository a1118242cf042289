//! Prints TIR statements.

use super::{attr::end, names::Entity, printer::Printer};
use crate::{
    Attrs, Name, PrimExpr,
    prim::{IterVar, PrimKind, Var},
    tir::{AttrNode, Buffer, ForKind, Loop, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

impl Printer<'_> {
    /// Prints the statements of a body.
    pub fn body(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Seq(stmts) => self.sequence(stmts),
            _ => self.stmt(stmt, true),
        }
    }

    fn sequence(&mut self, stmts: &[Stmt]) {
        let mut rest = stmts;
        while let [first, after @ ..] = rest {
            rest = after;
            if let (Some(value), [_, after @ ..]) = (self.initial_value(first, rest), rest) {
                self.scalar_line(first, Some(value));
                rest = after;
            } else if let Some((buffer, address, after)) = buffer_at_address(first, rest) {
                self.decl_at(buffer, address);
                rest = after;
            } else {
                self.stmt(first, false);
            }
        }
    }

    /// The value stored by the statement after an allocation of one element: both are printed as one line.
    fn initial_value<'s>(&self, alloc: &Stmt, rest: &'s [Stmt]) -> Option<&'s PrimExpr> {
        let StmtKind::Alloc(allocated, _) = &alloc.kind else { return None };
        match rest.first().map(|s| &s.kind) {
            Some(StmtKind::Store { buffer, indices, value, predicate: None })
                if buffer == allocated
                    && self.is_scalar_alloc(alloc)
                    && indices.len() == 1
                    && indices[0].as_int() == Some(0)
                    && !value.any(&mut |e| matches!(e.kind(), PrimKind::Load(b, ..) if b == allocated)) =>
            {
                Some(value)
            }
            _ => None,
        }
    }

    /// Returns true if a statement allocates one element that the text declares as a scalar variable.
    fn is_scalar_alloc(&self, stmt: &Stmt) -> bool {
        matches!(&stmt.kind, StmtKind::Alloc(buffer, attrs) if attrs.is_empty() && buffer.is_scalar(self.s_tir))
    }

    /// Prints a statement; `alone` if it is the entire body of its parent.
    fn stmt(&mut self, stmt: &Stmt, alone: bool) {
        match &stmt.kind {
            StmtKind::Seq(stmts) => {
                self.names.enter();
                self.sequence(stmts);
                self.names.leave();
            }
            StmtKind::For(l) => self.for_loop(l),
            StmtKind::While(condition, body) => {
                self.push("while ");
                self.expr(condition);
                self.header();
                self.block(|p| p.body(body));
            }
            StmtKind::If(condition, then, otherwise) => self.if_stmt(condition, then, otherwise.as_deref()),
            StmtKind::Block(block) => self.tir_block(block),
            StmtKind::Store { buffer, indices, value, predicate } => {
                self.store(buffer, indices, value, predicate.as_ref());
            }
            StmtKind::Evaluate(e) if self.is_bare_call(e) => self.expr_line(e),
            StmtKind::Evaluate(e) => {
                self.tir("evaluate(");
                self.expr(e);
                self.push(")");
                self.end_line();
            }
            StmtKind::Bind(var, value) => self.bind(var, value),
            StmtKind::Alloc(..) if self.is_scalar_alloc(stmt) => self.scalar_line(stmt, None),
            StmtKind::Alloc(buffer, attrs) => self.alloc(buffer, attrs),
            StmtKind::Decl(buffer) => self.decl_line(buffer),
            StmtKind::Attr { node, key, value, body } => self.attr_stmt(node, key, value, body, alone),
            StmtKind::Assert(condition, kind, parts) => self.assert_line(condition, kind, parts),
            StmtKind::Break => self.tir_line("break_loop()"),
            StmtKind::Continue => self.tir_line("continue_loop()"),
            StmtKind::Return(value) => {
                self.push("return ");
                self.expr_line(value);
            }
        }
    }

    /// Ends the line with the colon that a block follows.
    pub fn header(&mut self) {
        self.push(":");
        self.end_line();
    }

    fn expr_line(&mut self, e: &PrimExpr) {
        self.expr(e);
        self.end_line();
    }

    fn tir_line(&mut self, text: &str) {
        self.tir(text);
        self.end_line();
    }

    fn if_stmt(&mut self, condition: &PrimExpr, then: &Stmt, otherwise: Option<&Stmt>) {
        self.push("if ");
        self.expr(condition);
        self.header();
        self.block(|p| p.body(then));
        if let Some(otherwise) = otherwise
            && !otherwise.is_nop()
        {
            self.whole_line("else:");
            self.block(|p| p.body(otherwise));
        }
    }

    fn store(&mut self, buffer: &Buffer, indices: &[PrimExpr], value: &PrimExpr, predicate: Option<&PrimExpr>) {
        let name = self.buffer_name(buffer);
        let text = self.capture(|p| p.expr(value));
        self.push(&name);
        if let Some(predicate) = predicate {
            self.push(".vstore([");
            self.list(indices, |p, e| p.expr(e));
            self.push("], ");
            self.push(&text);
            self.push(", predicate=");
            self.expr(predicate);
            self.push(")");
            return self.end_line();
        }
        if !self.is_scalar_variable(buffer, indices) {
            self.indices(indices, |p, e| p.store_index(e));
        }
        self.push(" = ");
        self.push(&text);
        self.end_line();
    }

    fn bind(&mut self, var: &Var, value: &PrimExpr) {
        let value = self.capture(|p| p.expr(value));
        let known = self.names.get(&Entity::Scalar(var.clone())).is_some();
        let name = self.define_scalar(var);
        self.push(&name);
        if !known {
            self.push(": ");
            self.tir("let[");
            self.prim_type(var.ty());
            self.push("]");
        }
        self.push(" = ");
        self.push(&value);
        self.end_line();
    }

    /// Prints the allocation of one element: `x: T.int32 = 0`.
    fn scalar_line(&mut self, alloc: &Stmt, value: Option<&PrimExpr>) {
        let StmtKind::Alloc(buffer, _) = &alloc.kind else { return };
        let name = self.define_scalar_buffer(buffer);
        let value = value.map(|v| self.capture(|p| p.expr(v)));
        self.push(&name);
        self.push(": ");
        self.tir(&buffer.dtype.to_string());
        if let Some(value) = value {
            self.push(" = ");
            self.push(&value);
        }
        self.end_line();
    }

    fn alloc(&mut self, buffer: &Buffer, attrs: &Attrs) {
        let method = match &*buffer.scope {
            "shared" => "alloc_shared",
            "local" => "alloc_local",
            _ => "alloc_buffer",
        };
        self.alloc_line(method, buffer, attrs);
    }

    fn assert_line(&mut self, condition: &PrimExpr, kind: &Name, parts: &[Name]) {
        self.push("assert ");
        self.expr(condition);
        self.push(", (");
        self.quote(kind);
        self.push(", [");
        self.list(parts, |p, part| p.scalar_string(part));
        self.push("])");
        self.end_line();
    }

    fn for_loop(&mut self, first: &Loop) {
        let grid = grid(first);
        self.names.enter();
        for l in &grid {
            self.loops.insert(l.var.clone(), (l.min.clone(), l.extent.clone()));
        }
        let names: Vec<_> = grid.iter().map(|l| self.define_scalar(&l.var)).collect();
        self.push("for ");
        self.push(&names.join(", "));
        self.push(" in ");
        match &grid[..] {
            [one] => self.loop_range(one),
            many => {
                self.tir("grid(");
                self.list(many, |p, l| p.expr(&l.extent));
                self.push(")");
            }
        }
        self.header();
        let body = grid.last().map_or(&first.body, |l| &l.body);
        self.block(|p| p.body(body));
        self.names.leave();
        for l in &grid {
            self.loops.remove(&l.var);
        }
    }

    fn loop_range(&mut self, l: &Loop) {
        let plain = l.kind == ForKind::Serial && l.annotations.is_empty();
        match &l.kind {
            ForKind::Serial if plain => self.push("range("),
            ForKind::Serial => self.tir("serial("),
            ForKind::Parallel => self.tir("parallel("),
            ForKind::Vectorized => self.tir("vectorized("),
            ForKind::Unrolled => self.tir("unroll("),
            ForKind::ThreadBinding(_) => self.tir("thread_binding("),
        }
        let step = l.step.as_ref().filter(|s| s.as_int() != Some(1));
        if l.min.as_int() == Some(0) && step.is_none() {
            self.expr(&l.extent);
        } else {
            self.list([&l.min, &end(&l.min, &l.extent)], |p, e| p.expr(e));
        }
        if let ForKind::ThreadBinding(thread) = &l.kind {
            self.push(", thread=");
            self.quote(thread);
        }
        self.loop_annotations(&l.annotations);
        if let Some(step) = step {
            self.push(if plain { ", " } else { ", step=" });
            self.expr(step);
        }
        self.push(")");
    }

    fn loop_annotations(&mut self, annotations: &Attrs) {
        let mut entries = annotations.iter();
        match (entries.next(), entries.next()) {
            (None, _) => {}
            (Some((key, _)), None) if key == "disable_unroll" => self.push(", unroll=False"),
            (Some((key, value)), None) if key == "pragma_unroll" => {
                self.push(", unroll=");
                self.attr(value);
            }
            _ => {
                self.push(", annotations=");
                self.attr_dict(annotations, |_, _| false);
            }
        }
    }

    fn attr_stmt(&mut self, node: &AttrNode, key: &Name, value: &PrimExpr, body: &Stmt, alone: bool) {
        let mut inside = body;
        let mut named = None;
        let text = match node {
            AttrNode::Thread(iter) => {
                let known = self.names.get(&Entity::Scalar(iter.var.clone()));
                if known.is_none() && !self.shared_threads.contains(&iter.var) {
                    named = Some(&iter.var);
                }
                self.capture(|p| p.launch(iter, value))
            }
            AttrNode::None => self.capture(|p| inside = p.attr_dict_call(key, value, body)),
            AttrNode::Value(about) => self.capture(|p| {
                p.tir("attr(");
                p.attr(about);
                p.push(", ");
                p.quote(key);
                p.push(", ");
                p.expr(value);
                p.push(")");
            }),
        };
        self.names.enter();
        let name = named.map(|var| self.define_scalar(var));
        if alone {
            let assign = name.map(|n| format!("{n} = ")).unwrap_or_default();
            self.whole_line(&format!("{assign}{text}"));
            self.body(inside);
        } else {
            let binding = name.map(|n| format!(" as {n}")).unwrap_or_default();
            self.whole_line(&format!("with {text}{binding}:"));
            self.block(|p| p.body(inside));
        }
        self.names.leave();
    }

    fn launch(&mut self, iter: &IterVar, extent: &PrimExpr) {
        let known = self.names.get(&Entity::Scalar(iter.var.clone())).is_some();
        if !known && self.shared_threads.contains(&iter.var) {
            self.env_thread(iter);
        }
        self.tir("launch_thread(");
        match self.names.get(&Entity::Scalar(iter.var.clone())) {
            Some(name) => self.push(&name),
            None => self.quote(&iter.thread),
        }
        self.push(", ");
        self.expr(extent);
        self.push(")");
    }

    /// Declares a thread axis that several launches share, for the whole function.
    fn env_thread(&mut self, iter: &IterVar) {
        let scope = self.frames.last().map_or_else(|| self.names.depth(), |f| f.scope);
        let wanted = super::printer::hint(iter.var.name(), "v");
        let name = self.names.define_in(scope, Entity::Scalar(iter.var.clone()), wanted);
        let call = self.capture(|p| {
            p.tir("env_thread(");
            p.quote(&iter.thread);
            p.push(")");
        });
        self.preamble_line(&format!("{name} = {call}"));
    }

    /// Appends `T.attr({…})` for directly nested attributes; returns the body of the last.
    fn attr_dict_call<'s>(&mut self, key: &Name, value: &PrimExpr, body: &'s Stmt) -> &'s Stmt {
        self.tir("attr({");
        let (mut key, mut value, mut body) = (key, value, body);
        loop {
            self.comma();
            self.quote(key);
            self.push(": ");
            self.expr(value);
            match &body.kind {
                StmtKind::Attr { node: AttrNode::None, key: k, value: v, body: b } => (key, value, body) = (k, v, b),
                _ => break,
            }
        }
        self.push("})");
        body
    }
}

/// Directly nested loops that are printed as one `T.grid`: serial, from zero, with extents that do not depend on each
/// other.
fn grid(first: &Loop) -> Vec<&Loop> {
    let mut loops: Vec<&Loop> = Vec::new();
    let mut next = Some(first);
    while let Some(l) = next {
        let plain = l.kind == ForKind::Serial
            && l.min.as_int() == Some(0)
            && l.annotations.is_empty()
            && l.step.as_ref().is_none_or(|s| s.as_int() == Some(1));
        if !plain || loops.iter().any(|outer| l.extent.uses(&outer.var)) {
            break;
        }
        loops.push(l);
        next = match &l.body.kind {
            StmtKind::For(inner) => Some(inner),
            _ => None,
        };
    }
    if loops.is_empty() { vec![first] } else { loops }
}

/// Thread axes that several non-nested launches use.
pub(super) fn shared_threads(stmt: &Stmt) -> FxHashSet<Var> {
    fn visit(stmt: &Stmt, seen: &mut FxHashSet<Var>, open: &mut Vec<Var>, shared: &mut FxHashSet<Var>) {
        let mut pushed = false;
        if let StmtKind::Attr { node: AttrNode::Thread(iter), .. } = &stmt.kind
            && !open.contains(&iter.var)
        {
            if !seen.insert(iter.var.clone()) {
                shared.insert(iter.var.clone());
            }
            open.push(iter.var.clone());
            pushed = true;
        }
        stmt.each_child(&mut |s| visit(s, seen, open, shared));
        if pushed {
            open.pop();
        }
    }
    let mut shared = FxHashSet::default();
    visit(stmt, &mut FxHashSet::default(), &mut Vec::new(), &mut shared);
    shared
}

/// A buffer over an address computed for it alone: the variable that holds the address has the buffer's name.
fn buffer_at_address<'s>(bind: &'s Stmt, rest: &'s [Stmt]) -> Option<(&'s Buffer, &'s PrimExpr, &'s [Stmt])> {
    match (&bind.kind, rest) {
        (StmtKind::Bind(var, address), [Stmt { kind: StmtKind::Decl(buffer), .. }, after @ ..])
            if buffer.data == *var && *var.name() == buffer.name =>
        {
            Some((buffer, address, after))
        }
        _ => None,
    }
}
