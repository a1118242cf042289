//! Bounds checks: an access that is not proved to be in bounds is checked when the kernel runs.
//!
//! Runs on block TIR, where each index still belongs to an axis. An index that [`Scope`] proves to be in bounds is left
//! as it is. Others that are linear in the enclosing loops are checked before the outermost loop, at their smallest and
//! largest values. The rest are checked at their use, as the value `check_index(index, extent, …)`, so that a condition
//! that guards an access also guards its check, and the access uses the checked value. The same goes for the bindings
//! of block axes and for match regions. Memory that is allocated, or viewed through another buffer, is checked once, at
//! its declaration.

mod access;
mod hoist;
mod memory;
mod pointer;

use crate::error::Reason;
use hammock_ir::{
    DType, PrimExpr, Span,
    bounds::{LARGEST_SIZE, Scope},
    prim::{PrimKind, Var, check},
    tir::{Block, Buffer, Loop, Param, PrimFunc, Stmt, StmtKind},
};
use hoist::Frame;
use rustc_hash::{FxHashMap, FxHashSet};

/// Numbers of accesses of a kernel that are proved to be in bounds, and that are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Proved accesses, which cost nothing.
    pub proved: usize,
    /// Accesses that are checked at run time, individually or before the loops around them.
    pub checked: usize,
}

/// Result of adding bounds checks.
#[derive(Default)]
pub struct Checked {
    /// Sizes that proofs assume to be at most [`LARGEST_SIZE`].
    pub bounded: Vec<PrimExpr>,
    /// Checks of the arguments, for the entry of the kernel.
    pub prologue: Vec<Stmt>,
    /// Numbers of proved and checked accesses.
    pub accesses: Accesses,
}

/// Adds checks to a body. `locate` returns the source location of a span, for messages.
///
/// # Errors
/// When the declaration of a buffer can never be valid.
pub fn check(body: &mut Stmt, func: &PrimFunc, locate: &dyn Fn(Span) -> Option<String>) -> Result<Checked, Reason> {
    let mut checker = Checker {
        scope: Scope::of(func),
        frames: Vec::new(),
        barrier: 0,
        conditional: false,
        depths: FxHashMap::default(),
        axes: FxHashMap::default(),
        memory: FxHashMap::default(),
        foreign: handles(func).map(|p| p.var.clone()).collect(),
        before: Vec::new(),
        prologue: Vec::new(),
        locate,
        span: func.span,
        accesses: Accesses::default(),
        failed: None,
    };
    func.buffers().for_each(|b| checker.add_argument(b));
    checker.root(body);
    if let Some(reason) = checker.failed {
        return Err(reason);
    }
    Ok(Checked { bounded: checker.scope.relied_on(), prologue: checker.prologue, accesses: checker.accesses })
}

/// Returns the parameters that are handles.
fn handles(func: &PrimFunc) -> impl Iterator<Item = &Param> {
    func.params.iter().filter(|p| p.buffer.is_none() && p.var.dtype().is_handle())
}

struct Checker<'a> {
    scope: Scope,
    /// Enclosing loops, outermost first.
    frames: Vec<Frame>,
    /// Number of these that contain a condition or an early exit around the current statement: nothing is hoisted out
    /// of them.
    barrier: usize,
    /// True if the current expression is evaluated conditionally.
    conditional: bool,
    /// Loop depth at which variables are bound, if not at depth zero.
    depths: FxHashMap<Var, usize>,
    /// The same for block axes whose bindings are not substituted.
    axes: FxHashMap<Var, usize>,
    /// Sizes in bytes of the memory behind pointers.
    memory: FxHashMap<Var, PrimExpr>,
    /// Pointers from the caller (`T.handle` parameters), whose memory the caller guarantees.
    foreign: FxHashSet<Var>,
    /// Statements to insert before the current one.
    before: Vec<Stmt>,
    prologue: Vec<Stmt>,
    locate: &'a dyn Fn(Span) -> Option<String>,
    span: Span,
    accesses: Accesses,
    failed: Option<Reason>,
}

impl Checker<'_> {
    /// Checks the sizes of the root block's buffers first, so that the block keeps the form that scheduling expects.
    fn root(&mut self, body: &mut Stmt) {
        self.stmt(body);
        let before = std::mem::take(&mut self.before);
        self.prologue.extend(before);
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        let outside = self.span;
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        self.statement(stmt);
        self.span = outside;
    }

    fn statement(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Seq(stmts) => self.sequence(stmts),
            StmtKind::For(_) => self.for_loop(stmt),
            StmtKind::While(condition, body) => {
                *condition = self.in_barrier(|s| s.expr(condition));
                self.in_barrier(|s| s.nested(body));
            }
            StmtKind::If(condition, then, otherwise) => {
                *condition = self.expr(condition);
                let condition = condition.clone();
                let outside = self.scope.clone();
                self.assume(&condition, true);
                self.in_barrier(|s| s.nested(then));
                self.scope = outside.clone();
                if let Some(otherwise) = otherwise {
                    self.assume(&condition, false);
                    self.in_barrier(|s| s.nested(otherwise));
                    self.scope = outside;
                }
            }
            StmtKind::Block(block) => {
                let checks = self.block(block);
                if !checks.is_empty() {
                    let predicate = block.predicate.take();
                    let block = std::mem::replace(stmt, Stmt::nop());
                    *stmt = Stmt::seq(checks.into_iter().chain([block]));
                    if let Some(predicate) = predicate {
                        let inner = std::mem::replace(stmt, Stmt::nop());
                        *stmt = Stmt::new(StmtKind::If(predicate, Box::new(inner), None));
                    }
                }
            }
            StmtKind::Store { buffer, indices, value, predicate } => {
                *value = self.expr(value);
                *predicate = predicate.as_ref().map(|p| self.expr(p));
                let given: Vec<PrimExpr> = indices.iter().map(|i| self.expr(i)).collect();
                *indices = self.access(buffer, given, predicate.as_ref());
            }
            StmtKind::Evaluate(e) | StmtKind::Return(e) => *e = self.expr(e),
            StmtKind::Bind(var, value) => {
                *value = self.expr(value);
                let (var, value) = (var.clone(), value.clone());
                self.bind(&var, &value);
            }
            StmtKind::Assert(condition, ..) => {
                *condition = self.expr(condition);
                let condition = condition.clone();
                self.assume(&condition, true);
            }
            StmtKind::Alloc(buffer, _) => {
                let buffer = buffer.clone();
                self.allocate(&buffer);
            }
            StmtKind::Decl(buffer) => {
                let buffer = buffer.clone();
                self.declare(&buffer);
            }
            StmtKind::Attr { value, body, .. } => {
                *value = self.expr(value);
                self.nested(body);
            }
            StmtKind::Break | StmtKind::Continue => {}
        }
    }

    /// Checks each statement, and inserts what belongs before it.
    fn sequence(&mut self, stmts: &mut Vec<Stmt>) {
        let outer = std::mem::take(&mut self.before);
        let mut all = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            self.stmt(&mut stmt);
            all.append(&mut self.before);
            match stmt.kind {
                StmtKind::Seq(inner) if !inner.iter().any(Stmt::declares) => all.extend(inner),
                _ => all.push(stmt),
            }
        }
        *stmts = all;
        self.before = outer;
    }

    /// Checks a nested statement, and inserts what belongs before it.
    fn nested(&mut self, stmt: &mut Stmt) {
        let outer = std::mem::take(&mut self.before);
        self.stmt(stmt);
        let before = std::mem::replace(&mut self.before, outer);
        if !before.is_empty() {
            let inner = std::mem::replace(stmt, Stmt::nop());
            *stmt = Stmt::seq(before.into_iter().chain([inner]));
        }
    }

    fn for_loop(&mut self, stmt: &mut Stmt) {
        let StmtKind::For(l) = &mut stmt.kind else { return };
        l.min = self.expr(&l.min);
        l.extent = self.expr(&l.extent);
        let outside = self.scope.clone();
        self.scope.enter_loop(l);
        let hoisted = self.loop_body(l);
        self.scope = outside;
        if !hoisted.is_empty() {
            let nest = std::mem::replace(stmt, Stmt::nop());
            *stmt = Stmt::seq(hoisted.into_iter().chain([nest]));
        }
    }

    /// Checks a loop's body; returns the checks hoisted out of it.
    fn loop_body(&mut self, l: &mut Loop) -> Vec<Stmt> {
        let barrier = self.barrier;
        self.frames.push(Frame::default());
        if hoist::may_leave(&l.body) {
            self.barrier = self.frames.len();
        }
        self.nested(&mut l.body);
        self.barrier = barrier;
        self.frames.pop().map(|frame| frame.hoisted).unwrap_or_default()
    }

    /// Checks a block; returns the statements before it, which run if its predicate holds. Its init comes last, since
    /// it mostly writes what the body writes.
    fn block(&mut self, block: &mut Block) -> Vec<Stmt> {
        let outside = self.scope.clone();
        let mut checks = Vec::new();
        block.predicate = block.predicate.as_ref().map(|p| self.expr(p));
        let predicate = block.predicate.clone();
        predicate.iter().for_each(|p| self.assume(p, true));
        for axis in &mut block.axes {
            axis.binding = self.in_barrier(|s| s.expr(&axis.binding));
            // The binding is used several times, so it must not change in between.
            if axis.binding.has_loads() {
                let value = axis.var.fresh();
                self.bind(&value, &axis.binding);
                let read = std::mem::replace(&mut axis.binding, value.expr());
                checks.push(Stmt::new(StmtKind::Bind(value, read)).at(self.span));
            }
        }
        for axis in &block.axes {
            self.axes.insert(axis.var.clone(), self.frames.len());
            let inside = self.scope.enter_axis(axis);
            if !inside {
                checks.push(self.axis_check(block, axis));
            }
        }
        let barrier = self.barrier;
        if predicate.is_some() {
            self.barrier = self.frames.len();
        }
        block.alloc_buffers.iter().for_each(|b| self.allocate(b));
        let matched: Vec<Stmt> = block.match_buffers.iter().flat_map(|m| self.match_region(m)).collect();
        self.nested(&mut block.body);
        if let Some(init) = &mut block.init {
            self.in_barrier(|s| s.nested(init));
        }
        for part in block.init.iter_mut().chain([&mut block.body]).filter(|_| !matched.is_empty()) {
            let inner = std::mem::replace(part, Stmt::nop());
            *part = Stmt::seq(matched.iter().cloned().chain([inner]));
        }
        self.barrier = barrier;
        self.scope = outside;
        checks
    }

    /// Runs `f` with hoisting out of the enclosing loops disabled.
    fn in_barrier<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let barrier = std::mem::replace(&mut self.barrier, self.frames.len());
        let result = f(self);
        self.barrier = barrier;
        result
    }

    /// Assumes a statement's condition, unless it reads memory that may change.
    fn assume(&mut self, condition: &PrimExpr, holds: bool) {
        let reads = condition.any(&mut |e| match e.kind() {
            PrimKind::Load(..) => true,
            PrimKind::Call(call) => !call.is_pure(),
            _ => false,
        });
        match (reads, holds) {
            (true, _) => {}
            (false, true) => self.scope.assume(condition),
            (false, false) => self.scope.assume_not(condition),
        }
    }

    fn bind(&mut self, var: &Var, value: &PrimExpr) {
        self.depths.insert(var.clone(), self.frames.len());
        if var.dtype().is_handle() {
            return self.bind_pointer(var, value);
        }
        self.scope.bind(var, value);
    }

    /// Source location of the current statement, as the end of a message.
    fn line(&self) -> String {
        check::suffix(self.locate, self.span)
    }
}

/// Returns the check of a size that proofs assume to be at most [`LARGEST_SIZE`].
pub fn check_bounded(size: &PrimExpr) -> Stmt {
    let name = size.to_string();
    let texts = [format!("a dimension has {name} = "), " elements, which is more than ".into(), String::new()];
    check_stmt(size.clone(), PrimExpr::int64(LARGEST_SIZE + 1), &texts)
}

/// Wraps an index in a check at its use.
fn checked(index: PrimExpr, extent: PrimExpr, texts: &[String; 3], mask: Option<&PrimExpr>) -> PrimExpr {
    let lanes = index.dtype().lanes;
    let wide = DType::INT64.with_lanes(lanes);
    let extent = extent.cast(DType::INT64);
    let extent = if lanes == 1 { extent } else { extent.broadcast(lanes) };
    let texts = texts.iter().map(|text| PrimExpr::str(text.as_str()));
    let args = [index.cast(wide), extent].into_iter().chain(texts).chain(mask.cloned()).collect();
    PrimExpr::intrin(check::INDEX, args, wide)
}

/// Returns a statement that checks an index.
pub fn check_stmt(index: PrimExpr, extent: PrimExpr, texts: &[String; 3]) -> Stmt {
    Stmt::new(StmtKind::Evaluate(checked(index, extent, texts, None)))
}

/// Returns the texts of an out-of-bounds error.
fn outside_of(buffer: &Buffer, axis: usize, line: &str) -> [String; 3] {
    let name = &buffer.name;
    ["index ".into(), format!(" is outside of dimension {axis} of buffer `{name}`, whose size is "), line.to_owned()]
}

/// Visits the free variables of an expression.
fn each_free_var(e: &PrimExpr, f: &mut dyn FnMut(&Var)) {
    e.walk(&mut |e| match e.kind() {
        PrimKind::Var(v) => f(v),
        PrimKind::Load(buffer, ..) => f(&buffer.data),
        _ => {}
    });
}

#[cfg(test)]
mod tests;
