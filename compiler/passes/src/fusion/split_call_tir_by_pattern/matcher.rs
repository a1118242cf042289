//! Matching of loop nests against a pattern.
//!
//! Loops, axes, buffers and sizes of a pattern are variables; scalar parameters match constants. Addition and
//! multiplication are commutative, and a scalar that is added or multiplied may be missing: it then matches 0 or 1.

use hammock_ir::{
    PrimExpr, equal,
    prim::{BinaryOp, PrimKind, Var},
    tir::{Block, Buffer, ForKind, Loop, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of pairs of expressions compared: operand orders multiply.
const MAX_STEPS: usize = 10_000;

/// A match.
#[derive(Clone, Default)]
pub struct Matched {
    /// Values of the pattern's variables: loops, axes, sizes, and scalar parameters.
    pub vars: FxHashMap<Var, PrimExpr>,
    /// Values of the pattern's buffers.
    pub buffers: FxHashMap<Buffer, Buffer>,
}

/// Returns the statements of a kernel's root block.
pub fn statements(kernel: &PrimFunc) -> Option<&[Stmt]> {
    let StmtKind::Block(root) = &kernel.body.kind else { return None };
    match &root.body.kind {
        _ if !root.axes.is_empty() || !root.match_buffers.is_empty() || root.init.is_some() => None,
        StmtKind::Seq(stmts) => Some(stmts),
        _ => Some(std::slice::from_ref(&root.body)),
    }
}

/// Matches the pattern against the first statements of a kernel.
pub fn match_pattern(pattern: &PrimFunc, stmts: &[Stmt]) -> Option<Matched> {
    let parts = statements(pattern)?;
    let scalars = pattern.params.iter().filter(|param| param.buffer.is_none()).map(|param| param.var.clone());
    let sizes = pattern.buffers().flat_map(|buffer| &buffer.shape).filter_map(|size| size.as_var().cloned());
    let mut matcher =
        Matcher { scalars: scalars.collect(), sizes: sizes.collect(), steps: 0, found: Matched::default() };
    let all = parts.len() <= stmts.len() && parts.iter().zip(stmts).all(|(part, stmt)| matcher.stmt(part, stmt));
    let whole = pattern.buffers().all(|buffer| matcher.found.buffers.contains_key(buffer))
        && matcher.scalars.iter().all(|var| matcher.found.vars.contains_key(var));
    (all && whole).then_some(matcher.found)
}

struct Matcher {
    /// Parameters that match constants.
    scalars: FxHashSet<Var>,
    /// Variables that match sizes.
    sizes: FxHashSet<Var>,
    steps: usize,
    found: Matched,
}

impl Matcher {
    fn stmt(&mut self, pattern: &Stmt, stmt: &Stmt) -> bool {
        match (&pattern.kind, &stmt.kind) {
            (StmtKind::For(p), StmtKind::For(s)) => self.of_loop(p, s),
            (StmtKind::Block(p), StmtKind::Block(s)) => self.block(p, s),
            (
                StmtKind::Store { buffer: p, indices: at, value: v, predicate: None },
                StmtKind::Store { buffer: s, indices, value, predicate: None },
            ) => self.buffer(p, s) && self.exprs(at, indices) && self.expr(v, value),
            _ => false,
        }
    }

    fn of_loop(&mut self, p: &Loop, s: &Loop) -> bool {
        let plain = |l: &Loop| l.kind == ForKind::Serial && l.step.is_none() && l.annotations.is_empty();
        plain(p) && plain(s) && self.expr(&p.min, &s.min) && self.expr(&p.extent, &s.extent) && {
            self.found.vars.insert(p.var.clone(), s.var.expr());
            self.stmt(&p.body, &s.body)
        }
    }

    fn block(&mut self, p: &Block, s: &Block) -> bool {
        let plain = |b: &Block| b.predicate.is_none() && b.alloc_buffers.is_empty() && b.match_buffers.is_empty();
        if !plain(p) || !plain(s) || p.axes.len() != s.axes.len() || p.init.is_some() != s.init.is_some() {
            return false;
        }
        for (p, s) in p.axes.iter().zip(&s.axes) {
            let same = p.kind == s.kind
                && self.expr(&p.dom.0, &s.dom.0)
                && self.expr(&p.dom.1, &s.dom.1)
                && self.expr(&p.binding, &s.binding);
            if !same {
                return false;
            }
            self.found.vars.insert(p.var.clone(), s.var.expr());
        }
        let init = match (&p.init, &s.init) {
            (Some(p), Some(s)) => self.stmt(p, s),
            _ => true,
        };
        init && self.stmt(&p.body, &s.body)
    }

    fn buffer(&mut self, p: &Buffer, s: &Buffer) -> bool {
        if let Some(known) = self.found.buffers.get(p) {
            return known == s;
        }
        let compact = |b: &Buffer| b.strides.is_empty() && b.elem_offset.as_ref().is_none_or(|e| e.as_int() == Some(0));
        let fits = p.dtype == s.dtype && p.scope == s.scope && compact(p) && compact(s);
        let is_free = !self.found.buffers.values().any(|taken| taken == s);
        fits && is_free && self.exprs(&p.shape, &s.shape) && {
            self.found.buffers.insert(p.clone(), s.clone());
            true
        }
    }

    fn exprs(&mut self, p: &[PrimExpr], s: &[PrimExpr]) -> bool {
        p.len() == s.len() && p.iter().zip(s).all(|(p, s)| self.expr(p, s))
    }

    /// Returns the result of `f`; bindings are undone if it is false.
    fn attempt(&mut self, f: impl FnOnce(&mut Self) -> bool) -> bool {
        let before = self.found.clone();
        let holds = f(self);
        if !holds {
            self.found = before;
        }
        holds
    }

    fn expr(&mut self, p: &PrimExpr, e: &PrimExpr) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return false;
        }
        match (p.kind(), e.kind()) {
            (PrimKind::Var(var), _) => self.var(var, e),
            (PrimKind::Binary(op @ (BinaryOp::Add | BinaryOp::Mul), x, y), _) => {
                let both = |a: &PrimExpr, b: &PrimExpr| match e.kind() {
                    PrimKind::Binary(other, c, d) if other == op => {
                        Some([(a.clone(), c.clone()), (b.clone(), d.clone())])
                    }
                    _ => None,
                };
                let pairs = [both(x, y), both(y, x)];
                pairs.into_iter().flatten().any(|pairs| self.attempt(|m| pairs.iter().all(|(p, e)| m.expr(p, e))))
                    || self.without(*op, x, y, e)
                    || self.without(*op, y, x, e)
            }
            (PrimKind::Load(buffer, at, None), PrimKind::Load(other, indices, None)) => {
                self.buffer(buffer, other) && self.exprs(at, indices)
            }
            _ => self.same_kind(p, e),
        }
    }

    fn var(&mut self, var: &Var, e: &PrimExpr) -> bool {
        if let Some(known) = self.found.vars.get(var) {
            return equal::exprs(known, e);
        }
        let is_constant = matches!(e.kind(), PrimKind::Int(_) | PrimKind::Float(_));
        let stands =
            e.dtype() == var.dtype() && (self.scalars.contains(var) && is_constant || self.sizes.contains(var));
        if stands {
            self.found.vars.insert(var.clone(), e.clone());
        }
        stands
    }

    /// Matches `scalar + rest` or `scalar * rest` against `rest` alone.
    fn without(&mut self, op: BinaryOp, scalar: &PrimExpr, rest: &PrimExpr, e: &PrimExpr) -> bool {
        let Some(var) = scalar.as_var().filter(|var| self.scalars.contains(*var)) else { return false };
        let neutral = PrimExpr::constant(if op == BinaryOp::Mul { 1.0 } else { 0.0 }, var.dtype());
        self.attempt(|m| m.var(var, &neutral) && m.expr(rest, e))
    }

    /// Matches the same operation on operands that match.
    fn same_kind(&mut self, p: &PrimExpr, e: &PrimExpr) -> bool {
        let (mut operands, mut others) = (Vec::new(), Vec::new());
        p.each_child(&mut |child| operands.push(child));
        e.each_child(&mut |child| others.push(child));
        if operands.is_empty() || others.is_empty() {
            return equal::exprs(p, e);
        }
        let alike = match (p.kind(), e.kind()) {
            (PrimKind::Binary(a, ..), PrimKind::Binary(b, ..)) => a == b,
            (PrimKind::Call(a), PrimKind::Call(b)) => a.callee == b.callee && a.attrs.is_empty() && b.attrs.is_empty(),
            (PrimKind::Not(_), PrimKind::Not(_))
            | (PrimKind::Cast(_), PrimKind::Cast(_))
            | (PrimKind::Select(..), PrimKind::Select(..)) => true,
            _ => false,
        };
        alike
            && p.ty() == e.ty()
            && operands.len() == others.len()
            && operands.iter().zip(others).all(|(p, e)| self.expr(p, e))
    }
}
