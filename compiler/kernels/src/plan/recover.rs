//! Blocks to stages.

use super::{Axis, Kernel, Part, Stage};
use hammock_ir::{
    PrimExpr,
    prim::{IterKind, PrimKind, Substitution},
    tir::{Block, Buffer, ForKind, Loop, Stmt, StmtKind},
};

/// Reads statements as parts of a kernel.
pub fn kernel(stmts: Vec<Stmt>) -> Kernel {
    let part = |stmt: Stmt| match stage(&stmt) {
        Some(stage) => Part::Stage(stage),
        None => Part::Other(stmt),
    };
    Kernel { parts: stmts.into_iter().map(part).collect() }
}

/// A nest of plain loops around a block with one store, each axis bound to a loop of its own.
fn stage(stmt: &Stmt) -> Option<Stage> {
    let mut loops: Vec<&Loop> = Vec::new();
    let mut inner = stmt;
    while let StmtKind::For(l) = &inner.kind {
        let plain = l.kind == ForKind::Serial && l.step.is_none() && l.annotations.is_empty();
        if !plain || l.min.as_int() != Some(0) {
            return None;
        }
        loops.push(l);
        inner = &l.body;
    }
    let StmtKind::Block(block) = &inner.kind else { return None };
    let axes = axes(block, &loops)?;
    let StmtKind::Store { buffer, indices, value, predicate: None } = &block.body.kind else { return None };
    let init = match &block.init {
        None => None,
        Some(init) => Some(initial(init, buffer, indices)?),
    };
    let reduces = axes.iter().any(|a| a.reduce);
    let moves = axes.iter().any(|a| a.reduce && indices.iter().any(|i| i.uses(&a.var)));
    if moves
        || (!reduces && (init.is_some() || reads(value, buffer)))
        || (reduces && !reads_only(value, buffer, indices))
    {
        return None;
    }
    Some(Stage {
        name: block.name.to_string(),
        axes,
        buffer: buffer.clone(),
        indices: indices.clone(),
        value: value.clone(),
        init,
        epilogue: None,
    })
}

fn axes(block: &Block, loops: &[&Loop]) -> Option<Vec<Axis>> {
    let plain = block.predicate.is_none() && block.match_buffers.is_empty() && block.alloc_buffers.is_empty();
    if !plain || block.no_realize || block.axes.len() != loops.len() {
        return None;
    }
    let mut order = Vec::with_capacity(loops.len());
    let mut taken = vec![false; block.axes.len()];
    for l in loops {
        let i = block.axes.iter().position(|a| a.binding.as_var() == Some(&l.var))?;
        let axis = &block.axes[i];
        let known = matches!(axis.kind, IterKind::Spatial | IterKind::Reduce);
        let whole = axis.dom.0.as_int() == Some(0) && crate::index::same_expr(&axis.dom.1, &l.extent);
        if !known || !whole || std::mem::replace(&mut taken[i], true) {
            return None;
        }
        let extent = PrimExpr::clone(&l.extent);
        order.push(Axis { var: axis.var.clone(), extent, reduce: axis.kind == IterKind::Reduce });
    }
    Some(order)
}

/// The value that `init` stores, when it stores to the same element.
fn initial(init: &Stmt, buffer: &Buffer, indices: &[PrimExpr]) -> Option<PrimExpr> {
    match &init.kind {
        StmtKind::Store { buffer: b, indices: i, value, predicate: None } => {
            let same = b == buffer && i.len() == indices.len();
            let same = same && i.iter().zip(indices).all(|(a, b)| crate::index::same_expr(a, b));
            (same && !reads(value, buffer)).then(|| value.clone())
        }
        _ => None,
    }
}

fn reads(value: &PrimExpr, buffer: &Buffer) -> bool {
    value.any(&mut |e| matches!(e.kind(), PrimKind::Load(b, ..) if b == buffer || b.data == buffer.data))
}

/// Whether every load of the buffer is of the element that is stored.
fn reads_only(value: &PrimExpr, buffer: &Buffer, indices: &[PrimExpr]) -> bool {
    !value.any(&mut |e| match e.kind() {
        PrimKind::Load(b, i, _) if b == buffer => {
            i.len() != indices.len() || !i.iter().zip(indices).all(|(a, b)| crate::index::same_expr(a, b))
        }
        PrimKind::Load(b, ..) => b.data == buffer.data,
        _ => false,
    })
}

/// The value with every load of the buffer replaced.
pub fn replace_loads(value: &PrimExpr, buffer: &Buffer, by: &PrimExpr) -> PrimExpr {
    match value.kind() {
        PrimKind::Load(b, ..) if b == buffer => by.clone(),
        _ => value.map_children(&mut |c| replace_loads(c, buffer, by)),
    }
}

/// Positions for axes.
pub fn substitution(axes: &[Axis], positions: &[PrimExpr]) -> Substitution {
    axes.iter().map(|a| a.var.clone()).zip(positions.iter().cloned()).collect()
}
