//! Turns vectorized loops into vector operations.
//!
//! Each value that depends on the loop variable becomes a vector with one lane per iteration; other values stay scalar
//! and are broadcast where the two meet. Indices that are linear in the variable become ramps, conditions become masks:
//! a store under a condition is a masked store, a lazy select becomes a select between values with masked loads. A
//! statement without a vector form runs as a serial loop.

mod expr;

use crate::schedule::cpu::MAX_LANES;
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::{Buffer, ForKind, Loop, Stmt, StmtKind, fresh},
};
use hammock_loopnest::{access::guarded, index::Simplifier};
use rustc_hash::FxHashMap;

/// Vectorizes all vectorized loops in flat code, innermost first. `masks` is true if masked loads cost no more than
/// others.
pub fn vectorize(mut stmt: Stmt, masks: bool) -> Stmt {
    stmt.each_child_mut(&mut |s| *s = vectorize(std::mem::replace(s, Stmt::nop()), masks));
    match stmt.kind {
        StmtKind::For(l) if l.kind == ForKind::Vectorized => vectorize_loop(*l, masks).at(stmt.span),
        _ => stmt,
    }
}

fn vectorize_loop(mut l: Loop, masks: bool) -> Stmt {
    match (l.extent.as_int(), &l.step) {
        (Some(n), None) if (2..=MAX_LANES).contains(&n) => {
            let mut vectorizer = Vectorizer::new(&l, n as u16, masks);
            vectorizer.stmt(&l.body).unwrap_or_else(|| serial(l))
        }
        (Some(n), None) if n > MAX_LANES => match [64, 32, 16, 8, 4].into_iter().find(|lanes| n % lanes == 0) {
            Some(lanes) => split(l, n / lanes, lanes, masks),
            None => serial(l),
        },
        _ => {
            l.kind = ForKind::Serial;
            serial(l)
        }
    }
}

fn serial(mut l: Loop) -> Stmt {
    l.kind = ForKind::Serial;
    Stmt::new(StmtKind::For(Box::new(l)))
}

/// Strip-mines a loop into `outer` iterations of `lanes` each.
fn split(l: Loop, outer: i64, lanes: i64, masks: bool) -> Stmt {
    let var = Var::int64(l.var.name().clone());
    let min = &l.min + var.expr() * PrimExpr::int64(lanes);
    let inner = Loop { min, extent: PrimExpr::int64(lanes), ..l };
    Stmt::serial(var, PrimExpr::int64(outer), vectorize_loop(inner, masks))
}

/// Vectorization of one loop.
struct Vectorizer {
    var: Var,
    min: PrimExpr,
    lanes: u16,
    /// Vectors that replace scalars bound in the body.
    vectors: FxHashMap<Var, PrimExpr>,
    /// Condition over the loop variable under which the current code runs; `None` if always.
    mask: Option<PrimExpr>,
    simplifier: Simplifier,
    /// True if masked loads cost no more than others.
    masks: bool,
}

impl Vectorizer {
    fn new(l: &Loop, lanes: u16, masks: bool) -> Self {
        let mut simplifier = Simplifier::default();
        simplifier.learn(&l.var, &l.min, &l.extent);
        let (var, min) = (l.var.clone(), l.min.clone());
        Vectorizer { var, min, lanes, vectors: FxHashMap::default(), mask: None, simplifier, masks }
    }

    /// Returns the vector form of a statement, if it has one.
    fn stmt(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let kind = match &stmt.kind {
            StmtKind::Seq(stmts) => {
                let stmts = stmts.iter().map(|s| self.stmt(s).or_else(|| self.scalarized(s)));
                StmtKind::Seq(stmts.collect::<Option<_>>()?)
            }
            StmtKind::Store { buffer, indices, value, predicate } => {
                return self.store(stmt, buffer, &indices[0], value, predicate.as_ref());
            }
            StmtKind::For(l) => {
                let varies = self.varies(&l.min) || self.varies(&l.extent) || l.step.iter().any(|s| self.varies(s));
                if varies || l.body.jumps() && self.mask.is_some() {
                    return None;
                }
                let body = self.stmt(&l.body)?;
                StmtKind::For(Box::new(Loop { body, ..(**l).clone() }))
            }
            StmtKind::If(condition, then, otherwise) => {
                return self.branch(condition, then, otherwise.as_deref());
            }
            StmtKind::Bind(var, value) => match self.expr(value)? {
                value if value.dtype() == var.dtype() => StmtKind::Bind(var.clone(), value),
                value => {
                    let vector = Var::new(var.name().clone(), value.dtype());
                    self.vectors.insert(var.clone(), vector.expr());
                    StmtKind::Bind(vector, value)
                }
            },
            StmtKind::Evaluate(e) if e.as_int().is_some() => return Some(Stmt::nop()),
            StmtKind::Decl(_) => return Some(stmt.clone()),
            _ => return None,
        };
        Some(Stmt { kind, span: stmt.span })
    }

    fn store(
        &mut self,
        stmt: &Stmt,
        buffer: &Buffer,
        index: &PrimExpr,
        value: &PrimExpr,
        predicate: Option<&PrimExpr>,
    ) -> Option<Stmt> {
        let reads_itself = || value.any(&mut |e| matches!(e.kind(), PrimKind::Load(b, ..) if b == buffer));
        if !self.varies(index) {
            let once = self.mask.is_none() && predicate.is_none() && !self.varies(value) && !reads_itself();
            return once.then(|| stmt.clone());
        }
        let index = self.expr(index)?;
        let value = self.stored(value)?;
        let predicate = match predicate {
            Some(own) => self.within(own, |v| v.mask_vector())??,
            None => self.mask_vector()?,
        };
        let kind = StmtKind::Store { buffer: buffer.clone(), indices: vec![index], value, predicate };
        Some(Stmt { kind, span: stmt.span })
    }

    /// Returns the vector form of a stored value. A lazy select at its root stays a branch, which may skip several
    /// loads.
    fn stored(&mut self, value: &PrimExpr) -> Option<PrimExpr> {
        let masks = self.masks;
        self.masks &= guarded(value).is_none();
        let vector = self.expr(value).map(|vector| self.broadcast(vector));
        self.masks = masks;
        vector
    }

    /// Vectorizes a branch: uniform branches stay, others become masked statements.
    fn branch(&mut self, condition: &PrimExpr, then: &Stmt, otherwise: Option<&Stmt>) -> Option<Stmt> {
        if !self.varies(condition) && self.mask.is_none() {
            let then = Box::new(self.stmt(then)?);
            let otherwise = match otherwise {
                Some(s) => Some(Box::new(self.stmt(s)?)),
                None => None,
            };
            return Some(Stmt::new(StmtKind::If(condition.clone(), then, otherwise)));
        }
        let then = self.within(condition, |v| v.stmt(then))?;
        let otherwise = match otherwise {
            Some(s) => self.within(&condition.clone().not(), |v| v.stmt(s))??,
            None => Stmt::nop(),
        };
        Some(Stmt::seq([then?, otherwise]))
    }

    /// Runs `f` under an additional mask.
    fn within<T>(&mut self, condition: &PrimExpr, f: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let outer = self.mask.clone();
        self.mask = Some(outer.clone().map_or(condition.clone(), |m| m.and(condition.clone())));
        let result = f(self);
        self.mask = outer;
        Some(result)
    }

    /// Returns the mask as a vector; `Some(None)` if all iterations run.
    fn mask_vector(&mut self) -> Option<Option<PrimExpr>> {
        let Some(mask) = self.mask.take() else { return Some(None) };
        let vector = self.conjunction(&mask);
        self.mask = Some(mask);
        vector.map(Some)
    }

    /// Returns a condition as a vector. A second condition loads only where the first one holds.
    fn conjunction(&mut self, condition: &PrimExpr) -> Option<PrimExpr> {
        match condition.kind() {
            PrimKind::Binary(BinaryOp::And, first, second) if second.has_loads() => {
                let vector = self.conjunction(first)?;
                self.mask = Some(first.clone());
                let second = self.expr(second).map(|second| self.broadcast(second));
                self.mask = None;
                Some(vector.and(second?))
            }
            _ => self.expr(condition).map(|condition| self.broadcast(condition)),
        }
    }

    /// Returns a statement as a serial loop, unless it needs values that are already vectors.
    fn scalarized(&self, stmt: &Stmt) -> Option<Stmt> {
        let uses_vectors = |e: &PrimExpr| self.vectors.keys().any(|v| e.uses(v));
        if stmt.declares() || self.needs_vectors(stmt) || self.mask.as_ref().is_some_and(uses_vectors) {
            return None;
        }
        let var = self.var.fresh();
        let copy = |s: &Stmt| fresh::copy(s, Substitution::from_iter([(self.var.clone(), &self.min + var.expr())]));
        let body = match &self.mask {
            Some(mask) => copy(&Stmt::new(StmtKind::If(mask.clone(), Box::new(stmt.clone()), None))),
            None => copy(stmt),
        };
        Some(Stmt::serial(var, PrimExpr::int64(i64::from(self.lanes)), body))
    }

    fn needs_vectors(&self, stmt: &Stmt) -> bool {
        let mut found = false;
        stmt.walk(&mut |s| s.each_expr(&mut |e| found |= self.vectors.keys().any(|v| e.uses(v))));
        found
    }

    /// Returns true if an expression differs between iterations.
    fn varies(&self, e: &PrimExpr) -> bool {
        e.any(&mut |x| x.as_var().is_some_and(|v| *v == self.var || self.vectors.contains_key(v)))
    }

    fn broadcast(&self, e: PrimExpr) -> PrimExpr {
        if e.dtype().is_scalar() { e.broadcast(self.lanes) } else { e }
    }
}
