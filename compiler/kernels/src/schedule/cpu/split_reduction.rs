//! Splits long reductions: partial sums of a bounded number of elements, accumulated in registers.

use super::even_block;
use crate::schedule::{Loop, LoopKind, ScheduleContext, StagePlan};
use hammock_ir::prim::BinaryOp;
use hammock_loopnest::{
    Stage,
    access::{combiner, contraction_operands},
};

/// Default number of elements of a partial sum. For matmuls with k of 512 and 1024 this halves the rounding error
/// compared with one and two partial sums, and costs at most 1 % of time.
const DEFAULT_PART: i64 = 128;

/// Splits the reduction loop of a long floating-point sum. Not with --strict-order, and not for horizontal reductions
/// of plain elements, whose lanes are partial sums already.
pub fn apply(plan: &mut StagePlan, stage: &Stage, ctx: &ScheduleContext) {
    if (plan.tile(stage)..plan.loops.len()).any(|number| plan.splits_reduction(number)) {
        return;
    }
    let adds = combiner(stage).is_some_and(|(op, _)| op == BinaryOp::Add) && stage.buffer.dtype.is_float();
    let in_lanes = plan.vector().is_some_and(|l| stage.axes[l.axis].reduce) && contraction_operands(stage).is_none();
    if !adds || in_lanes || ctx.strict_order || stage.arg_result.is_some() || plan.dot().is_some() {
        return;
    }
    let part = stage.part.unwrap_or(DEFAULT_PART);
    let mut terms = 1i64;
    for number in (plan.tile(stage)..plan.loops.len()).rev() {
        let Loop { axis, step, kind } = plan.loops[number];
        if !stage.axes[axis].reduce || kind == LoopKind::Vector {
            continue;
        }
        let Some(extent) = stage.axes[axis].extent.as_int() else { return };
        let count = plan.range(axis, number).map_or(extent, |range| range.min(extent)) / step;
        if terms.saturating_mul(count) >= part.saturating_mul(2) && kind == LoopKind::Serial {
            plan.loops.insert(number, Loop::with_step(axis, step * part_size(count, (part / terms).max(2))));
            return;
        }
        terms = terms.saturating_mul(count);
    }
}

/// Returns the elements of a part: a divisor of `count` near `most`, if there is one.
fn part_size(count: i64, most: i64) -> i64 {
    let divisor = (most / 2 + 1..=most + most / 4).rev().find(|part| count % part == 0);
    divisor.unwrap_or_else(|| even_block(count, most))
}
