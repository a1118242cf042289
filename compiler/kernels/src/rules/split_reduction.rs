//! Long sums are made in parts: a loop over parts of the terms, each of which is added up by itself, in registers.

use super::{Choice, evenly};
use crate::{
    plan::{Loop, LoopKind, StagePlan},
    stage::{
        Stage,
        access::{combiner, factors},
    },
};
use hammock_ir::prim::BinaryOp;

/// How many terms are added up one after the other, about, where the sum does not say. Products of 512 and 1024 terms lose
/// half of what they lose as one part, or as two, and take at most a hundredth longer.
const PART: i64 = 128;

/// Puts a loop over parts around the terms of a sum in floating point that has several. Not with --strict-order, and not where
/// plain elements are lanes of terms: those are parts already, in the loop that makes the elements.
pub fn divide(plan: &mut StagePlan, stage: &Stage, choice: &Choice) {
    let adds = combiner(stage).is_some_and(|(op, _)| op == BinaryOp::Add) && stage.buffer.dtype.is_float();
    let in_lanes = plan.vector().is_some_and(|l| stage.axes[l.axis].reduce) && factors(stage).is_none();
    if !adds || in_lanes || choice.strict_order || stage.place.is_some() || plan.dot().is_some() {
        return;
    }
    let part = stage.part.unwrap_or(PART);
    let mut terms = 1i64;
    for number in (plan.tile(stage)..plan.loops.len()).rev() {
        let Loop { axis, step, kind } = plan.loops[number];
        if !stage.axes[axis].reduce || kind == LoopKind::Vector {
            continue;
        }
        let Some(extent) = stage.axes[axis].extent.as_int() else { return };
        let count = plan.range(axis, number).map_or(extent, |range| range.min(extent)) / step;
        if terms.saturating_mul(count) >= part.saturating_mul(2) && kind == LoopKind::Serial {
            plan.loops.insert(number, Loop::by(axis, step * in_part(count, (part / terms).max(2))));
            return;
        }
        terms = terms.saturating_mul(count);
    }
}

/// How many of so many values a part has: of parts of the same size, if there are such.
fn in_part(count: i64, most: i64) -> i64 {
    let divisor = (most / 2 + 1..=most + most / 4).rev().find(|part| count % part == 0);
    divisor.unwrap_or_else(|| evenly(count, most))
}
