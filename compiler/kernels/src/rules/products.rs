//! Sums of products: every kind of product of matrices, and convolutions.

use super::{
    Choice, Rule, lanes, reduced,
    reductions::{term_lanes, terms},
    size, spatial,
};
use crate::{
    plan::Loop,
    stage::{
        Stage,
        access::{factors, reduced_vector_axis, vector_axis},
    },
};
use hammock_ir::{PrimExpr, prim::Var};

/// Rows that are computed side by side: 4 rows of 4 vectors leave half of 32 registers to operands.
const ROWS: i64 = 4;
/// Vectors side by side.
const VECTORS: i64 = 4;
/// Results of a factor along memory that one pass of the other factor is for.
const BLOCK: i64 = 64;

/// A factor along memory times one that does not change along it.
pub static OUTER: Rule = Rule {
    name: "outer-product",
    doc: "A sum of products of a factor that is contiguous along the result and one that does not change along it: four \
          rows share each vector that is loaded, and as many vectors each number.",
    plan: outer,
};

/// Both factors along memory.
pub static INNER: Rule = Rule {
    name: "inner-product",
    doc: "A sum of products of two factors that are both contiguous along the sum: neighbouring terms are lanes, and \
          tiles of 4 x 4 results share the vectors that are loaded. Not with --strict-order.",
    plan: inner,
};

fn outer(stage: &Stage, choice: &Choice) -> Option<Vec<Loop>> {
    let axis = vector_axis(stage)?;
    let shared = vector_factor(stage, &stage.axes[axis].var)?;
    let registers = if choice.target.vector_registers >= 32 { VECTORS } else { 1 };
    let lanes = lanes(stage, axis, registers, choice.target);
    let rows = row_axis(stage, axis, shared);
    let outer = spatial(stage).map(|at| match lanes {
        Some(lanes) if at == axis => Loop::by(axis, lanes),
        _ if Some(at) == rows => Loop::by(at, ROWS),
        _ => Loop::serial(at),
    });
    let tile = rows.map(Loop::unrolled).into_iter().chain(lanes.map(|_| Loop::vector(axis)));
    Some(outer.chain(reduced(stage)).chain(tile).collect())
}

/// The axis of a product of which several values are computed side by side.
pub fn product_rows(stage: &Stage) -> Option<usize> {
    let axis = vector_axis(stage)?;
    row_axis(stage, axis, vector_factor(stage, &stage.axes[axis].var)?)
}

/// The factor of a product that changes along an axis, when the other does not.
fn vector_factor<'a>(stage: &'a Stage, var: &Var) -> Option<&'a PrimExpr> {
    let (a, b) = factors(stage)?;
    (a.uses(var) != b.uses(var)).then(|| if a.uses(var) { a } else { b })
}

/// The last spatial axis besides one that a factor does not change along.
fn row_axis(stage: &Stage, axis: usize, factor: &PrimExpr) -> Option<usize> {
    spatial(stage).rev().find(|at| *at != axis && !factor.uses(&stage.axes[*at].var))
}

fn inner(stage: &Stage, choice: &Choice) -> Option<Vec<Loop>> {
    let axis = reduced_vector_axis(stage).filter(|_| !choice.strict_order)?;
    let (a, b) = factors(stage)?;
    let var = &stage.axes[axis].var;
    if !a.uses(var) || !b.uses(var) {
        return None;
    }
    // Rows are an axis of one factor only, columns one of the other; what both change along stays outside.
    let only = |own: &PrimExpr, other: &PrimExpr| {
        spatial(stage).rev().find(|at| own.uses(&stage.axes[*at].var) && !other.uses(&stage.axes[*at].var))
    };
    let mut tiled: Vec<usize> = only(a, b).into_iter().chain(only(b, a)).collect();
    tiled.sort_by_key(|at| size(&stage.axes[*at].extent));
    let registers = i64::from(choice.target.vector_registers / 2);
    let (lanes, sides) = match tiled.as_slice() {
        [] => (term_lanes(stage, axis, VECTORS, choice)?, vec![]),
        [_] => (term_lanes(stage, axis, registers / ROWS / 2, choice)?, vec![ROWS]),
        _ => (term_lanes(stage, axis, 1, choice)?, vec![ROWS, registers / ROWS]),
    };
    let outside = spatial(stage).filter(|at| !tiled.contains(at)).map(Loop::serial);
    // The longer side in blocks that stay in the cache while the other side runs past them.
    let block = tiled.get(1).filter(|at| stage.axes[**at].extent.as_int().is_none_or(|n| n > BLOCK));
    let block = block.map(|at| Loop::by(*at, BLOCK));
    let around = tiled.iter().zip(&sides).map(|(at, side)| Loop::by(*at, *side));
    let tile = tiled.iter().map(|at| Loop::unrolled(*at)).chain([Loop::vector(axis)]);
    Some(outside.chain(block).chain(around).chain(terms(stage, axis, lanes)).chain(tile).collect())
}
