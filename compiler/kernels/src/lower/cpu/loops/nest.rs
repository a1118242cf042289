//! Data of a loop nest under construction: the stage with its plan, and the part of the iteration domain that the
//! current loops compute.

use crate::schedule::{
    ScheduleContext, StagePlan,
    cpu::{MAX_LANES, register_lanes},
};
use hammock_ir::{
    Name, PrimExpr,
    prim::{Var, flat::Dot},
    tir::Stmt,
};
use hammock_loopnest::{ScaleGroups, Stage};

/// Loop nest of a stage under construction.
pub struct Nest<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Its parts, with packed operands loaded from their copies.
    pub parts: &'a [PrimExpr],
    /// Its plan.
    pub plan: &'a StagePlan,
    /// The target, and whether reductions keep their source order.
    pub choice: ScheduleContext<'a>,
    /// Index of the tile's first loop.
    pub tile: usize,
    /// Loop-invariant divisor whose reciprocal is hoisted.
    pub divisor: Option<&'a HoistedDivisor>,
    /// Groups of a reduction's elements that share scales, which multiply the sums of groups.
    pub scale_groups: Option<&'a ScaleGroups>,
    /// Value subtracted from the sums of groups, at the beginning of their parts.
    pub zero_point: Option<&'a PrimExpr>,
    /// Dot instruction, and the reduction axis that its packed groups run along.
    pub dot: Option<(usize, Dot)>,
    /// Operand of the dot instruction whose sign bits are flipped.
    pub sign_flip: Option<SignFlip>,
    /// True if tail vectors are full because operands are zero-padded.
    pub fills: bool,
}

impl Nest<'_> {
    /// Lengths of the vectors that cover `values` elements.
    pub fn vector_lengths(&self, values: i64) -> Vec<i64> {
        vector_lengths(values, register_lanes(self.stage, self.choice.target))
    }
}

/// Divisor whose reciprocal is hoisted.
pub struct HoistedDivisor {
    /// Number of loops around the definition of the reciprocal.
    pub depth: usize,
    /// The divisor.
    pub divisor: PrimExpr,
}

/// Operand whose sign bits are flipped.
#[derive(Clone, Copy)]
pub struct SignFlip {
    /// Index of the operand.
    pub operand: usize,
    /// Dot product with the flipped operand.
    pub dot: Dot,
}

/// Part of a stage's iteration domain that the current loops compute: a start and an extent for each axis.
#[derive(Clone)]
pub struct Domain {
    /// The first value of each axis.
    pub position: Vec<PrimExpr>,
    /// Extent of each axis.
    pub extents: Vec<PrimExpr>,
    /// Axis with a masked tail, and its number of active lanes.
    pub active_lanes: Option<(usize, PrimExpr)>,
    /// Which part of the reduction this is.
    pub reduction: ReductionPart,
}

/// Part of a reduction, where a reduction loop is outside of loops over results.
#[derive(Clone)]
pub struct ReductionPart {
    /// True if the output buffer holds a partial result of previous parts.
    pub has_previous: PrimExpr,
    /// True if no part follows.
    pub is_last: PrimExpr,
}

impl ReductionPart {
    /// The whole reduction.
    pub fn all() -> ReductionPart {
        ReductionPart { has_previous: PrimExpr::bool(false), is_last: PrimExpr::bool(true) }
    }

    /// Elements `start .. start + count` of `all`.
    fn part(start: &PrimExpr, count: &PrimExpr, all: &PrimExpr) -> ReductionPart {
        let zero = PrimExpr::int64(0);
        match (start.as_int(), count.as_int(), all.as_int()) {
            (Some(start), Some(count), Some(all)) => {
                ReductionPart { has_previous: PrimExpr::bool(start > 0), is_last: PrimExpr::bool(start + count >= all) }
            }
            _ => ReductionPart { has_previous: zero.lt(start.clone()), is_last: all.clone().le(start + count) },
        }
    }
}

impl Domain {
    /// Restricts an axis to `start .. start + count`.
    pub fn part(&self, axis: usize, start: PrimExpr, count: PrimExpr) -> Domain {
        let mut part = self.clone();
        part.position[axis] = offset_by(&self.position[axis], start);
        part.extents[axis] = count;
        part
    }

    /// Number of values of an axis, without masked lanes.
    pub fn count(&self, axis: usize) -> &PrimExpr {
        let active_lanes = self.active_lanes.as_ref().filter(|(of, _)| *of == axis);
        active_lanes.map_or(&self.extents[axis], |(_, count)| count)
    }

    /// Restricts a reduction axis, and records which part of the reduction it is.
    pub fn reduction_part(&self, axis: usize, start: PrimExpr, count: PrimExpr) -> Domain {
        let reduction = ReductionPart::part(&start, &count, &self.extents[axis]);
        Domain { reduction, ..self.part(axis, start, count) }
    }
}

/// Returns `position + by`, folded.
pub fn offset_by(position: &PrimExpr, by: PrimExpr) -> PrimExpr {
    match (position.as_int(), by.as_int()) {
        (Some(0), _) => by,
        (_, Some(0)) => position.clone(),
        (Some(a), Some(b)) => PrimExpr::int64(a + b),
        _ => position + by,
    }
}

/// Returns `count / step`, rounded down.
pub fn full_steps(count: &PrimExpr, step: i64) -> PrimExpr {
    match count.as_int() {
        Some(count) => PrimExpr::int64(count / step),
        None if step == 1 => count.clone(),
        None => count.clone().floordiv(PrimExpr::int64(step)),
    }
}

/// Returns `for i in range(count)` around the body at `start + i * step`.
pub fn strided_loop(
    name: &Name,
    start: &PrimExpr,
    count: PrimExpr,
    step: i64,
    body: impl FnOnce(PrimExpr) -> Stmt,
) -> Stmt {
    let var = Var::int64(name.clone());
    let body = body(offset_by(start, scale(var.expr(), step)));
    Stmt::serial(var, count, body)
}

/// Returns `count * step`, folded.
pub fn scale(count: PrimExpr, step: i64) -> PrimExpr {
    match count.as_int() {
        Some(count) => PrimExpr::int64(count * step),
        None if step == 1 => count,
        None => count * PrimExpr::int64(step),
    }
}

/// Steps of the tail loops of a dynamic axis: quarters of `step`, down to about a register. Each divides the one before
/// it, so that it starts where that one ends.
pub fn tail_steps(step: i64) -> impl Iterator<Item = i64> {
    let quarter = |step: &i64| (step % 4 == 0).then_some(step / 4);
    std::iter::successors(quarter(&step), quarter).take_while(|step| *step >= 8)
}

/// Lengths of the vectors that cover a number of elements: powers of two that fill registers, then the remainder. LLVM
/// scalarizes vectors of other lengths that span several registers.
fn vector_lengths(mut elements: i64, register: i64) -> Vec<i64> {
    let mut lengths = Vec::new();
    while elements > 0 {
        let length = if elements > register { (1 << elements.ilog2()).min(MAX_LANES) } else { elements };
        lengths.push(length);
        elements -= length;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::{tail_steps, vector_lengths};

    #[test]
    fn tail_steps_divide_larger_ones() {
        let steps = |step| tail_steps(step).collect::<Vec<_>>();
        assert_eq!([steps(64), steps(48), steps(50), steps(36)], [vec![16], vec![12], vec![], vec![9]]);
    }

    #[test]
    fn vectors_cover_the_extent() {
        assert!(vector_lengths(0, 16).is_empty());
        assert_eq!(vector_lengths(7, 16), [7]);
        assert_eq!(vector_lengths(16, 16), [16]);
        assert_eq!(vector_lengths(40, 16), [32, 8]);
        assert_eq!(vector_lengths(63, 16), [32, 16, 15]);
        assert_eq!(vector_lengths(63, 4), [32, 16, 8, 4, 3]);
    }
}
