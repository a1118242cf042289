//! Stages whose elements are computed on their own.

use super::{Choice, Loops, Rule, lanes, register_lanes, spatial};
use crate::{
    plan::Loop,
    stage::{
        Stage,
        access::{blocks, loads, spaced_axis, turns, vector_axis},
    },
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, intrinsics::MATH_COST},
};

/// Vectors along memory.
pub static RULE: Rule = Rule {
    name: "elementwise",
    class: "elementwise",
    why: "each element on its own, neighbours in lanes where memory has them side by side",
    doc: "Each element on its own. Where the result and everything that is loaded are contiguous along an axis, or a \
          few elements apart, its neighbours are lanes, two registers of them, so that operations do not wait for each \
          other; for functions such as exp, whose operations do, four where there are as many.",
    plan,
};

/// Cases side by side.
pub static CASES: Rule = Rule {
    name: "cases",
    class: "cases",
    why: "places along an axis are computed in different ways, so each way is written out",
    doc: "Each element on its own, computed in another way at each place along a short axis, or at each place modulo a \
          small number: those places are written out side by side, so that nothing is chosen at run time, and what \
          several of them load or compute is shared.",
    plan: cases,
};

/// More cases are not written out.
const MOST: i64 = 8;

fn cases(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let along = vector_axis(stage).filter(|_| !stage.reduces())?;
    let (axis, count) = cases_along(stage).filter(|(axis, _)| *axis != along)?;
    let lanes = lanes(stage, along, 1, choice.target)?;
    let outer = spatial(stage).map(|at| match at {
        _ if at == along => Loop::by(at, lanes),
        _ if at == axis => Loop::by(at, count),
        _ => Loop::serial(at),
    });
    Some(outer.chain([Loop::unrolled(axis), Loop::vector(along)]).collect::<Vec<_>>().into())
}

/// The axis, and how many values of it, that a value compares with numbers.
fn cases_along(stage: &Stage) -> Option<(usize, i64)> {
    let axis_of = |e: &PrimExpr| stage.axes.iter().position(|axis| e.as_var() == Some(&axis.var));
    let mut found = None;
    stage.value.any(&mut |e| {
        let PrimKind::Binary(BinaryOp::Eq, place, number) = e.kind() else { return false };
        found = number.as_int().and_then(|_| match place.kind() {
            PrimKind::Binary(BinaryOp::FloorMod, place, period) => Some((axis_of(place)?, period.as_int()?)),
            _ => axis_of(place).and_then(|axis| Some((axis, stage.axes[axis].extent.as_int()?))),
        });
        found = found.filter(|(_, count)| (2..=MOST).contains(count));
        found.is_some()
    });
    found
}

fn plan(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let near = vector_axis(stage).or_else(|| spaced_axis(stage));
    let chain = |e: &PrimExpr| matches!(e.kind(), PrimKind::Call(call) if call.cost() >= MATH_COST);
    let many = choice.target.vector_registers >= 32 && stage.value.any(&mut |e| chain(e));
    let registers = if many { 4 } else { 2 };
    let vector = near.and_then(|axis| Some((axis, lanes_in_turns(stage, axis, registers, choice)?)));
    let outer = spatial(stage).flat_map(|axis| match vector {
        Some((v, lanes)) if v == axis => {
            let block = block_along(stage, axis, lanes).map(|block| Loop::by(axis, block));
            block.into_iter().chain([Loop::by(axis, lanes)]).collect()
        }
        _ => vec![Loop::serial(axis)],
    });
    Some(outer.chain(vector.map(|(axis, _)| Loop::vector(axis))).collect::<Vec<_>>().into())
}

/// How many lanes. Where something is loaded by turns, each vector begins with the first.
fn lanes_in_turns(stage: &Stage, axis: usize, registers: i64, choice: &Choice) -> Option<i64> {
    let all = lanes(stage, axis, registers, choice.target)?;
    let found = loads(stage).into_iter().find_map(|load| turns(load, &stage.axes[axis].var));
    let Some(turns) = found.filter(|turns| all % turns != 0) else { return Some(all) };
    let one = all.min(register_lanes(stage, choice.target));
    Some(one - one % turns).filter(|lanes| *lanes > 0).or(Some(one))
}

/// After how many values of an axis something is loaded from elsewhere, where vectors of so many lanes would run across that.
fn block_along(stage: &Stage, axis: usize, lanes: i64) -> Option<i64> {
    let found = loads(stage).into_iter().filter_map(|load| blocks(load, &stage.axes[axis].var));
    found.filter(|block| *block > lanes && block % lanes != 0).min()
}
