//! LowerOpaqueBlock: lowers blocks without axes to plain statements.
//!
//! Buffers of a block become allocations before its body, its predicate a condition around it. Loops of one iteration
//! are removed, loops bound to threads become thread launches, and pragma annotations become attributes; other
//! annotations of blocks are dropped.

use super::{each_kernel, misplaced, take};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Attrs, Module, Name, PrimExpr, Span,
    arith::Analyzer,
    prim::{IterKind, IterVar, Substitution},
    tir::{AttrNode, Block, Buffer, ForKind, Loop, Stmt, StmtKind, fresh},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "s_tir.LowerOpaqueBlock",
    doc: "Lowers blocks without axes to allocations, conditions and their bodies",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |name, kernel| {
        let mut unfit = None;
        kernel.body.walk(&mut |stmt| {
            if let StmtKind::Block(block) = &stmt.kind
                && let Some((why, help)) = not_opaque(block)
            {
                unfit.get_or_insert((why, help, stmt.span));
            }
        });
        if let Some((why, help, span)) = unfit {
            return Err(misplaced(&PASS, name, why, help, span));
        }
        let mut units = Substitution::default();
        let body = lower(take(&mut kernel.body), &mut units);
        kernel.body = if units.is_empty() { body } else { fresh::replace(&body, units) };
        Ok(())
    })
}

/// Returns the reason why a block is not opaque yet, and the pass to run.
fn not_opaque(block: &Block) -> Option<(&'static str, &'static str)> {
    if block.init.is_some() {
        Some(("a block has a `T.init()`", "run passes `s_tir.LowerInitBlock` and `s_tir.ConvertBlocksToOpaque` first"))
    } else if !block.axes.is_empty() {
        Some(("a block has axes", "run pass `s_tir.ConvertBlocksToOpaque` first"))
    } else if !block.match_buffers.is_empty() {
        Some(("a block matches regions of buffers", "run pass `s_tir.LowerMatchBuffer` first"))
    } else {
        None
    }
}

/// Lowers a statement and records the variables of loops of one iteration, outer ones first.
fn lower(mut stmt: Stmt, units: &mut Substitution) -> Stmt {
    if let StmtKind::For(l) = &stmt.kind
        && is_unit(l)
    {
        let min = if l.min.dtype() == l.var.dtype() { l.min.clone() } else { l.min.clone().cast(l.var.dtype()) };
        units.insert(l.var.clone(), min.substitute(units));
    }
    stmt.each_child_mut(&mut |child| *child = lower(take(child), units));
    match stmt.kind {
        StmtKind::Block(block) => of_block(*block, stmt.span),
        StmtKind::For(l) if is_unit(&l) => l.body,
        StmtKind::For(l) => of_loop(*l, stmt.span),
        _ => stmt,
    }
}

/// Returns true if a loop runs once and has no annotations.
fn is_unit(l: &Loop) -> bool {
    let bound = matches!(l.kind, ForKind::ThreadBinding(_));
    Analyzer::new().as_constant(&l.extent) == Some(1)
        && l.annotations.is_empty()
        && l.step.is_none()
        && !bound
        && !l.body.jumps()
}

fn of_block(block: Block, span: Span) -> Stmt {
    let body = match block.predicate {
        Some(predicate) => Stmt::new(StmtKind::If(predicate, Box::new(block.body), None)).at(span),
        None => block.body,
    };
    let allocations = block.alloc_buffers.into_iter().map(|buffer| Stmt::new(allocation(buffer)));
    let (pragmas, _) = split(&block.annotations);
    let body = Stmt::seq(allocations.chain([body]));
    pragmas.into_iter().rev().fold(body, |body, pragma| annotated(AttrNode::None, pragma, body))
}

/// Returns a buffer's allocation, with the annotations that TVM's pass gives it.
fn allocation(buffer: Buffer) -> StmtKind {
    let align = buffer.alignment();
    let annotations = Attrs::new().with("buffer_allocated_addr", Vec::<AttrValue>::new());
    StmtKind::Alloc(buffer, annotations.with("buffer_data_alignment", align))
}

fn of_loop(mut l: Loop, span: Span) -> Stmt {
    let (pragmas, others) = split(&l.annotations);
    let node = AttrNode::Value(AttrValue::Expr(l.var.expr()));
    let stmt = match &l.kind {
        ForKind::ThreadBinding(thread) => {
            let dom = Some((l.min.clone(), l.extent.clone()));
            let axis = IterVar { var: l.var.clone(), dom, kind: IterKind::ThreadIndex, thread: thread.clone() };
            let key = if thread.starts_with("vthread") { "virtual_thread" } else { "thread_extent" };
            let (node, value) = (AttrNode::Thread(axis), l.extent.clone());
            Stmt::new(StmtKind::Attr { node, key: key.into(), value, body: Box::new(l.body) }).at(span)
        }
        _ => {
            l.annotations = others;
            Stmt::new(StmtKind::For(Box::new(l))).at(span)
        }
    };
    pragmas.into_iter().rev().fold(stmt, |body, pragma| annotated(node.clone(), pragma, body))
}

/// Splits annotations into pragmas, by name, and others.
fn split(annotations: &Attrs) -> (Vec<(Name, PrimExpr)>, Attrs) {
    let value = |value: &AttrValue| match value {
        AttrValue::Expr(e) => Some(e.clone()),
        AttrValue::Int(v) => i32::try_from(*v).ok().map(PrimExpr::int32),
        AttrValue::Bool(v) => Some(PrimExpr::bool(*v)),
        AttrValue::Str(text) => Some(PrimExpr::str(text.clone())),
        _ => None,
    };
    let (mut pragmas, mut others) = (Vec::new(), Attrs::new());
    for (name, annotation) in annotations.iter() {
        match value(annotation).filter(|_| name.starts_with("pragma_")) {
            Some(value) => pragmas.push((name.clone(), value)),
            None => others.set(name.clone(), annotation.clone()),
        }
    }
    pragmas.sort_by(|a, b| a.0.cmp(&b.0));
    (pragmas, others)
}

fn annotated(node: AttrNode, (key, value): (Name, PrimExpr), body: Stmt) -> Stmt {
    let span = body.span;
    Stmt::new(StmtKind::Attr { node, key, value, body: Box::new(body) }).at(span)
}
