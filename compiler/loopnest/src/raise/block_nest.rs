//! Perfect loop nests around a block.

use crate::{Axis, index::Simplifier};
use hammock_ir::{
    PrimExpr, equal,
    prim::IterKind,
    tir::{Block, ForKind, Loop, Stmt, StmtKind},
};

/// A perfect loop nest around a block, with one loop per axis.
pub struct BlockNest<'s> {
    /// The block.
    pub block: &'s Block,
    /// Its axes in loop order.
    pub axes: Vec<Axis>,
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
        Some(BlockNest { block, axes: axes(block, &loops)? })
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
