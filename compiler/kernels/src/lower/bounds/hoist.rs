//! Checks that move out of loops.

use super::{Checker, check_stmt, each_free_var, outside_of};
use crate::index::same_expr;
use hammock_ir::{
    PrimExpr,
    tir::{Buffer, Stmt, StmtKind},
};

/// A loop around the statement at hand.
#[derive(Default)]
pub struct Frame {
    /// Checks to make before it.
    pub hoisted: Vec<Stmt>,
    /// The indices that they are for.
    covered: Vec<(Buffer, usize, PrimExpr)>,
}

impl Checker<'_> {
    /// Returns true if the index is checked before the loops around: at its least and its greatest value.
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

    /// The number of the outermost loop before which everything is known that is not a loop's variable.
    fn outermost(&self, buffer: &Buffer, axis: usize, index: &PrimExpr) -> usize {
        let mut from = self.barrier;
        for e in [index, &buffer.shape[axis]] {
            each_free_var(e, &mut |v| from = from.max(self.depths.get(v).copied().unwrap_or(0)));
        }
        from
    }

    /// The checks to make before a loop; `None` where what they need is not known there.
    fn checks_before(&self, from: usize, buffer: &Buffer, axis: usize, index: &PrimExpr) -> Option<Vec<Stmt>> {
        let conditions = self.scope.runs(from)?;
        let (least, greatest) = self.scope.extremes(index, from)?;
        let ends = if same_expr(&least, &greatest) { vec![least] } else { vec![greatest, least] };
        // How often loops inside run may depend on more than the index does.
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

/// Returns true if the body may end its loop or the kernel.
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
