//! Removes zero insertion (input dilation) from contractions.
//!
//! A transposed convolution is written as a plain one over data with stride `s` and zeros in between:
//!
//! ```text
//! spread[j] = data[(j - f) / s]     if that is an integer within the data, else 0
//! out[y]    = Σ spread[y + k] · weight[k]
//! ```
//!
//! The data becomes dense again, and [`split_phases`] restricts the contractions to nonzero elements. Zeros are assumed
//! to annihilate: infinite and NaN weights are not multiplied by inserted zeros.
//!
//! [`zero_insertion`] recognizes it in the stage that fills the data. The data must have one consumer, a contraction
//! with a single load of it, without a predicate, as an operand or under one cast; contractions that check bounds,
//! arg-reductions, and dimensions that [`split_phases`] does not handle keep the zeros.

mod split_phases;

use crate::{
    Axis, Kernel, Part, Stage,
    access::{contraction_operands, is_load_of},
    consumers::single_consumer,
    index::{Poly, Simplifier},
    raise::Indices,
    substitution,
    transforms::{Transform, fuse},
    zero_insertion::{GuardedValue, ZeroInsertion, zero_insertion},
};
use hammock_ir::{
    PrimExpr,
    arith::gcd,
    prim::{BinaryOp, PrimKind, check},
    tir::Buffer,
};
use split_phases::Decomposition;

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "remove-zero-insertion",
    doc: "Decomposes transposed convolutions into phases that skip the inserted zeros",
    may_alias: false,
    suits_gpus: true,
    run: |kernel, scope| {
        let added = apply(kernel, scope.own);
        if !added.is_empty() {
            scope.own.extend(added);
            fuse::apply(kernel, scope.own, scope.machine);
        }
    },
};

/// Removes inserted zeros from contractions. `own` are the kernel's local buffers. Returns new ones.
fn apply(kernel: &mut Kernel, own: &[Buffer]) -> Vec<Buffer> {
    let mut made = Vec::new();
    for at in 0..kernel.parts.len() {
        let Some((user, dense, phases)) = decompose(&kernel.parts, at, own) else { continue };
        made.extend([dense.buffer.clone()].into_iter().chain(phases.buffer));
        // The parts before the user keep their indices.
        kernel.parts.splice(user..=user, phases.stages.into_iter().map(Part::Stage));
        kernel.parts[at] = Part::Stage(dense);
    }
    made
}

/// Returns the index of the only consumer, a contraction, with the stage that computes dense data, and the contractions
/// over it.
fn decompose(parts: &[Part], at: usize, own: &[Buffer]) -> Option<(usize, Stage, Decomposition)> {
    let (stage, user, sum) = single_consumer(parts, at, own)?;
    let GuardedValue { conditions, value } = GuardedValue::of(&stage.value)?;
    let load = single_operand_load(sum, &stage.buffer)?;
    let mut gaps: Vec<ZeroInsertion> = Vec::new();
    for gap in conditions.iter().filter_map(|condition| zero_insertion(stage, condition)) {
        if split_phases::can_split(sum, load, &gap) && !gaps.iter().any(|known| known.dim == gap.dim) {
            gaps.push(gap);
        }
    }
    let is_closed = |condition: &PrimExpr| zero_insertion(stage, condition).is_some_and(|gap| gaps.contains(&gap));
    let others: Vec<PrimExpr> = conditions.into_iter().filter(|condition| !is_closed(condition)).collect();
    let dense = dense_stage(stage, &gaps, &others, &value);
    let phases = split_phases::split(sum, load, &gaps, &dense.buffer).filter(|_| !gaps.is_empty())?;
    Some((user, dense, phases))
}

/// Returns the load of a buffer that is an operand of a contraction, if it is the only one.
fn single_operand_load<'a>(sum: &'a Stage, buffer: &Buffer) -> Option<&'a PrimExpr> {
    let (a, b) = contraction_operands(sum).filter(|_| sum.arg_result.is_none())?;
    let factors = [a, b].map(|factor| match factor.kind() {
        PrimKind::Cast(inner) => inner,
        _ => factor,
    });
    let load = factors.into_iter().find(|e| is_load_of(e, buffer))?;
    let mut count = 0;
    sum.values().for_each(|value| value.walk(&mut |e| count += usize::from(is_load_of(e, buffer))));
    let checks = sum.values().any(|value| check::count(value) > 0);
    let plain = matches!(load.kind(), PrimKind::Load(own, _, None) if own == buffer);
    (plain && count == 1 && !checks).then_some(load)
}

/// Returns the stage that fills a dense buffer: `value` if the remaining conditions hold, else zero.
fn dense_stage(stage: &Stage, gaps: &[ZeroInsertion], conditions: &[PrimExpr], value: &PrimExpr) -> Stage {
    let mut axes: Vec<Axis> = stage.axes.iter().map(Axis::fresh).collect();
    let fresh: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
    let (mut at, mut shape) = (fresh.clone(), stage.buffer.shape.clone());
    for ZeroInsertion { dim, axis, step, first } in gaps {
        at[*axis] = &at[*axis] * PrimExpr::int64(*step) + PrimExpr::int64(*first);
        axes[*axis].extent = split_phases::strided_count(&axes[*axis].extent, *first, *step);
        shape[*dim] = axes[*axis].extent.clone();
    }
    let values = substitution(&stage.axes, &at);
    let bounds = Bounds::new(&axes);
    let conditions = conditions.iter().filter_map(|condition| bounds.reduce_condition(&condition.substitute(&values)));
    let zero = PrimExpr::constant(0.0, stage.buffer.dtype);
    let value = value.substitute(&values);
    let value = match conditions.reduce(PrimExpr::and) {
        Some(condition) => condition.if_then_else(value, zero),
        None => value,
    };
    let simple = Indices::new(&mut axes);
    let own = substitution(&stage.axes, &fresh);
    let indices: Vec<PrimExpr> = stage.indices.iter().map(|index| index.substitute(&own)).collect();
    let buffer = Buffer::new(stage.buffer.name.clone(), shape, stage.buffer.dtype);
    Stage { axes, buffer, indices: simple.simple(&indices), value: simple.value(&value), ..stage.clone() }
}

/// Ranges of the axes.
struct Bounds {
    axes: Vec<Axis>,
    simplifier: Simplifier,
}

impl Bounds {
    fn new(axes: &[Axis]) -> Self {
        let mut simplifier = Simplifier::default();
        axes.iter().for_each(|axis| simplifier.learn(&axis.var, &PrimExpr::int64(0), &axis.extent));
        Bounds { axes: axes.to_vec(), simplifier }
    }

    /// Divides an integer comparison by its common factor; `None` if it always holds.
    fn reduce_condition(&self, condition: &PrimExpr) -> Option<PrimExpr> {
        let PrimKind::Binary(op, a, b) = condition.kind() else { return Some(condition.clone()) };
        let difference = || &self.simplifier.poly(a) - &self.simplifier.poly(b);
        let (difference, is_below) = match op {
            _ if !a.dtype().is_int() => return Some(condition.clone()),
            BinaryOp::Lt => (difference(), true),
            BinaryOp::Ge => (difference(), false),
            BinaryOp::Le => (&difference() - &Poly::constant(1), true),
            BinaryOp::Gt => (&difference() - &Poly::constant(1), false),
            _ => return Some(condition.clone()),
        };
        let (constant, terms) = difference.partition(|atoms, _| atoms.is_empty());
        let unit = terms.terms().fold(0, |unit, (_, factor)| gcd(unit, factor)).max(1);
        let (terms, constant) = (terms.map_coefficients(|c| c / unit), constant.offset().div_euclid(unit));
        let zero = PrimExpr::int64(0);
        let bound = self.extreme(&(&terms + &Poly::constant(constant)), is_below).to_expr();
        let always = if is_below { bound.lt(zero) } else { bound.ge(zero) };
        let (terms, limit) = (terms.to_expr(), PrimExpr::int64(-constant));
        let closer = if is_below { terms.lt(limit) } else { terms.ge(limit) };
        (self.simplifier.truth(&always) != Some(true)).then_some(closer)
    }

    /// Returns the maximum or minimum of a polynomial over the axes.
    fn extreme(&self, number: &Poly, maximum: bool) -> Poly {
        self.axes.iter().fold(number.clone(), |number, Axis { var, extent, .. }| {
            let Some(factor) = number.coefficient(var).and_then(|factor| factor.as_constant()) else { return number };
            let rest = &number - &Poly::atom(var.expr()).scale(factor);
            let last = &self.simplifier.poly(extent) - &Poly::constant(1);
            if (factor > 0) == maximum { &rest + &last.scale(factor) } else { rest }
        })
    }
}
