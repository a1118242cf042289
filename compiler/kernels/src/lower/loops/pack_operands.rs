//! Copies of what a load reads inside some loops, in an order that suits the loops.

use super::{
    nest::{self, At, Nest, moved as position_moved},
    signed_dot_fixup::Moved,
};
use crate::{
    index::same_expr,
    plan::Staged,
    stage::{
        Epilogue, Stage,
        dots::{self, Dot},
        replaced, substitution,
    },
};
use hammock_ir::{
    Attrs, PrimExpr,
    prim::Var,
    tir::{Buffer, Stmt, StmtKind},
};

/// A copy of at most so many bytes is on the stack.
const STACK: i64 = 8 << 10;

/// What is made of a stage inside of some loops.
pub struct Copied {
    /// What stands before the other loops.
    pub stmts: Vec<Stmt>,
    /// The stage as it is there: it loads from the copies, and its axes count from the position at hand.
    pub stage: Stage,
    /// Its parts as they are there.
    pub parts: Vec<PrimExpr>,
    /// A factor of dot products that is moved from here on.
    pub moved: Option<Moved>,
}

/// Copies what is copied inside of so many loops.
pub fn staged(nest: &Nest, inside: usize, at: &At) -> Copied {
    let (stage, loads) = (nest.stage, nest.parts);
    // Stand for the axes where the copies are loaded, as long as the others still count from zero.
    let own: Vec<PrimExpr> = stage.axes.iter().map(|axis| axis.var.fresh().expr()).collect();
    let (mut stmts, mut value, mut init, mut moved) = (Vec::new(), stage.value.clone(), stage.init.clone(), None);
    let mut parts = loads.to_vec();
    for staged in nest.plan.staged.iter().filter(|staged| staged.inside == inside) {
        let copy = copy(nest, staged, &loads[staged.load], at);
        let in_words = in_words(nest, staged);
        let place = |axis: &usize| match in_words {
            Some((words, dot)) if words == *axis => own[*axis].clone().floordiv(PrimExpr::int64(dot.terms())),
            _ => own[*axis].clone(),
        };
        let index: Vec<PrimExpr> = staged.axes.iter().map(place).collect();
        let own = PrimExpr::load(&copy.buffer, index.clone());
        value = replaced(&value, &loads[staged.load], &own);
        parts.iter_mut().for_each(|part| *part = replaced(part, &loads[staged.load], &own));
        stmts.push(Stmt::new(StmtKind::Alloc(copy.buffer.clone(), Attrs::new())));
        stmts.push(nest::loops(&copy, &staged.copy, nest.choice));
        stmts.extend(zeros(&copy, staged));
        if let (Some(own), Some(start), Some(_)) = (Moved::of(nest, &loads[staged.load]), &init, in_words) {
            let reduced: Vec<bool> = staged.axes.iter().map(|axis| stage.axes[*axis].reduce).collect();
            let (sums, start) = own.sums(nest, &copy, &reduced, start, &index);
            stmts.extend(sums);
            (init, moved) = (Some(start), Some(own));
        }
    }
    let axes = stage.axes.iter().zip(&at.position);
    let from_here: Vec<PrimExpr> = axes.map(|(axis, position)| position_moved(position, axis.var.expr())).collect();
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
    Copied { stmts, stage, parts, moved }
}

/// The axis that a copy has in words.
fn in_words(nest: &Nest, staged: &Staged) -> Option<(usize, Dot)> {
    nest.dot.filter(|(axis, _)| staged.axes.contains(axis))
}

/// Fills the room that a copy has beyond the values of its axes.
fn zeros(copy: &Stage, staged: &Staged) -> Vec<Stmt> {
    let mut counts: Vec<PrimExpr> = copy.axes.iter().map(|axis| axis.extent.clone()).collect();
    let mut stmts = Vec::new();
    for (number, axis) in staged.axes.iter().enumerate() {
        let count = counts[number].clone();
        let room = staged.room(*axis, &count);
        if !same_expr(&count, &room) {
            counts[number] = match (count.as_int(), room.as_int()) {
                (Some(count), Some(room)) => PrimExpr::int64(room - count),
                _ => &room - &count,
            };
            let vars: Vec<Var> = copy.axes.iter().map(|axis| axis.var.fresh()).collect();
            let mut indices: Vec<PrimExpr> = vars.iter().map(Var::expr).collect();
            indices[number] = position_moved(&count, indices[number].clone());
            let zero = Stmt::store(&copy.buffer, indices, PrimExpr::constant(0.0, copy.buffer.dtype));
            let loops = vars.into_iter().zip(&counts).rev();
            stmts.push(loops.fold(zero, |body, (var, count)| Stmt::serial(var, count.clone(), body)));
        }
        // What lies beyond another axis is as long.
        counts[number] = room;
    }
    stmts
}

/// The stage that copies what a load reads from a position on.
fn copy(nest: &Nest, staged: &Staged, load: &PrimExpr, at: &At) -> Stage {
    let stage = nest.stage;
    // Room for whole blocks, so that distances in the copy are constants.
    let room = |axis: &usize| match nest.plan.range(*axis, staged.inside) {
        Some(count) => staged.room(*axis, &PrimExpr::int64(count)),
        None => staged.room(*axis, at.count(*axis)),
    };
    let in_words = in_words(nest, staged);
    let sizes = |terms: Vec<PrimExpr>| dots::sizes(&staged.axes, terms, in_words);
    let shape = sizes(staged.axes.iter().map(room).collect());
    let dtype = if in_words.is_some() { dots::WORD } else { load.dtype() };
    let bytes = shape.iter().try_fold(dtype.bytes() as i64, |bytes, size| bytes.checked_mul(size.as_int()?));
    let scope = if bytes.is_some_and(|bytes| bytes <= STACK) { "local" } else { "global" };
    let left = sizes(staged.axes.iter().map(|axis| at.count(*axis).clone()).collect());
    let buffer = Buffer::scoped("copy", shape, dtype, scope);
    stage.copy_of(load, &staged.axes, left, &at.position, buffer, in_words)
}
