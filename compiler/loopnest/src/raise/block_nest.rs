//! Stages: blocks that store one element per iteration of their axes, whose loops a scheduler may reorder freely.
//!
//! Kernel fusion and loop generation both read kernels as stages.

use super::{Block, BlockAxis, Buffer, ForKind, Loop, Stmt, StmtKind};
use crate::{
    PrimExpr, equal,
    prim::{IterKind, PrimKind},
};

/// The annotation of a summation block with the approximate number of partial accumulators, for the accuracy that these
/// give. Summing in order is allowed as well.
pub const SUM_PARTS: &str = "sum_parts";

/// A perfect loop nest around a block, with one loop per axis.
pub struct Nest<'s> {
    /// The block.
    pub block: &'s Block,
    /// Its axes in loop order, with their extents simplified by `simple`.
    pub axes: Vec<(&'s BlockAxis, PrimExpr)>,
}

/// A perfect loop nest around a block with one store.
pub struct Stage<'s> {
    /// The block.
    pub block: &'s Block,
    /// Its axes in loop order, with their extents simplified by `simple`.
    pub axes: Vec<(&'s BlockAxis, PrimExpr)>,
    /// The buffer stored to.
    pub buffer: &'s Buffer,
    /// Indices of the store.
    pub indices: &'s [PrimExpr],
    /// Stored value.
    pub value: &'s PrimExpr,
    /// Initial value, which the first iteration of the reduction axes sees instead of the buffer's contents.
    pub init: Option<Init<'s>>,
}

/// A store to the buffer of a stage.
#[derive(Clone, Copy)]
pub struct Init<'s> {
    /// Indices of the store.
    pub indices: &'s [PrimExpr],
    /// Stored value.
    pub value: &'s PrimExpr,
}

impl<'s> Nest<'s> {
    /// Reads a statement; `None` if it is not of this form. `simple` simplifies integers.
    pub fn of(stmt: &'s Stmt, simple: impl Fn(&PrimExpr) -> PrimExpr) -> Option<Self> {
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
        Some(Nest { block, axes: axes(block, &loops, simple)? })
    }
}

impl<'s> Stage<'s> {
    /// Reads a statement; `None` if it is not of this form. `simple` simplifies integers.
    pub fn of(stmt: &'s Stmt, simple: impl Fn(&PrimExpr) -> PrimExpr) -> Option<Self> {
        let Nest { block, axes } = Nest::of(stmt, simple)?;
        let StmtKind::Store { buffer, indices, value, predicate: None } = &block.body.kind else { return None };
        let init = match block.init.as_ref().map(|init| &init.kind) {
            None => None,
            Some(StmtKind::Store { buffer: own, indices, value, predicate: None }) if own == buffer => {
                Some(Init { indices, value })
            }
            Some(_) => return None,
        };
        Some(Stage { block, axes, buffer, indices, value, init })
    }
}

fn axes<'s>(
    block: &'s Block,
    loops: &[&Loop],
    simple: impl Fn(&PrimExpr) -> PrimExpr,
) -> Option<Vec<(&'s BlockAxis, PrimExpr)>> {
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
        order.push((axis, extent));
    }
    Some(order)
}

/// Approximate cost of computing a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Operations, including those of indices; a math function counts as many.
    pub operations: u32,
    /// Loads.
    pub loads: u32,
}

impl Cost {
    /// Returns the cost of one element of a value.
    pub fn of(value: &PrimExpr) -> Cost {
        let mut cost = Cost::default();
        value.walk(&mut |e| match e.kind() {
            PrimKind::Var(_) | PrimKind::Int(_) | PrimKind::Float(_) => {}
            PrimKind::Load(..) => cost.loads += 1,
            PrimKind::Call(call) => cost.operations += call.cost(),
            _ => cost.operations += 1,
        });
        cost
    }

    /// Total cost, assuming that loads hit the cache.
    pub fn total(self) -> u32 {
        self.operations + self.loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DType,
        prim::{Var, intrinsics::MATH_COST},
    };

    #[test]
    fn functions_cost_more_than_loads_and_choices() {
        let (buffer, i) = (Buffer::new("x", vec![PrimExpr::int64(8)], DType::FLOAT32), Var::int64("i"));
        let load = PrimExpr::load(&buffer, vec![i.expr() + PrimExpr::int64(1)]);
        let sum = load.clone() + load.clone();
        assert_eq!(Cost::of(&sum), Cost { operations: 3, loads: 2 });
        let chosen = i.expr().lt(PrimExpr::int64(2)).if_then_else(load.clone(), load.clone());
        assert_eq!(Cost::of(&chosen), Cost { operations: 4, loads: 2 });
        assert_eq!(Cost::of(&load.unary("exp")).total(), MATH_COST + 2);
    }
}
