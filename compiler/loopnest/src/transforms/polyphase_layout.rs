//! Polyphase (deinterleaved) layout of the data of strided contractions.
//!
//! Adjacent results of a convolution with stride `s` load elements `s` apart, and every tap has to shuffle them. If a
//! stage of the kernel produces the data, as padding does, it can store them deinterleaved, so that loads are
//! contiguous:
//!
//! ```text
//! data[j] = f(j)                            phases[j % s, j / s] = f(j)
//! out[i]  = Σ data[s * i + k] * w[k]        out[i] = Σ phases[k % s, i + k / s] * w[k]
//! ```
//!
//! The contraction must contain a single load of the data, without a predicate. Its last index, and no other, must be
//! affine in the axis along which results are contiguous, with a constant stride from 2 to 4, so strides along other
//! dimensions and reductions without a product (pooling) are not handled. The last dimension must have a known size;
//! other dynamic sizes must cancel in the number of loads per element.

use crate::{
    Axis, Stage,
    access::{MAX_STRIDE, contraction_operands, is_load_of, store_axis},
    index::{Poly, Simplifier, same_expr},
    map_loads,
    raise::Indices,
    substitution,
    transforms::{Transform, rewrite_pairs},
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::Buffer,
};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "polyphase-layout",
    doc: "Deinterleaves the data of strided convolutions",
    may_alias: false,
    suits_gpus: false,
    run: |kernel, scope| rewrite_pairs(kernel, scope, rewrite),
};

/// Minimum loads per element that make a different layout worthwhile.
pub const MIN_USES: i64 = 3;

/// Returns the stage with deinterleaved data, and the contraction over them, if it loads these with a stride.
fn rewrite(stage: &Stage, sum: &Stage) -> Option<(Stage, Stage)> {
    let step = load_step(sum, &stage.buffer)?;
    let phases = deinterleave(stage, step)?;
    let sum = load_deinterleaved(sum, &stage.buffer, &phases.buffer, step)?;
    Some((phases, sum))
}

/// Returns the stride of a contraction's loads from a buffer along the last dimension, for adjacent results, if each
/// element is loaded several times.
fn load_step(sum: &Stage, buffer: &Buffer) -> Option<i64> {
    contraction_operands(sum)?;
    let var = &sum.axes[store_axis(sum)?].var;
    let mut steps = Vec::new();
    sum.values().for_each(|value| value.walk(&mut |e| steps.extend(is_load_of(e, buffer).then(|| step_of(e, var)))));
    let ([Some(step)], [_, ..]) = (steps.as_slice(), buffer.shape.as_slice()) else { return None };
    let extents: Vec<&PrimExpr> = sum.axes.iter().map(|axis| &axis.extent).collect();
    (element_ratio(extents, &buffer.shape)? >= MIN_USES).then_some(*step)
}

/// Returns the ratio of two numbers of elements, given by their sizes; symbolic sizes must cancel.
pub fn element_ratio(mut sizes: Vec<&PrimExpr>, others: &[PrimExpr]) -> Option<i64> {
    let (known, unknown): (Vec<&PrimExpr>, Vec<&PrimExpr>) = others.iter().partition(|size| size.as_int().is_some());
    for size in unknown {
        let same = sizes.iter().position(|other| same_expr(other, size))?;
        sizes.swap_remove(same);
    }
    let product =
        |sizes: &[&PrimExpr]| sizes.iter().try_fold(1i64, |product, size| product.checked_mul(size.as_int()?));
    Some(product(&sizes)? / product(&known)?.max(1))
}

/// Returns the stride of a load's last index in a variable that no other index uses.
fn step_of(load: &PrimExpr, var: &Var) -> Option<i64> {
    let PrimKind::Load(_, indices, None) = load.kind() else { return None };
    let (last, others) = indices.split_last()?;
    let step = Simplifier::default().poly(last).coefficient(var)?.as_constant()?;
    ((2..=MAX_STRIDE).contains(&step) && !others.iter().any(|index| index.uses(var))).then_some(step)
}

/// Returns the stage with its last dimension split into `[i % step][i / step]`.
fn deinterleave(stage: &Stage, step: i64) -> Option<Stage> {
    let last = stage.indices.last()?.as_var()?;
    let mut axes: Vec<Axis> = stage.axes.iter().map(Axis::fresh).collect();
    let at = stage.axes.iter().position(|axis| axis.var == *last)?;
    let size = axes[at].extent.as_int()?;
    let count = (size + step - 1) / step;
    let (remainder, quotient) = (axes[at].var.fresh(), axes[at].var.clone());
    let position = quotient.expr() * PrimExpr::int64(step) + remainder.expr();
    axes[at].extent = PrimExpr::int64(count);
    let mut values: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
    values[at] = position.clone();
    let values = substitution(&stage.axes, &values);
    let zero = PrimExpr::constant(0.0, stage.buffer.dtype);
    let value = stage.value.substitute(&values);
    let value = if count * step == size { value } else { position.lt(PrimExpr::int64(size)).if_then_else(value, zero) };
    let mut indices: Vec<PrimExpr> = stage.indices.iter().map(|index| index.substitute(&values)).collect();
    *indices.last_mut()? = quotient.expr();
    indices.insert(indices.len() - 1, remainder.expr());
    // The remainder is an outer axis: expressions of it, such as masks, are invariant in several rows.
    axes.insert(at.saturating_sub(1), Axis::spatial(remainder, PrimExpr::int64(step)));
    let mut shape = stage.buffer.shape.clone();
    *shape.last_mut()? = PrimExpr::int64(count);
    shape.insert(shape.len() - 1, PrimExpr::int64(step));
    let buffer = Buffer::new(stage.buffer.name.clone(), shape, stage.buffer.dtype);
    let simple = Indices::new(&mut axes);
    Some(Stage { axes, buffer, indices: simple.simple(&indices), value: simple.value(&value), ..stage.clone() })
}

/// Returns the contraction over the deinterleaved buffer.
fn load_deinterleaved(sum: &Stage, from: &Buffer, phases: &Buffer, step: i64) -> Option<Stage> {
    let var = &sum.axes[store_axis(sum)?].var;
    let (simple, simplifier) = (Indices::new(&mut sum.axes.clone()), Simplifier::default());
    let redirected = |load: &PrimExpr| {
        let PrimKind::Load(_, indices, _) = load.kind() else { return load.clone() };
        let Some((last, others)) = indices.split_last() else { return load.clone() };
        let rest = &simplifier.poly(last) - &Poly::atom(var.expr()).scale(step);
        let (rest, step) = (rest.to_expr(), PrimExpr::int64(step));
        let last_two = [rest.clone().floormod(step.clone()), var.expr() + rest.floordiv(step)];
        let indices: Vec<PrimExpr> = others.iter().cloned().chain(last_two).collect();
        PrimExpr::load(phases, simple.simple(&indices))
    };
    Some(sum.map_values(|value| map_loads(value, from, &redirected)))
}
