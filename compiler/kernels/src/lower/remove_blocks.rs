//! Removes blocks: axes are replaced by their bindings, predicates and reduction inits become conditions, and buffers
//! of a block become allocations.

use hammock_ir::{
    Attrs, PrimExpr,
    prim::{IterKind, Substitution},
    tir::{Block, Stmt, StmtKind},
};
use hammock_loopnest::index::same_expr;

/// Removes all blocks from a body. Flattening has resolved their match regions.
pub fn remove_blocks(mut stmt: Stmt) -> Stmt {
    let children = &mut |s: &mut Stmt| *s = remove_blocks(std::mem::replace(s, Stmt::nop()));
    stmt.each_child_mut(children);
    match stmt.kind {
        StmtKind::Block(block) => expand_block(*block).at(stmt.span),
        _ => stmt,
    }
}

fn expand_block(block: Block) -> Stmt {
    let values: Substitution = block.axes.iter().map(|a| (a.var.clone(), a.binding.clone())).collect();
    let first = block
        .axes
        .iter()
        .filter(|a| a.kind == IterKind::Reduce && !same_expr(&a.binding, &a.dom.0))
        .map(|a| a.binding.clone().eq(&a.dom.0))
        .reduce(PrimExpr::and);
    let init = block.init.map(|init| match first {
        Some(first) => Stmt::new(StmtKind::If(first, Box::new(init), None)),
        None => init,
    });
    let mut body = Stmt::seq(init.into_iter().chain([block.body]));
    body.substitute(&values);
    if let Some(predicate) = block.predicate {
        body = Stmt::new(StmtKind::If(predicate, Box::new(body), None));
    }
    let allocations = block.alloc_buffers.into_iter().map(|b| Stmt::new(StmtKind::Alloc(b, Attrs::new())));
    Stmt::seq(allocations.chain([body]))
}
