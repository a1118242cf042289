//! Element-wise stages.

use super::{
    Loops, Rule,
    lanes::{lanes, register_lanes},
};
use crate::schedule::{Loop, ScheduleContext};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var, intrinsics::MATH_COST},
};
use hammock_loopnest::{
    Stage,
    access::{block_size, elements_per_value, loads, spatial, strided_axis, vector_axis},
};

/// Vectorizes along a contiguous axis.
pub static RULE: Rule = Rule {
    name: "elementwise",
    class: "elementwise",
    why: "independent elements, vectorized along a contiguous axis",
    doc: "An element-wise stage. If the result is contiguous along an axis, and all loads are contiguous or have a \
          small stride, it is vectorized along it, two registers at a time to hide latency; four for functions such as \
          exp, which are long dependency chains, if the target has enough registers.",
    plan,
};

/// Unrolls an axis whose positions are computed differently.
pub static PERIODIC_SELECT: Rule = Rule {
    name: "periodic-select",
    class: "select",
    why: "a select on the position along a short axis is resolved by unrolling",
    doc: "An element-wise stage whose value depends on the position along a short axis, or on the position modulo a \
          small number, by comparisons with constants: the positions are unrolled, which resolves the comparisons at \
          compile time and shares common subexpressions.",
    plan: periodic_select,
};

/// Unrolls an axis along which elements are packed in words.
pub static UNPACK_BITS: Rule = Rule {
    name: "unpack-bits",
    class: "unpack",
    why: "words that several positions share are loaded once, and shifted by constants",
    doc: "An element-wise stage that extracts bits of integers by shifts: the positions whose elements are packed in \
          the same integer are unrolled. Each vector of integers is loaded once, and shift counts are constants.",
    plan: unpack_bits,
};

/// Maximum number of unrolled positions.
const MAX_POSITIONS: i64 = 8;
/// Maximum length of narrow rows, and number of interleaved ones.
const MAX_ROW: i64 = 8;
/// Maximum number of unrolled positions in a word.
const MAX_PACKED: i64 = 16;

fn periodic_select(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    unrolled_positions(stage, compared_axis(stage)?, ctx)
}

fn unpack_bits(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    unrolled_positions(stage, packed_axis(stage)?, ctx)
}

/// Returns loops that unroll some positions along an axis, inside of a vectorized one.
fn unrolled_positions(stage: &Stage, (axis, count): (usize, i64), ctx: &ScheduleContext) -> Option<Loops> {
    let along = vector_axis(stage).filter(|along| !stage.reduces() && axis != *along)?;
    let lanes = lanes(stage, along, 1, ctx.target)?;
    let outer = spatial(stage).map(|at| match at {
        _ if at == along => Loop::with_step(at, lanes),
        _ if at == axis => Loop::with_step(at, count),
        _ => Loop::serial(at),
    });
    Some(outer.chain([Loop::unrolled(axis), Loop::vector(along)]).collect::<Vec<_>>().into())
}

/// Returns the axis that a value compares with constants, and the number of positions to unroll.
fn compared_axis(stage: &Stage) -> Option<(usize, i64)> {
    let axis_of = |e: &PrimExpr| stage.axes.iter().position(|axis| e.as_var() == Some(&axis.var));
    let mut found = None;
    stage.value.any(&mut |e| {
        let PrimKind::Binary(BinaryOp::Eq, position, number) = e.kind() else { return false };
        found = number.as_int().and_then(|_| match position.kind() {
            PrimKind::Binary(BinaryOp::FloorMod, position, period) => Some((axis_of(position)?, period.as_int()?)),
            _ => axis_of(position).and_then(|axis| Some((axis, stage.axes[axis].extent.as_int()?))),
        });
        found = found.filter(|(_, count)| (2..=MAX_POSITIONS).contains(count));
        found.is_some()
    });
    found
}

/// Returns the axis along which shifts extract elements from integers, and the number of elements of an integer.
fn packed_axis(stage: &Stage) -> Option<(usize, i64)> {
    let mut counts = Vec::new();
    stage.value.walk(&mut |e| counts.extend(e.as_intrin("shift_right").map(|call| call.args[1].clone())));
    let packed = |at: usize| {
        let var = &stage.axes[at].var;
        let count =
            loads(stage).into_iter().map(|load| elements_per_value(load, var)).filter(|count| *count > 1).min()?;
        let fits = count <= MAX_PACKED && stage.axes[at].extent.as_int().is_some_and(|extent| extent % count == 0);
        (fits && counts.iter().any(|shift| shift.uses(var))).then_some((at, count))
    };
    spatial(stage).find_map(packed)
}

fn plan(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let near = vector_axis(stage).or_else(|| strided_axis(stage));
    let chain = |e: &PrimExpr| matches!(e.kind(), PrimKind::Call(call) if call.cost() >= MATH_COST);
    let many = ctx.target.vector_registers >= 32 && stage.value.any(&mut |e| chain(e));
    let registers = if many { 4 } else { 2 };
    let vector = near.and_then(|axis| Some((axis, interleaved_lanes(stage, axis, registers, ctx)?)));
    let outer = spatial(stage).flat_map(|axis| match vector {
        Some((v, lanes)) if v == axis => {
            let block = min_block_size(stage, axis, lanes).map(|block| Loop::with_step(axis, block));
            block.into_iter().chain([Loop::with_step(axis, lanes)]).collect()
        }
        _ => vec![Loop::serial(axis)],
    });
    Some(outer.chain(vector.map(|(axis, _)| Loop::vector(axis))).collect::<Vec<_>>().into())
}

/// Returns the number of lanes. If an axis consists of narrow rows, or interleaves a few, vectors have whole ones.
fn interleaved_lanes(stage: &Stage, axis: usize, registers: i64, ctx: &ScheduleContext) -> Option<i64> {
    let all = lanes(stage, axis, registers, ctx.target)?;
    let var = &stage.axes[axis].var;
    let found = row_length(&stage.value, var);
    let Some(turns) = found.filter(|turns| all % turns != 0) else { return Some(all) };
    let one = all.min(register_lanes(stage, ctx.target));
    Some(one - one % turns).filter(|lanes| *lanes > 0).or(Some(one))
}

/// Returns the length of the narrow rows that an axis consists of: 3 if a value uses `k // 3` or `k % 3`.
fn row_length(value: &PrimExpr, var: &Var) -> Option<i64> {
    let mut found = None;
    value.any(&mut |e| {
        if let PrimKind::Binary(BinaryOp::FloorDiv | BinaryOp::FloorMod, position, length) = e.kind() {
            found = length.as_int().filter(|length| (2..=MAX_ROW).contains(length) && position.as_var() == Some(var));
        }
        found.is_some()
    });
    found
}

/// Returns the block size of a blocked load along an axis, if vectors of `lanes` would cross block boundaries.
fn min_block_size(stage: &Stage, axis: usize, lanes: i64) -> Option<i64> {
    let found = loads(stage).into_iter().filter_map(|load| block_size(load, &stage.axes[axis].var));
    found.filter(|block| *block > lanes && block % lanes != 0).min()
}
