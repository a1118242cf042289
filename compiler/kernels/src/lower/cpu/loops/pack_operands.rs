//! Operand packing: copies what a load reads inside some loops into a buffer in the tile's order.

use super::nest::{Domain, Nest, SignFlip, offset_by};
use crate::schedule::Staged;
use hammock_ir::{
    Attrs, PrimExpr,
    prim::{
        Var,
        flat::{Dot, PACKED_DTYPE},
    },
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{Epilogue, Stage, dots, index::same_expr, replaced, substitution};

/// Maximum size in bytes of a packed operand on the stack.
const MAX_STACK_BYTES: i64 = 8 << 10;

/// A stage whose operands are packed inside some loops.
pub struct PackedOperands {
    /// Statements before the inner loops.
    pub stmts: Vec<Stmt>,
    /// Stage that loads from the packed operands, and whose axes count from the current position.
    pub stage: Stage,
    /// Its parts, rewritten in the same way.
    pub parts: Vec<PrimExpr>,
    /// Operand of the dot instruction whose sign bits are flipped from here on.
    pub sign_flip: Option<SignFlip>,
}

/// Packs the operands that the plan packs inside `inside` loops.
pub fn pack(nest: &Nest, inside: usize, at: &Domain) -> PackedOperands {
    let (stage, loads) = (nest.stage, nest.parts);
    // Placeholders for the axes of packed loads, while the other axes still count from zero.
    let own: Vec<PrimExpr> = stage.axes.iter().map(|axis| axis.var.fresh().expr()).collect();
    let (mut stmts, mut value, mut init, mut sign_flip) = (Vec::new(), stage.value.clone(), stage.init.clone(), None);
    let mut parts = loads.to_vec();
    for staged in nest.plan.staged.iter().filter(|staged| staged.inside == inside) {
        let copy = packing_stage(nest, staged, &loads[staged.load], at);
        let packed_axis = packed_axis(nest, staged);
        let element = |axis: &usize| match packed_axis {
            Some((packed, dot)) if packed == *axis => own[*axis].clone().floordiv(PrimExpr::int64(dot.group_size())),
            _ => own[*axis].clone(),
        };
        let index: Vec<PrimExpr> = staged.axes.iter().map(element).collect();
        let own = PrimExpr::load(&copy.buffer, index.clone());
        value = replaced(&value, &loads[staged.load], &own);
        parts.iter_mut().for_each(|part| *part = replaced(part, &loads[staged.load], &own));
        stmts.push(Stmt::new(StmtKind::Alloc(copy.buffer.clone(), Attrs::new())));
        stmts.push(Nest::loops(&copy, &staged.copy, nest.choice));
        stmts.extend(fill_padding(&copy, staged));
        if let (Some(own), Some(start), Some(_)) = (SignFlip::for_packed(nest, &loads[staged.load]), &init, packed_axis)
        {
            let reduced: Vec<bool> = staged.axes.iter().map(|axis| stage.axes[*axis].reduce).collect();
            let (sums, start) = own.compensation(nest, &copy, &reduced, start, &index);
            stmts.extend(sums);
            (init, sign_flip) = (Some(start), Some(own));
        }
    }
    let axes = stage.axes.iter().zip(&at.position);
    let from_here: Vec<PrimExpr> = axes.map(|(axis, position)| offset_by(position, axis.var.expr())).collect();
    let from_here = substitution(&stage.axes, &from_here);
    let own = own.iter().zip(&stage.axes).filter_map(|(own, axis)| Some((own.as_var()?.clone(), axis.var.expr())));
    let own = own.collect();
    let here = |e: &PrimExpr| e.substitute(&from_here).substitute(&own);
    let all = |indices: &[PrimExpr]| indices.iter().map(here).collect();
    let epilogue = stage.epilogue.as_ref().map(|epilogue| Epilogue {
        buffer: epilogue.buffer.clone(),
        indices: all(&epilogue.indices),
        value: here(&epilogue.value),
    });
    let init = init.as_ref().map(here);
    let parts = all(&parts);
    let stage = Stage { indices: all(&stage.indices), value: here(&value), init, epilogue, ..stage.clone() };
    PackedOperands { stmts, stage, parts, sign_flip }
}

/// Returns the axis along which a packed operand has packed groups.
fn packed_axis(nest: &Nest, staged: &Staged) -> Option<(usize, Dot)> {
    nest.dot.filter(|(axis, _)| staged.axes.contains(axis))
}

/// Zero-fills the padding of a packed operand.
fn fill_padding(copy: &Stage, staged: &Staged) -> Vec<Stmt> {
    let mut counts: Vec<PrimExpr> = copy.axes.iter().map(|axis| axis.extent.clone()).collect();
    let mut stmts = Vec::new();
    for (number, axis) in staged.axes.iter().enumerate() {
        let count = counts[number].clone();
        let room = staged.padded_size(*axis, &count);
        if !same_expr(&count, &room) {
            counts[number] = match (count.as_int(), room.as_int()) {
                (Some(count), Some(room)) => PrimExpr::int64(room - count),
                _ => &room - &count,
            };
            let vars: Vec<Var> = copy.axes.iter().map(|axis| axis.var.fresh()).collect();
            let mut indices: Vec<PrimExpr> = vars.iter().map(Var::expr).collect();
            indices[number] = offset_by(&count, indices[number].clone());
            let zero = Stmt::store(&copy.buffer, indices, PrimExpr::constant(0.0, copy.buffer.dtype));
            let loops = vars.into_iter().zip(&counts).rev();
            stmts.push(loops.fold(zero, |body, (var, count)| Stmt::serial(var, count.clone(), body)));
        }
        // Padding of the next axes spans the padded extent of this one.
        counts[number] = room;
    }
    stmts
}

/// Returns the stage that packs what a load reads from a position on.
fn packing_stage(nest: &Nest, staged: &Staged, load: &PrimExpr, at: &Domain) -> Stage {
    let stage = nest.stage;
    // Full blocks, so that the strides of the copy are constants.
    let room = |axis: &usize| match nest.plan.range(*axis, staged.inside) {
        Some(count) => staged.padded_size(*axis, &PrimExpr::int64(count)),
        None => staged.padded_size(*axis, at.count(*axis)),
    };
    let packed_axis = packed_axis(nest, staged);
    let sizes = |terms: Vec<PrimExpr>| dots::sizes(&staged.axes, terms, packed_axis);
    let shape = sizes(staged.axes.iter().map(room).collect());
    let dtype = if packed_axis.is_some() { PACKED_DTYPE } else { load.dtype() };
    let bytes = shape.iter().try_fold(dtype.bytes() as i64, |bytes, size| bytes.checked_mul(size.as_int()?));
    let scope = if bytes.is_some_and(|bytes| bytes <= MAX_STACK_BYTES) { "local" } else { "global" };
    let extents = sizes(staged.axes.iter().map(|axis| at.count(*axis).clone()).collect());
    let buffer = Buffer::scoped("copy", shape, dtype, scope);
    stage.copy_of(load, &staged.axes, extents, &at.position, buffer, packed_axis)
}
