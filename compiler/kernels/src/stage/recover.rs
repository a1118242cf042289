//! Blocks to stages.

use super::{Axis, Kernel, Part, Stage, substitution};
use crate::index::{Simplifier, same_expr};
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
        if !plain || Simplifier::default().index(&l.min).as_int() != Some(0) {
            return None;
        }
        loops.push(l);
        inner = &l.body;
    }
    let StmtKind::Block(block) = &inner.kind else { return None };
    let mut axes = axes(block, &loops)?;
    let indices = Indices::new(&mut axes);
    let StmtKind::Store { buffer, indices: at, value, predicate: None } = &block.body.kind else { return None };
    let (at, value) = (indices.simple(at), indices.value(value));
    let init = match &block.init {
        None => None,
        Some(init) => Some(initial(init, buffer, &at, &indices)?),
    };
    let reduces = axes.iter().any(|a| a.reduce);
    let moves = axes.iter().any(|a| a.reduce && at.iter().any(|i| i.uses(&a.var)));
    if moves || (!reduces && (init.is_some() || reads(&value, buffer))) || (reduces && !reads_only(&value, buffer, &at))
    {
        return None;
    }
    let (name, buffer) = (block.name.to_string(), buffer.clone());
    Some(Stage { name, axes, buffer, indices: at, value, init, epilogue: None })
}

fn axes(block: &Block, loops: &[&Loop]) -> Option<Vec<Axis>> {
    let plain = block.predicate.is_none() && block.match_buffers.is_empty() && block.alloc_buffers.is_empty();
    if !plain || block.no_realize || block.axes.len() != loops.len() {
        return None;
    }
    // Casts of narrow variables, which are wide by now, go.
    let simple = |e: &PrimExpr| Simplifier::default().index(e);
    let bindings: Vec<PrimExpr> = block.axes.iter().map(|axis| simple(&axis.binding)).collect();
    let mut order = Vec::with_capacity(loops.len());
    let mut taken = vec![false; block.axes.len()];
    for l in loops {
        let i = bindings.iter().position(|binding| binding.as_var() == Some(&l.var))?;
        let (axis, extent) = (&block.axes[i], simple(&l.extent));
        let known = matches!(axis.kind, IterKind::Spatial | IterKind::Reduce);
        let whole = simple(&axis.dom.0).as_int() == Some(0) && same_expr(&simple(&axis.dom.1), &extent);
        if !known || !whole || std::mem::replace(&mut taken[i], true) {
            return None;
        }
        order.push(Axis { var: axis.var.clone(), extent, reduce: axis.kind == IterKind::Reduce });
    }
    Some(order)
}

/// How indices are written: simplified, by the axes that have more than one value.
struct Indices {
    simplifier: Simplifier,
    units: Substitution,
}

impl Indices {
    /// Removes the spatial axes of one value.
    fn new(axes: &mut Vec<Axis>) -> Indices {
        let is_unit = |axis: &mut Axis| !axis.reduce && axis.extent.as_int() == Some(1);
        let units: Vec<Axis> = axes.extract_if(.., is_unit).collect();
        let mut simplifier = Simplifier::default();
        for axis in axes {
            simplifier.learn(&axis.var, &PrimExpr::int64(0), &axis.extent);
        }
        Indices { simplifier, units: substitution(&units, &vec![PrimExpr::int64(0); units.len()]) }
    }

    fn simple(&self, indices: &[PrimExpr]) -> Vec<PrimExpr> {
        indices.iter().map(|index| self.simplifier.index(&self.value(index))).collect()
    }

    /// An expression whose loads have simple indices.
    fn value(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Var(var) => self.units.get(var).unwrap_or(e).clone(),
            PrimKind::Load(buffer, indices, None) => PrimExpr::load(buffer, self.simple(indices)),
            _ => e.map_children(&mut |child| self.value(child)),
        }
    }
}

/// The value that `init` stores, when it stores to the same element.
fn initial(init: &Stmt, buffer: &Buffer, at: &[PrimExpr], indices: &Indices) -> Option<PrimExpr> {
    match &init.kind {
        StmtKind::Store { buffer: b, indices: i, value, predicate: None } => {
            let (i, value) = (indices.simple(i), indices.value(value));
            let same = b == buffer && i.len() == at.len() && i.iter().zip(at).all(|(a, b)| same_expr(a, b));
            (same && !reads(&value, buffer)).then_some(value)
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
            i.len() != indices.len() || !i.iter().zip(indices).all(|(a, b)| same_expr(a, b))
        }
        PrimKind::Load(b, ..) => b.data == buffer.data,
        _ => false,
    })
}
