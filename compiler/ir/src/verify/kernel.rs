//! Verifies kernels: scopes, statements, blocks.

use super::{
    graph::Report,
    scope::Scopes,
    uninitialized::{self, Certainty},
};
use crate::{
    DType, Module, Name, PrimExpr,
    prim::Var,
    tir::{AttrNode, Block, Buffer, ForKind, Loop, PrimFunc, Region, Stmt, StmtKind, call::callees},
};
use hammock_diagnostics::{Diagnostic, Span, codes, count};
use rustc_hash::FxHashMap;

/// Verifies a kernel.
pub(super) fn verify(module: &Module, name: &Name, func: &PrimFunc, warns: bool) -> Vec<Diagnostic> {
    let mut kernel = Kernel {
        module,
        name,
        func,
        vars: Scopes::new(),
        buffers: Scopes::new(),
        touched: Vec::new(),
        memory: FxHashMap::default(),
        calls: !callees(func).is_empty(),
        loops: 0,
        span: func.span,
        found: Vec::new(),
    };
    kernel.signature();
    kernel.stmt(&func.body);
    // Indices are only meaningful in otherwise valid kernels.
    if !kernel.found.iter().any(Diagnostic::is_error) {
        kernel.bounds();
        kernel.uninitialized(warns);
    }
    kernel.found
}

/// Memory that a block declares to access; by pointer, because buffers may alias.
struct DeclaredAccesses {
    reads: Option<Vec<Var>>,
    writes: Option<Vec<Var>>,
    /// Memory allocated in the block, which need not be declared.
    own: Vec<Var>,
}

impl DeclaredAccesses {
    fn of(block: &Block) -> Self {
        let data = |regions: &Option<Vec<Region>>| {
            regions.as_ref().map(|regions| regions.iter().map(|r| r.buffer.data.clone()).collect())
        };
        DeclaredAccesses { reads: data(&block.reads), writes: data(&block.writes), own: Vec::new() }
    }
}

/// A kernel being verified.
pub(super) struct Kernel<'a> {
    pub module: &'a Module,
    pub name: &'a Name,
    pub func: &'a PrimFunc,
    pub vars: Scopes<Var>,
    buffers: Scopes<Buffer>,
    /// Declared accesses of the enclosing blocks, innermost last.
    touched: Vec<DeclaredAccesses>,
    /// Number of bytes behind pointers, if constant.
    pub memory: FxHashMap<Var, i64>,
    /// True if it calls other kernels.
    calls: bool,
    /// Number of enclosing loops.
    loops: usize,
    /// Span of the innermost statement that has one.
    pub span: Span,
    found: Vec<Diagnostic>,
}

impl Kernel<'_> {
    fn signature(&mut self) {
        // A scalar may follow the buffers whose sizes use it.
        for param in &self.func.params {
            self.define(&param.var);
        }
        for buffer in self.func.buffers() {
            // Variables in a buffer's type are defined by the argument.
            buffer.each_expr(&mut |e| e.each_var(&mut |v| self.vars.ensure(v)));
            if let Some(size) = buffer.undetermined_size(|_| true, |from| self.buffers.sees(from)) {
                let message = format!("the call does not tell the size `{size}` of parameter `{}`", buffer.name);
                self.error(codes::KERNEL_STRUCTURE, message);
            } else {
                buffer.each_expr(&mut |e| self.expr(e));
            }
            self.declare_memory(buffer);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let outside = self.span;
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        if self.calls {
            self.check_call_positions(stmt);
        }
        self.statement(stmt);
        self.span = outside;
    }

    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Seq(stmts) => {
                self.enter();
                stmts.iter().for_each(|s| self.stmt(s));
                self.leave();
            }
            StmtKind::For(l) => self.for_loop(l),
            StmtKind::While(condition, body) => {
                self.choice_on(condition);
                self.loops += 1;
                self.scoped(body);
                self.loops -= 1;
            }
            StmtKind::If(condition, then, otherwise) => {
                self.choice_on(condition);
                self.scoped(then);
                otherwise.iter().for_each(|s| self.scoped(s));
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::Store { buffer, indices, value, predicate } => {
                self.store(buffer, indices, value);
                predicate.iter().for_each(|e| self.condition(e));
            }
            StmtKind::Evaluate(e) => self.expr(e),
            StmtKind::Bind(var, value) => {
                self.expr(value);
                self.same_dtype(var.dtype(), value.dtype(), || format!("the value of `{}`", var.name()));
                self.define(var);
            }
            StmtKind::Alloc(buffer, _) => {
                buffer.each_expr(&mut |e| self.expr(e));
                self.declare_memory(buffer);
            }
            StmtKind::Decl(buffer) => {
                buffer.each_expr(&mut |e| self.expr(e));
                self.declare(buffer);
            }
            StmtKind::Attr { node, value, body, .. } => self.attr(node, value, body),
            StmtKind::Assert(condition, ..) => self.condition(condition),
            StmtKind::Break | StmtKind::Continue if self.loops == 0 => {
                self.error(codes::KERNEL_STRUCTURE, "`break` and `continue` are only allowed inside a loop");
            }
            StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Return(value) => self.returned(value),
        }
    }

    fn for_loop(&mut self, l: &Loop) {
        self.expr(&l.min);
        self.expr(&l.extent);
        l.step.iter().for_each(|s| self.expr(s));
        let dtype = l.var.dtype();
        if !dtype.is_integer() {
            let message = format!("loop variable `{}` is {dtype}, which is not an integer", l.var.name());
            self.error(codes::KERNEL_STRUCTURE, message);
        }
        for (e, what) in [(&l.min, "first value"), (&l.extent, "extent")] {
            if e.dtype() != dtype {
                let message = format!("the {what} of loop `{}` is {}, not {dtype}", l.var.name(), e.dtype());
                self.error(codes::KERNEL_STRUCTURE, message);
            }
        }
        self.enter();
        self.define(&l.var);
        // A thread's body runs once per thread: there is no loop to leave.
        self.loops += usize::from(!matches!(l.kind, ForKind::ThreadBinding(_)));
        self.stmt(&l.body);
        self.loops -= usize::from(!matches!(l.kind, ForKind::ThreadBinding(_)));
        self.leave();
    }

    fn attr(&mut self, node: &AttrNode, value: &PrimExpr, body: &Stmt) {
        self.expr(value);
        self.enter();
        if let AttrNode::Thread(iter) = node {
            // Launches may share an axis.
            self.vars.ensure(&iter.var);
        }
        self.stmt(body);
        self.leave();
    }

    fn block(&mut self, block: &Block) {
        if !self.func.s_tir {
            let message = format!("block `{}` is in a kernel without blocks", block.name);
            self.error(codes::KERNEL_STRUCTURE, message).help("mark the kernel `@T.prim_func(s_tir=True)`");
        }
        for axis in &block.axes {
            self.expr(&axis.dom.0);
            self.expr(&axis.dom.1);
            let dtype = axis.var.dtype();
            if !block.no_realize {
                self.expr(&axis.binding);
                if axis.binding.dtype() != dtype {
                    let found = axis.binding.dtype();
                    let message = format!("axis `{}` is {dtype}, but bound to {found}", axis.var.name());
                    self.error(codes::KERNEL_STRUCTURE, message);
                }
            }
            if !dtype.is_integer() {
                let message = format!("axis `{}` is {dtype}, which is not an integer", axis.var.name());
                self.error(codes::KERNEL_STRUCTURE, message);
            }
        }
        self.enter();
        self.touched.push(DeclaredAccesses::of(block));
        block.axes.iter().for_each(|axis| self.define(&axis.var));
        block.predicate.iter().for_each(|e| self.condition(e));
        block.alloc_buffers.iter().for_each(|b| self.declare_memory(b));
        for matched in &block.match_buffers {
            self.region(&matched.source);
            self.declare(&matched.buffer);
            matched.buffer.each_expr(&mut |e| e.each_var(&mut |v| self.vars.ensure(v)));
        }
        block.reads.iter().chain(&block.writes).flatten().for_each(|r| self.region(r));
        block.init.iter().for_each(|s| self.scoped(s));
        self.stmt(&block.body);
        self.touched.pop();
        self.leave();
    }

    fn region(&mut self, region: &Region) {
        self.sees_buffer(&region.buffer);
        let dims = region.buffer.ndim();
        if region.ranges.len() != dims {
            let name = &region.buffer.name;
            let (ranges, dims) = (count(region.ranges.len(), "range"), count(dims, "dimension"));
            let message = format!("a region of `{name}` has {ranges} for {dims}");
            self.error(codes::WRONG_INDEX_COUNT, message);
        }
        for (min, extent) in &region.ranges {
            self.expr(min);
            self.expr(extent);
        }
    }

    fn store(&mut self, buffer: &Buffer, indices: &[PrimExpr], value: &PrimExpr) {
        let element = self.indices(buffer, indices);
        self.declared_write(buffer);
        self.expr(value);
        self.same_dtype(element, value.dtype(), || format!("what is stored in `{}`", buffer.name));
    }

    /// Checks that the enclosing block declares that it writes a buffer.
    fn declared_write(&mut self, buffer: &Buffer) {
        let Some(block) = self.touched.last_mut() else { return };
        let Some(writes) = &block.writes else { return };
        if !writes.contains(&buffer.data) && !block.own.contains(&buffer.data) {
            block.own.push(buffer.data.clone());
            let message = format!("the block writes `{}`, but its `T.writes` does not say so", buffer.name);
            self.warn(codes::KERNEL_STRUCTURE, message).help("omit `T.writes`: it is inferred");
        }
    }

    /// Checks that the enclosing block declares that it reads a buffer. A reduction reads the buffer that it writes.
    pub fn declared_read(&mut self, buffer: &Buffer) {
        let Some(block) = self.touched.last_mut() else { return };
        let Some(reads) = &block.reads else { return };
        let written = block.writes.as_ref().is_none_or(|writes| writes.contains(&buffer.data));
        if !written && !reads.contains(&buffer.data) && !block.own.contains(&buffer.data) {
            block.own.push(buffer.data.clone());
            let message = format!("the block reads `{}`, but its `T.reads` does not say so", buffer.name);
            self.warn(codes::KERNEL_STRUCTURE, message).help("omit `T.reads`: it is inferred");
        }
    }

    /// Checks a buffer's use and its indices; returns the dtype of the access.
    pub fn indices(&mut self, buffer: &Buffer, indices: &[PrimExpr]) -> DType {
        self.sees_buffer(buffer);
        let dims = buffer.ndim();
        if indices.len() != dims {
            let (dims, given) = (count(dims, "dimension"), count(indices.len(), "index"));
            let message = format!("`{}` has {dims}, but gets {given}", buffer.name);
            self.error(codes::WRONG_INDEX_COUNT, message);
        }
        for index in indices {
            self.expr(index);
            if !index.dtype().is_integer() && !index.dtype().is_bool() {
                let message = format!("an index of `{}` is {}, which is not an integer", buffer.name, index.dtype());
                self.error(codes::KERNEL_TYPES, message);
            }
        }
        let lanes = indices.last().map_or(1, |i| i.dtype().lanes);
        buffer.dtype.with_lanes(buffer.dtype.lanes.saturating_mul(lanes.max(1)))
    }

    fn returned(&mut self, value: &PrimExpr) {
        self.expr(value);
        if let Some(ty) = &self.func.ret_ty {
            self.same_dtype(ty.dtype(), value.dtype(), || "what is returned".to_owned());
        }
    }

    /// Checks the condition of a statement: a bool, or an integer, which is true unless zero.
    fn choice_on(&mut self, e: &PrimExpr) {
        if e.dtype().is_integer() && e.dtype().lanes == 1 { self.expr(e) } else { self.condition(e) }
    }

    /// Checks that an expression is a bool (or a vector of them).
    pub fn condition(&mut self, e: &PrimExpr) {
        self.expr(e);
        if !e.dtype().is_bool() {
            let message = format!("the condition `{e}` is {}, which is not a bool", e.dtype());
            self.error(codes::KERNEL_TYPES, message).help("compare it with something");
        }
    }

    /// Checks the dtype of a value.
    pub fn same_dtype(&mut self, expected: DType, found: DType, what: impl FnOnce() -> String) {
        if expected != found {
            let message = format!("{} is {found}, not {expected}", what());
            self.error(codes::KERNEL_TYPES, message).help(format!("convert it: `T.Cast(\"{expected}\", …)`"));
        }
    }

    /// Reports the kernel's own memory that is, or may be, read before it is written.
    fn uninitialized(&mut self, warns: bool) {
        let module = self.module;
        for read in uninitialized::reads(self.func, std::iter::empty(), &|name| module.tir(name), warns) {
            self.span = read.span;
            let report = match read.certainty {
                Certainty::Certain => self.error(codes::UNINITIALIZED, read.message()),
                Certainty::Possible => self.warn(codes::UNINITIALIZED, read.message()),
            };
            report.help(read.advice());
        }
    }

    fn scoped(&mut self, stmt: &Stmt) {
        self.enter();
        self.stmt(stmt);
        self.leave();
    }

    fn enter(&mut self) {
        self.vars.enter();
        self.buffers.enter();
    }

    fn leave(&mut self) {
        self.vars.leave();
        self.buffers.leave();
    }

    /// Defines a variable for the rest of its scope.
    pub fn define(&mut self, var: &Var) {
        if !self.vars.define(var.clone()) {
            let message = format!("`{}` is defined where it is defined already", var.name());
            self.error(codes::BOUND_TWICE, message);
        }
    }

    /// Declares a buffer with memory of its own.
    fn declare_memory(&mut self, buffer: &Buffer) {
        self.memory.extend(buffer.constant_bytes().map(|bytes| (buffer.data.clone(), bytes)));
        self.declare(buffer);
    }

    fn declare(&mut self, buffer: &Buffer) {
        self.buffers.ensure(buffer);
        if let Some(size) = buffer.shape.iter().filter_map(PrimExpr::as_int).find(|size| *size < 0) {
            self.error(codes::BAD_TYPE, format!("the buffer `{}` has a dimension of {size} elements", buffer.name));
        }
        if let Some(block) = self.touched.last_mut() {
            block.own.push(buffer.data.clone());
        }
        // A pointer that an earlier statement defined is unchanged.
        self.vars.ensure(&buffer.data);
    }

    fn sees_buffer(&mut self, buffer: &Buffer) {
        if !self.buffers.sees(buffer) {
            let message = format!("nothing defines the buffer `{}` here", buffer.name);
            self.error(codes::OUT_OF_SCOPE, message);
            self.buffers.ensure(buffer);
        }
    }

    /// Reports an error at the statement being verified.
    pub fn error(&mut self, code: &'static str, message: impl Into<String>) -> Report<'_> {
        let message = self.locate_message(message.into());
        self.found.push(Diagnostic::error(code, message).label(self.span, ""));
        Report::last(&mut self.found)
    }

    /// Reports a warning.
    fn warn(&mut self, code: &'static str, message: impl Into<String>) -> Report<'_> {
        let message = self.locate_message(message.into());
        self.found.push(Diagnostic::warning(code, message).label(self.span, ""));
        Report::last(&mut self.found)
    }

    /// The message, naming the kernel if there is no source location.
    fn locate_message(&self, message: String) -> String {
        if self.span.is_none() { format!("in kernel `{}`: {message}", self.name) } else { message }
    }
}
