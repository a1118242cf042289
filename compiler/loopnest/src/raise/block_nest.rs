//! Perfect loop nests around a block.

use crate::{Axis, index::Simplifier};
use hammock_ir::{
    PrimExpr, equal,
    prim::{IterKind, Var},
    tir::{Block, ForKind, Loop, Stmt, StmtKind},
};

/// A perfect loop nest around a block, with one loop per axis.
pub struct BlockNest<'s> {
    /// The block.
    pub block: &'s Block,
    /// Its axes in loop order.
    pub axes: Vec<Axis>,
    loop_vars: Vec<Var>,
}

impl<'s> BlockNest<'s> {
    /// Reads a statement; `None` if it is not of this form.
    pub fn of(stmt: &'s Stmt) -> Option<Self> {
        let mut loops: Vec<&Loop> = Vec::new();
        let mut inner = stmt;
        while let StmtKind::For(l) = &inner.kind {
            let plain = l.kind == ForKind::Serial && l.step.is_none() && l.annotations.is_empty();
            if !plain || simple(&l.min).as_int() != Some(0) {
                return None;
            }
            loops.push(l);
            inner = &l.body;
        }
        let StmtKind::Block(block) = &inner.kind else { return None };
        let loop_vars = loops.iter().map(|l| l.var.clone()).collect();
        Some(BlockNest { block, axes: axes(block, &loops)?, loop_vars })
    }

    /// Returns true if the block can run for all values of the axes in any loops: extents and expressions do not use
    /// the variables of the loops, and no extent is negative.
    pub fn is_rectangular(&self) -> bool {
        let uses_loop = |e: &PrimExpr| e.any(&mut |e| e.as_var().is_some_and(|var| self.loop_vars.contains(var)));
        let is_valid = |axis: &Axis| !uses_loop(&axis.extent) && axis.extent.as_int().is_none_or(|extent| extent >= 0);
        let mut is_closed = true;
        for stmt in self.block.init.iter().chain([&self.block.body]) {
            stmt.walk(&mut |stmt| stmt.each_expr(&mut |e| is_closed &= !uses_loop(e)));
        }
        is_closed && self.axes.iter().all(is_valid)
    }
}

/// Returns the axes in the order of the loops that they are bound to.
fn axes(block: &Block, loops: &[&Loop]) -> Option<Vec<Axis>> {
    let plain = block.predicate.is_none() && block.match_buffers.is_empty() && block.alloc_buffers.is_empty();
    if !plain || block.no_realize || block.axes.len() != loops.len() {
        return None;
    }
    let bindings: Vec<PrimExpr> = block.axes.iter().map(|axis| simple(&axis.binding)).collect();
    let mut order = Vec::with_capacity(loops.len());
    let mut taken = vec![false; block.axes.len()];
    for l in loops {
        let i = bindings.iter().position(|binding| binding.as_var() == Some(&l.var))?;
        let (axis, extent) = (&block.axes[i], simple(&l.extent));
        let known = matches!(axis.kind, IterKind::Spatial | IterKind::Reduce);
        let size = simple(&axis.dom.1);
        let same = equal::exprs(&size, &extent) || size.as_int().is_some() && size.as_int() == extent.as_int();
        let whole = simple(&axis.dom.0).as_int() == Some(0) && same;
        if !known || !whole || std::mem::replace(&mut taken[i], true) {
            return None;
        }
        order.push(Axis { var: axis.var.clone(), extent, reduce: axis.kind == IterKind::Reduce });
    }
    Some(order)
}

/// Simplifies an integer, and drops casts of narrow variables, which are wide by now.
fn simple(e: &PrimExpr) -> PrimExpr {
    Simplifier::default().index(e)
}
