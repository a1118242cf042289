//! Kernels' statements that give each element of a buffer a value of its own.

use hammock_ir::{
    Attrs, PrimExpr,
    prim::{IterKind, Var},
    tir::{Block, BlockAxis, Buffer, Region, Stmt},
};

/// A block in loops over all of a buffer. `value` takes the place of an element, and gives its value and what is read for
/// it.
pub fn filled(buffer: &Buffer, annotations: Attrs, value: impl FnOnce(&[PrimExpr]) -> (PrimExpr, Vec<Region>)) -> Stmt {
    let loops: Vec<Var> = (0..buffer.ndim()).map(|at| Var::int64(format!("ax{at}"))).collect();
    let axis = |(var, size): (&Var, &PrimExpr)| BlockAxis {
        var: Var::int64(format!("v_{}", var.name())),
        dom: (PrimExpr::int64(0), size.clone()),
        kind: IterKind::Spatial,
        binding: var.expr(),
    };
    let axes: Vec<BlockAxis> = loops.iter().zip(&buffer.shape).map(axis).collect();
    let at: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
    let (value, reads) = value(&at);
    let block = Block {
        name: buffer.name.clone(),
        axes,
        reads: Some(reads),
        writes: Some(vec![Region::point(buffer, at.clone())]),
        annotations,
        ..Block::root(Vec::new(), Stmt::store(buffer, at, value))
    };
    let nest = |body, (var, size): (&Var, &PrimExpr)| Stmt::serial(var.clone(), size.clone(), body);
    loops.iter().zip(&buffer.shape).rev().fold(Stmt::from(block), nest)
}
