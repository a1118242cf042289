//! Simplifies indices of reshapes with symbolic sizes: removes divisions and remainders using the ranges of loops.
//!
//! For `i < m` and `j < n`, a reshape loads from `(i * n + j) // n % m` and `(i * n + j) % n`, which are `i` and `j`.
//! Later steps need affine indices to see the access pattern. This runs before bounds checks, so that these apply to
//! the final indices. Sizes are assumed not to overflow (see [`prim`](hammock_ir::prim)); divisors must be positive, so
//! that no error is lost.

use super::guard_div_shift::factors;
use hammock_ir::{
    PrimExpr,
    arith::{Analyzer, Interval},
    bounds::LARGEST_SIZE,
    prim::{PrimKind, Var, check},
    tir::{Loop, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// Simplifies the indices in the body of a function.
pub fn simplify_reshapes(func: &PrimFunc, body: &mut Stmt) {
    let mut found = false;
    body.walk(&mut |s| s.each_expr(&mut |e| found |= count_divisions(e) > 0));
    if !found {
        return;
    }
    let mut known = Analyzer::default();
    let sizes = func.buffers().flat_map(|buffer| &buffer.shape);
    sizes.filter_map(PrimExpr::as_var).for_each(|size| known.bound(size, Interval::new(0, LARGEST_SIZE)));
    Context { known, loops: FxHashMap::default() }.stmt(body);
}

/// Counts the divisions and remainders with a non-constant divisor.
fn count_divisions(e: &PrimExpr) -> usize {
    let mut count = 0;
    e.walk(&mut |x| count += usize::from(divisor(x).is_some()));
    count
}

/// Returns the divisor of an expression, if it is not a constant.
fn divisor(e: &PrimExpr) -> Option<&PrimExpr> {
    match e.kind() {
        PrimKind::Binary(op, _, d) if check::divides(*op) => Some(d).filter(|d| d.as_int().is_none()),
        _ => None,
    }
}

/// Facts that hold at a statement.
#[derive(Clone)]
struct Context {
    known: Analyzer,
    /// Minimum and extent of loop variables.
    loops: FxHashMap<Var, (PrimExpr, PrimExpr)>,
}

impl Context {
    fn stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::For(l) => {
                let mut inner = self.clone();
                inner.enter(l);
                inner.stmt(&mut l.body);
            }
            StmtKind::Block(block) => {
                let mut inner = self.clone();
                for axis in &block.axes {
                    if let Some((min, extent)) = axis.binding.as_var().and_then(|var| self.loops.get(var)) {
                        inner.known.bind(&axis.var, min, extent);
                    }
                }
                block.init.iter_mut().for_each(|init| inner.stmt(init));
                inner.stmt(&mut block.body);
            }
            StmtKind::Store { indices, value, .. } => {
                indices.iter_mut().for_each(|index| *index = self.index(index));
                *value = self.expr(value);
            }
            _ => stmt.each_child_mut(&mut |s| self.stmt(s)),
        }
    }

    /// Adds facts for the body of a loop, which runs only if no factor of its extent is zero.
    fn enter(&mut self, l: &Loop) {
        if l.step.is_some() {
            return;
        }
        for factor in factors(&l.extent).into_iter().filter_map(PrimExpr::as_var) {
            if self.known.interval(&factor.expr()).min >= 0 {
                self.known.bound(factor, Interval::new(1, i64::MAX));
            }
        }
        self.known.bind(&l.var, &l.min, &l.extent);
        self.loops.insert(l.var.clone(), (l.min.clone(), l.extent.clone()));
    }

    /// Simplifies the indices of the loads in a value.
    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) => {
                let indices = indices.iter().map(|index| self.index(index)).collect();
                PrimExpr::load_masked(buffer, indices, mask.as_ref().map(|mask| self.expr(mask)))
            }
            _ => e.map_children(&mut |c| self.expr(c)),
        }
    }

    fn index(&self, e: &PrimExpr) -> PrimExpr {
        let e = self.expr(e);
        let mut is_positive = true;
        e.walk(&mut |x| is_positive &= divisor(x).is_none_or(|d| self.known.interval(d).min > 0));
        let simple = Some(&e).filter(|e| is_positive && count_divisions(e) > 0).map(|e| self.known.simplify(e));
        let gains = |simple: &PrimExpr| count_divisions(simple) <= count_divisions(&e) && simple.size() < e.size();
        simple.filter(gains).unwrap_or(e)
    }
}
