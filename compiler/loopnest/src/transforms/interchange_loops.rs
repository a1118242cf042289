//! Interchanges serial loops of opaque statements with the parallel loops around them.
//!
//! A scatter or scan along an outer axis updates one line at a time, each element in another cache line. The innermost
//! parallel loops become the innermost serial ones, so adjacent iterations write adjacent elements. The order of
//! updates along a line remains, and iterations of parallel loops are independent. A single long loop is split, so that
//! its chunks still run in parallel.

use crate::{
    Axis, Kernel, OpaqueStmts, Part,
    raise::BlockNest,
    steps,
    transforms::{Scope, Transform},
};
use hammock_ir::{
    PrimExpr,
    prim::{IterKind, Substitution, Var},
    tir::{Block, BlockAxis, Loop, Stmt, StmtKind},
};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "interchange-loops",
    doc: "Moves loops over contiguous elements into serial loops, as of a scatter along an outer axis",
    may_alias: false,
    suits_gpus: false,
    run,
};

/// Number of adjacent elements after which no more loops are moved: a cache line of float32.
const MIN_ELEMENTS: i64 = 16;

/// Maximum number of elements of a loop that is moved alone: longer ones are split.
const CHUNK: i64 = 64;

fn run(kernel: &mut Kernel, _: &mut Scope<'_>) {
    for part in &mut kernel.parts {
        if let Part::Opaque(opaque) = part
            && let Some(interchanged) = interchange(opaque)
        {
            *opaque = interchanged;
        }
    }
}

fn interchange(opaque: &OpaqueStmts) -> Option<OpaqueStmts> {
    let nest = BlockNest::of(&opaque.stmt)?;
    if nest.axes.len() != opaque.parallel_extents.len() || nest.block.init.is_some() {
        return None;
    }
    let (loops, store) = serial_loops(&nest.block.body)?;
    let (outer, moved) = nest.axes.split_at(nest.axes.len() - contiguous_axes(&nest.axes, store)?);
    let uses_moved = |e: &PrimExpr| moved.iter().any(|axis| e.uses(&axis.var));
    if loops.iter().any(|l| uses_moved(&l.extent) || uses_moved(&l.min)) {
        return None;
    }
    let (chunks, inner) = match moved {
        [axis] => split(axis, store),
        _ => (None, moved.iter().rev().fold(store.clone(), wrap)),
    };
    let body = loops.into_iter().rev().fold(inner, |body, l| {
        let l = Loop { body, ..l.clone() };
        Stmt::new(StmtKind::For(Box::new(l)))
    });
    let axes: Vec<Axis> = outer.iter().cloned().chain(chunks).collect();
    let parallel_extents = axes.iter().map(|axis| axis.extent.clone()).collect();
    Some(OpaqueStmts { stmt: block_nest(nest.block, &axes, body), parallel_extents })
}

/// Returns the perfectly nested serial loops of a block, at least one, and the store in them.
fn serial_loops(body: &Stmt) -> Option<(Vec<&Loop>, &Stmt)> {
    let (mut loops, mut inner) = (Vec::new(), body);
    while let StmtKind::For(l) = &inner.kind {
        loops.push(&**l);
        inner = &l.body;
    }
    (!loops.is_empty() && matches!(inner.kind, StmtKind::Store { .. })).then_some((loops, inner))
}

/// Returns the number of innermost axes that are the last indices of a store, up to [`MIN_ELEMENTS`] elements.
fn contiguous_axes(axes: &[Axis], store: &Stmt) -> Option<usize> {
    let StmtKind::Store { indices, .. } = &store.kind else { return None };
    let (mut count, mut elements) = (0, 1i64);
    for (axis, index) in axes.iter().rev().zip(indices.iter().rev()) {
        if elements >= MIN_ELEMENTS || index.as_var() != Some(&axis.var) {
            break;
        }
        count += 1;
        elements = elements.saturating_mul(axis.extent.as_int().unwrap_or(MIN_ELEMENTS));
    }
    (count > 0).then_some(count)
}

/// Returns the axis of chunks of a long axis, and the loop over the elements of a chunk.
fn split(axis: &Axis, store: &Stmt) -> (Option<Axis>, Stmt) {
    if axis.extent.as_int().is_some_and(|extent| extent <= CHUNK) {
        return (None, wrap(store.clone(), axis));
    }
    let (chunk, element) = (Var::int64(axis.var.name().clone()), Var::int64("element"));
    let start = chunk.expr() * PrimExpr::int64(CHUNK);
    let mut store = store.clone();
    store.substitute(&Substitution::from_iter([(axis.var.clone(), &start + element.expr())]));
    let length = match axis.extent.as_int() {
        Some(extent) if extent % CHUNK == 0 => CHUNK.into(),
        _ => (&axis.extent - start).min(PrimExpr::int64(CHUNK)),
    };
    let chunks = Axis { var: chunk, extent: steps(&axis.extent, CHUNK), reduce: false };
    (Some(chunks), Stmt::serial(element, length, store))
}

fn wrap(body: Stmt, axis: &Axis) -> Stmt {
    Stmt::serial(axis.var.clone(), axis.extent.clone(), body)
}

/// Returns loops over axes around a block with another body.
fn block_nest(block: &Block, axes: &[Axis], body: Stmt) -> Stmt {
    let vars: Vec<Var> = axes.iter().map(|axis| Var::int64(axis.var.name().clone())).collect();
    let bind = |(axis, var): (&Axis, &Var)| BlockAxis {
        var: axis.var.clone(),
        dom: (0i64.into(), axis.extent.clone()),
        kind: IterKind::Spatial,
        binding: var.expr(),
    };
    let block = Block { axes: axes.iter().zip(&vars).map(bind).collect(), body, ..block.clone() };
    axes.iter().zip(vars).rev().fold(block.into(), |body, (axis, var)| Stmt::serial(var, axis.extent.clone(), body))
}
