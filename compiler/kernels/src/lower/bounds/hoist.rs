//! Hoists bounds checks out of loops.

use super::{Checker, check_stmt, each_free_var, outside_of};
use hammock_ir::{
    PrimExpr,
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::index::same_expr;

/// A loop around the current statement.
#[derive(Default)]
pub struct Frame {
    /// Checks hoisted before it.
    pub hoisted: Vec<Stmt>,
    /// Indices that these checks cover.
    covered: Vec<(Buffer, usize, PrimExpr)>,
}

impl Checker<'_> {
    /// Hoists the check of an index: checks its minimum and maximum before the loops. Returns true if that is possible.
    pub fn hoist(&mut self, buffer: &Buffer, axis: usize, index: &PrimExpr) -> bool {
        let known = |(b, a, i): &(Buffer, usize, PrimExpr)| b == buffer && *a == axis && same_expr(i, index);
        if self.frames.iter().any(|frame| frame.covered.iter().any(known)) {
            return true;
        }
        if self.conditional {
            return false;
        }
        let first = self.outermost(buffer, axis, index);
        let before = |from| Some((from, self.checks_before(from, buffer, axis, index)?));
        let Some((from, checks)) = (first..self.frames.len()).find_map(before) else { return false };
        let frame = &mut self.frames[from];
        frame.hoisted.extend(checks);
        frame.covered.push((buffer.clone(), axis, index.clone()));
        true
    }

    /// Returns the depth of the outermost loop before which all operands but loop variables are defined.
    fn outermost(&self, buffer: &Buffer, axis: usize, index: &PrimExpr) -> usize {
        let mut from = self.barrier;
        for e in [index, &buffer.shape[axis]] {
            each_free_var(e, &mut |v| from = from.max(self.depths.get(v).copied().unwrap_or(0)));
        }
        from
    }

    /// Returns the checks before a loop; `None` if their operands are not defined there.
    fn checks_before(&self, from: usize, buffer: &Buffer, axis: usize, index: &PrimExpr) -> Option<Vec<Stmt>> {
        let conditions = self.scope.runs(from)?;
        let (least, greatest) = self.scope.extremes(index, from)?;
        let ends = if same_expr(&least, &greatest) { vec![least] } else { vec![greatest, least] };
        // Trip counts of inner loops may depend on other variables.
        let known = |e: &PrimExpr| {
            let mut known = true;
            each_free_var(&self.scope.original(e), &mut |v| {
                let depth = self.depths.get(v).or(self.axes.get(v));
                known &= depth.is_none_or(|depth| *depth <= from);
            });
            known
        };
        if !ends.iter().all(|e| self.scope.is_exact(e)) || !ends.iter().chain(&conditions).all(known) {
            return None;
        }
        let texts = outside_of(buffer, axis, &self.line());
        let extent = &buffer.shape[axis];
        let open = ends.iter().filter(|e| !self.scope.is_inside(&self.scope.original(e), extent));
        let checks: Vec<Stmt> =
            open.map(|e| check_stmt(self.scope.original(e), extent.clone(), &texts).at(self.span)).collect();
        Some(match conditions.into_iter().reduce(PrimExpr::and) {
            Some(runs) => vec![Stmt::new(StmtKind::If(runs, Box::new(Stmt::seq(checks)), None)).at(self.span)],
            None => checks,
        })
    }
}

/// Returns true if a body may exit its loop or the kernel early.
pub fn may_leave(body: &Stmt) -> bool {
    let mut found = false;
    body.walk(&mut |s| {
        found |= matches!(
            s.kind,
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Assert(..) | StmtKind::While(..)
        );
    });
    found
}
