//! Indices of reshapes between symbolic sizes: quotients and remainders that the loops around them decide go away.
//!
//! Where `i` runs up to `m` and `j` up to `n`, a reshape loads from `(i * n + j) // n % m` and `(i * n + j) % n`. That is
//! `i` and `j`, of which all that follows can tell how the kernel goes through memory. This comes first, so that accesses
//! are proved to be in bounds as they will be made. As everywhere, sizes are numbers without end (see
//! [`prim`](hammock_ir::prim)); a divisor has to be positive, so that no error is lost.

use super::guard_div_shift::factors;
use crate::check;
use hammock_ir::{
    PrimExpr,
    arith::{Analyzer, Interval},
    bounds::LARGEST_SIZE,
    prim::{PrimKind, Var},
    tir::{Loop, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// Simplifies such indices in the body of a function.
pub fn simplify(func: &PrimFunc, body: &mut Stmt) {
    let mut found = false;
    body.walk(&mut |s| s.each_expr(&mut |e| found |= quotients(e) > 0));
    if !found {
        return;
    }
    let mut known = Analyzer::default();
    let sizes = func.buffers().flat_map(|buffer| &buffer.shape);
    sizes.filter_map(PrimExpr::as_var).for_each(|size| known.bound(size, Interval::new(0, LARGEST_SIZE)));
    Place { known, loops: FxHashMap::default() }.stmt(body);
}

/// How many quotients and remainders by what is no number an expression has.
fn quotients(e: &PrimExpr) -> usize {
    let mut count = 0;
    e.walk(&mut |x| count += usize::from(divisor(x).is_some()));
    count
}

/// What an expression divides by, if that is no number.
fn divisor(e: &PrimExpr) -> Option<&PrimExpr> {
    match e.kind() {
        PrimKind::Binary(op, _, d) if check::divides(*op) => Some(d).filter(|d| d.as_int().is_none()),
        _ => None,
    }
}

/// What is known where a statement stands.
#[derive(Clone)]
struct Place {
    known: Analyzer,
    /// From where on, and over how many values, the variables of loops run.
    loops: FxHashMap<Var, (PrimExpr, PrimExpr)>,
}

impl Place {
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

    /// Notes what holds in the body of a loop, which runs only if no factor of its extent is zero.
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
    /// A value, with the indices of its loads simplified.
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
        let simple = Some(&e).filter(|e| is_positive && quotients(e) > 0).map(|e| self.known.simplify(e));
        let gains = |simple: &PrimExpr| quotients(simple) <= quotients(&e) && simple.size() < e.size();
        simple.filter(gains).unwrap_or(e)
    }
}
