//! Loop nests that compute each element of a buffer independently.

use hammock_ir::{
    Attrs, PrimExpr,
    prim::{IterKind, Var},
    tir::{Block, BlockAxis, Buffer, Region, Stmt},
};

/// Returns a block in loops over all elements of a buffer. `value` maps the indices of an element to its value and to
/// the regions read for it.
pub fn fill_block(
    buffer: &Buffer,
    annotations: Attrs,
    value: impl FnOnce(&[PrimExpr]) -> (PrimExpr, Vec<Region>),
) -> Stmt {
    let index = |(at, size): (usize, &PrimExpr)| Var::new(format!("ax{at}"), size.dtype());
    let loops: Vec<Var> = buffer.shape.iter().enumerate().map(index).collect();
    let axis = |(var, size): (&Var, &PrimExpr)| BlockAxis {
        var: Var::new(format!("v_{}", var.name()), size.dtype()),
        dom: (PrimExpr::int(0, size.dtype()), size.clone()),
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
