//! Keeps accesses inside their buffers: an access that is not proved is checked when the kernel runs.
//!
//! Runs on block TIR, where each index still belongs to an axis. An index that [`Scope`] proves to be in bounds is left as
//! it is. Of the others, those that are linear in the loops around them are checked before the outermost loop, at their
//! smallest and largest values. The rest are checked where they are used, as the value `check_index(index, extent, …)`, so
//! that a condition that guards an access also guards its check, and the checked value is the one used. The same goes for
//! the values of blocks' axes and for regions that blocks name. Memory that is allocated, or viewed through another
//! buffer, is checked once, where it is declared.

mod access;
mod hoist;
mod memory;
mod pointer;

use crate::{check, error::Reason};
use hammock_ir::{
    DType, PrimExpr, Span,
    bounds::{LARGEST_SIZE, Scope},
    prim::{PrimKind, Var},
    tir::{Block, Buffer, Loop, Param, PrimFunc, Stmt, StmtKind},
};
use hoist::Frame;
use rustc_hash::{FxHashMap, FxHashSet};

/// How many accesses of a kernel were proved to be inside of their buffers, and how many are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Cost nothing.
    pub proved: usize,
    /// Are checked when the kernel runs, each by itself or before the loops around it.
    pub checked: usize,
}

/// What a checked kernel begins with, and what was found.
#[derive(Default)]
pub struct Checked {
    /// Sizes that proofs rely on to be no larger than [`LARGEST_SIZE`].
    pub limited: Vec<PrimExpr>,
    /// Checks of what arguments bring with them, for the kernel's beginning.
    pub prologue: Vec<Stmt>,
    /// How many accesses need checks.
    pub accesses: Accesses,
}

/// Adds checks to a body. `place` says where in a text a span lies, for messages.
///
/// # Errors
/// When a buffer can never be what it is declared to be.
pub fn check(body: &mut Stmt, func: &PrimFunc, place: &dyn Fn(Span) -> Option<String>) -> Result<Checked, Reason> {
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
        place,
        span: func.span,
        accesses: Accesses::default(),
        failed: None,
    };
    func.buffers().for_each(|b| checker.add_argument(b));
    checker.root(body);
    if let Some(reason) = checker.failed {
        return Err(reason);
    }
    Ok(Checked { limited: checker.scope.relied_on(), prologue: checker.prologue, accesses: checker.accesses })
}

/// Parameters that are addresses.
fn handles(func: &PrimFunc) -> impl Iterator<Item = &Param> {
    func.params.iter().filter(|p| p.buffer.is_none() && p.var.dtype().is_handle())
}

struct Checker<'a> {
    scope: Scope,
    /// The loops around, outermost first.
    frames: Vec<Frame>,
    /// How many of these have a condition, or a way out, inside of them: nothing moves out of those.
    barrier: usize,
    /// True if the expression at hand is evaluated only in some cases.
    conditional: bool,
    /// In how many loops variables are bound that are not bound outside of all.
    depths: FxHashMap<Var, usize>,
    /// The same of blocks' axes, where an index does not say what they stand for.
    axes: FxHashMap<Var, usize>,
    /// Bytes behind pointers.
    memory: FxHashMap<Var, PrimExpr>,
    /// Pointers that the program around gives (`T.handle` parameters), which vouches for what is behind them.
    foreign: FxHashSet<Var>,
    /// What must stand before the statement at hand.
    before: Vec<Stmt>,
    prologue: Vec<Stmt>,
    place: &'a dyn Fn(Span) -> Option<String>,
    span: Span,
    accesses: Accesses,
    failed: Option<Reason>,
}

impl Checker<'_> {
    /// The root block's own buffers are measured first of all, so that the block stays what schedules know.
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

    /// Each statement, after what must stand before it.
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

    /// A statement inside of another, with what must stand before it.
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

    /// The loop's body; gives what was moved out of it.
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

    /// What must stand before a block, once its predicate holds. Its init comes last: it mostly writes where the body
    /// does.
    fn block(&mut self, block: &mut Block) -> Vec<Stmt> {
        let outside = self.scope.clone();
        let mut checks = Vec::new();
        block.predicate = block.predicate.as_ref().map(|p| self.expr(p));
        let predicate = block.predicate.clone();
        predicate.iter().for_each(|p| self.assume(p, true));
        for axis in &mut block.axes {
            axis.binding = self.in_barrier(|s| s.expr(&axis.binding));
            // What is read once is used often: it must not change meanwhile.
            if axis.binding.any(&mut |e| matches!(e.kind(), PrimKind::Load(..))) {
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

    /// Runs `f` where nothing may move out of the loops around.
    fn in_barrier<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let barrier = std::mem::replace(&mut self.barrier, self.frames.len());
        let result = f(self);
        self.barrier = barrier;
        result
    }

    /// Learns from a statement's condition, which reads nothing that may change.
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

    /// Where the statement at hand stands, to end a message with.
    fn line(&self) -> String {
        check::suffix(self.place, self.span)
    }
}

/// A check of a size that proofs relied on to be no larger than [`LARGEST_SIZE`].
pub fn limit(size: &PrimExpr) -> Stmt {
    let name = size.to_string();
    let texts = [format!("a dimension has {name} = "), " elements, which is more than ".into(), String::new()];
    check_stmt(size.clone(), PrimExpr::int64(LARGEST_SIZE + 1), &texts)
}

/// An index that is checked where it is evaluated.
fn checked(index: PrimExpr, extent: PrimExpr, texts: &[String; 3], mask: Option<&PrimExpr>) -> PrimExpr {
    let lanes = index.dtype().lanes;
    let wide = DType::INT64.with_lanes(lanes);
    let extent = extent.cast(DType::INT64);
    let extent = if lanes == 1 { extent } else { extent.broadcast(lanes) };
    let texts = texts.iter().map(|text| PrimExpr::str(text.as_str()));
    let args = [index.cast(wide), extent].into_iter().chain(texts).chain(mask.cloned()).collect();
    PrimExpr::intrin(check::INDEX, args, wide)
}

/// A statement that checks an index.
pub fn check_stmt(index: PrimExpr, extent: PrimExpr, texts: &[String; 3]) -> Stmt {
    Stmt::new(StmtKind::Evaluate(checked(index, extent, texts, None)))
}

/// The texts of an error about an index of a buffer.
fn outside_of(buffer: &Buffer, axis: usize, line: &str) -> [String; 3] {
    let name = &buffer.name;
    ["index ".into(), format!(" is outside of dimension {axis} of buffer `{name}`, whose size is "), line.to_owned()]
}

/// The variables of an expression, but not those that it binds itself.
fn each_free_var(e: &PrimExpr, f: &mut dyn FnMut(&Var)) {
    e.walk(&mut |e| match e.kind() {
        PrimKind::Var(v) => f(v),
        PrimKind::Load(buffer, ..) => f(&buffer.data),
        _ => {}
    });
}

#[cfg(test)]
mod tests;
