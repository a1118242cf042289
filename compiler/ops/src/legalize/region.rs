//! Read and write regions of blocks, from their expressions.

use crate::dims;
use hammock_ir::{
    PrimExpr,
    prim::PrimKind,
    tir::{Buffer, Region, Stmt, StmtKind},
};

/// The regions that expressions read, one per buffer in order of first use. If a buffer is read at several indices, or
/// at an index that is itself read from memory, the region covers the whole dimension.
pub fn reads<'e>(exprs: impl IntoIterator<Item = &'e PrimExpr>, except: &[&Buffer]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    for expr in exprs {
        expr.walk(&mut |e| {
            if let PrimKind::Load(buffer, indices, _) = e.kind()
                && !except.contains(&buffer)
            {
                add(&mut regions, buffer, indices);
            }
        });
    }
    regions
}

/// The buffers that a statement loads from or stores to, in order of first use, without those of its own.
pub fn accesses(stmt: &Stmt) -> (Vec<Buffer>, Vec<Buffer>) {
    let (mut loaded, mut stored, mut own) = (Vec::new(), Vec::new(), Vec::new());
    stmt.walk(&mut |s| {
        if let StmtKind::Alloc(buffer, _) = &s.kind {
            push_new(&mut own, buffer);
        }
        s.each_expr(&mut |e| {
            e.walk(&mut |e| {
                if let PrimKind::Load(buffer, ..) = e.kind() {
                    push_new(&mut loaded, buffer);
                }
            });
        });
        if let StmtKind::Store { buffer, .. } = &s.kind {
            push_new(&mut stored, buffer);
        }
    });
    [&mut loaded, &mut stored].into_iter().for_each(|list| list.retain(|b| !own.contains(b)));
    (loaded, stored)
}

fn push_new(list: &mut Vec<Buffer>, buffer: &Buffer) {
    if !list.contains(buffer) {
        list.push(buffer.clone());
    }
}

fn add(regions: &mut Vec<Region>, buffer: &Buffer, indices: &[PrimExpr]) {
    let point = |index: &PrimExpr, extent: &PrimExpr| match index.has_loads() {
        true => (PrimExpr::int64(0), extent.clone()),
        false => (index.clone(), PrimExpr::int64(1)),
    };
    let ranges = indices.iter().zip(&buffer.shape).map(|(i, e)| point(i, e)).collect();
    let new = Region { buffer: buffer.clone(), ranges };
    match regions.iter_mut().find(|r| r.buffer == *buffer) {
        Some(old) => widen(old, &new),
        None => regions.push(new),
    }
}

/// Extends a region to cover another of the same buffer.
fn widen(region: &mut Region, other: &Region) {
    let shape = region.buffer.shape.clone();
    for ((range, new), extent) in region.ranges.iter_mut().zip(&other.ranges).zip(shape) {
        let same = dims::equal(&range.0, &new.0) == Some(true) && dims::equal(&range.1, &new.1) == Some(true);
        if !same {
            *range = (PrimExpr::int64(0), extent);
        }
    }
}
