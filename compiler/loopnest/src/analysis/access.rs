//! Access patterns of stages: contiguous and strided axes, and the strides along each.

use crate::{
    Axis, Stage,
    index::{Simplifier, same_expr},
};
use hammock_ir::{
    PrimExpr,
    arith::Analyzer,
    prim::{BinaryOp, PrimCallee, PrimKind, Var, check},
    tir::Buffer,
};
use hammock_target::dynamic_extent;

/// Maximum stride that is vectorized by contiguous loads and shuffles.
pub const MAX_STRIDE: i64 = 4;

/// Maximum number of rows that are interleaved by contiguous loads and shuffles.
const MAX_INTERLEAVE: i64 = 8;

/// Returns the indices of a stage's spatial axes.
pub fn spatial(stage: &Stage) -> impl DoubleEndedIterator<Item = usize> {
    (0..stage.axes.len()).filter(|at| !stage.axes[*at].reduce)
}

/// Estimates an extent; zero counts as one.
pub fn size(extent: &PrimExpr) -> i64 {
    match extent.kind() {
        PrimKind::Binary(BinaryOp::Mul, a, b) => size(a).saturating_mul(size(b)),
        PrimKind::Binary(BinaryOp::Min, a, b) => size(a).min(size(b)),
        PrimKind::Binary(BinaryOp::Max, a, b) => size(a).max(size(b)),
        _ => extent.as_int().unwrap_or(dynamic_extent::WORK).max(1),
    }
}

/// Returns the axis along which the store is contiguous.
pub fn store_axis(stage: &Stage) -> Option<usize> {
    stage.axes.iter().rposition(|axis| stores_along(stage, axis))
}

/// Returns true if the store is contiguous along an axis.
pub fn stores_along(stage: &Stage, axis: &Axis) -> bool {
    let Some((last, rest)) = stage.target_indices().split_last() else { return false };
    let plain = stage.target().strides.is_empty() && stage.target().dtype.is_scalar();
    plain && !axis.reduce && is_unit(last, &axis.var) && rest.iter().all(|i| !i.uses(&axis.var))
}

/// Returns the axis along which the store is contiguous, if every load is contiguous or invariant along it.
pub fn vector_axis(stage: &Stage) -> Option<usize> {
    let axis = store_axis(stage)?;
    let epilogue = stage.epilogue.as_ref().map(|epilogue| &epilogue.value);
    let mut values = [&stage.value].into_iter().chain(epilogue);
    values.all(|value| is_vector(stage, value, &stage.axes[axis].var)).then_some(axis)
}

/// Returns the axis along which the store is contiguous, if loads along it have small strides (see [`load_stride`]):
/// loading everything in between is then no loss.
pub fn strided_axis(stage: &Stage) -> Option<usize> {
    let axis = store_axis(stage)?;
    let var = &stage.axes[axis].var;
    let far = |e: &PrimExpr| match e.kind() {
        PrimKind::Load(buffer, ..) => {
            *buffer != stage.buffer && !is_contiguous(e, var) && load_stride(e, var).is_none()
        }
        _ => !has_vector_form(e),
    };
    let epilogue = stage.epilogue.as_ref().map(|epilogue| &epilogue.value);
    let mut values = [&stage.value].into_iter().chain(epilogue);
    (vector_axis(stage).is_none() && values.all(|value| !value.any(&mut |e| far(e)))).then_some(axis)
}

/// Returns the stride in elements of a load along an axis: from 2 to [`MAX_STRIDE`], or -1.
pub fn load_stride(load: &PrimExpr, var: &Var) -> Option<i64> {
    let PrimKind::Load(buffer, indices, _) = load.kind() else { return None };
    let (last, rest) = indices.split_last()?;
    let mut step = Simplifier::default().poly(last).coefficient(var)?.as_constant()?;
    // The stride of `x[i, 3]` is the length of a row.
    let mut row = Some(1i64);
    for (index, size) in rest.iter().rev().zip(buffer.shape.iter().rev()) {
        row = row.and_then(|row| row.checked_mul(size.as_int()?));
        if index.uses(var) {
            let rows = Simplifier::default().poly(index).coefficient(var)?.as_constant()?;
            step = step.checked_add(rows.checked_mul(row?)?)?;
        }
    }
    let plain = buffer.strides.is_empty() && buffer.dtype.is_scalar();
    (plain && (step == -1 || (2..=MAX_STRIDE).contains(&step))).then_some(step)
}

/// Returns the reduction axis along which every load is contiguous or invariant, and at least one is contiguous.
pub fn reduction_vector_axis(stage: &Stage) -> Option<usize> {
    let (_, term) = combiner(stage)?;
    let loads = |e: &PrimExpr, var: &Var| matches!(e.kind(), PrimKind::Load(_, indices, _) if indices.iter().any(|i| i.uses(var)));
    let fits = |var: &Var| can_reduce_in_lanes(stage, var) && term.any(&mut |e| loads(e, var));
    stage.axes.iter().rposition(|axis| axis.reduce && fits(&axis.var))
}

/// Returns true if a reduction can be vectorized along an axis: its elements combine in any order, and are loaded
/// contiguously or are invariant.
pub fn can_reduce_in_lanes(stage: &Stage, var: &Var) -> bool {
    stage.buffer.dtype.is_scalar() && combiner(stage).is_some_and(|(_, term)| is_vector(stage, term, var))
}

/// Returns true if a value can be vectorized along an axis.
fn is_vector(stage: &Stage, value: &PrimExpr, var: &Var) -> bool {
    !value.any(&mut |e| match e.kind() {
        PrimKind::Load(buffer, ..) if *buffer == stage.buffer => stage.epilogue.is_none() && !is_contiguous(e, var),
        PrimKind::Load(..) => !is_contiguous(e, var),
        _ => !has_vector_form(e),
    })
}

/// Returns true if a value can be computed in vectors, provided that its loads can be vectorized.
pub fn is_vectorizable(value: &PrimExpr) -> bool {
    !value.any(&mut |e| !has_vector_form(e))
}

/// Returns true if an operation has a vector form.
fn has_vector_form(e: &PrimExpr) -> bool {
    match e.kind() {
        // Calls with side effects stay scalar.
        PrimKind::Call(call) => !call.runs_function(),
        PrimKind::Let(..) | PrimKind::Reduce(_) => false,
        _ => true,
    }
}

/// Returns the operands of a select or `if_then_else`: condition, true value, false value.
pub fn guarded(value: &PrimExpr) -> Option<(&PrimExpr, &PrimExpr, &PrimExpr)> {
    match value.kind() {
        PrimKind::Select(condition, a, b) => Some((condition, a, b)),
        PrimKind::Call(call) => match (&call.callee, call.args.as_slice()) {
            (PrimCallee::Intrin(name), [condition, a, b]) if name.as_str() == "if_then_else" => Some((condition, a, b)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if a value is a padded load: a load inside the halo check, a constant in the padding.
pub fn is_padded_load(value: &PrimExpr) -> bool {
    let is_constant = |e: &PrimExpr| matches!(e.kind(), PrimKind::Int(_) | PrimKind::Float(_));
    guarded(value).is_some_and(|(_, load, other)| matches!(load.kind(), PrimKind::Load(..)) && is_constant(other))
}

/// Returns the block size of a blocked load along an axis: 64 for `x[i // 64, k, i % 64]`.
pub fn block_size(load: &PrimExpr, var: &Var) -> Option<i64> {
    let PrimKind::Load(buffer, indices, _) = load.kind() else { return None };
    let (last, rest) = indices.split_last()?;
    let block = divisor_of(var, BinaryOp::FloorMod, last).filter(|_| buffer.strides.is_empty())?;
    let is_quotient = |index: &PrimExpr| divisor_of(var, BinaryOp::FloorDiv, index) == Some(block);
    // Blocks of several groups are in one dimension: `group * 2 + channel // 64`.
    let is_block = |index: &PrimExpr| match index.kind() {
        PrimKind::Binary(BinaryOp::Add, a, b) if a.uses(var) => is_quotient(a) && !b.uses(var),
        PrimKind::Binary(BinaryOp::Add, a, b) => is_quotient(b) && !a.uses(var),
        _ => is_quotient(index),
    };
    rest.iter().all(|index| !index.uses(var) || is_block(index)).then_some(block)
}

/// Returns the divisor of an index that is the quotient or the remainder of a variable.
fn divisor_of(var: &Var, of: BinaryOp, index: &PrimExpr) -> Option<i64> {
    match index.kind() {
        PrimKind::Binary(op, a, b) if *op == of && a.as_var() == Some(var) => b.as_int(),
        _ => None,
    }
}

/// Returns how many consecutive values of an axis load the same element: 8 for `x[i, k // 8]`.
pub fn broadcast_factor(load: &PrimExpr, var: &Var) -> Option<i64> {
    let PrimKind::Load(buffer, indices, _) = load.kind() else { return None };
    let (last, rest) = indices.split_last()?;
    let count = match last.kind() {
        PrimKind::Binary(BinaryOp::FloorDiv, position, count) if is_unit(position, var) => {
            count.as_int().filter(|n| *n > 1)
        }
        _ => None,
    };
    count.filter(|_| buffer.strides.is_empty() && rest.iter().all(|index| !index.uses(var)))
}

/// Returns how many consecutive values of an axis that a load varies along load the same element, in any dimension: 32
/// for `x[k // 32, n]`.
pub fn elements_per_value(load: &PrimExpr, var: &Var) -> i64 {
    let PrimKind::Load(_, indices, _) = load.kind() else { return 1 };
    let mut along = indices.iter().filter(|index| index.uses(var));
    match (along.next(), along.next()) {
        (Some(index), None) => match index.kind() {
            PrimKind::Binary(BinaryOp::FloorDiv, position, count) if is_unit(position, var) => {
                count.as_int().unwrap_or(1).max(1)
            }
            _ => 1,
        },
        _ => 1,
    }
}

/// Returns the number of rows that a load interleaves along an axis: 2 for `x[i, k % 2, k // 2]`.
pub fn interleave_factor(load: &PrimExpr, var: &Var) -> Option<i64> {
    let PrimKind::Load(buffer, indices, _) = load.kind() else { return None };
    let (last, rest) = indices.split_last()?;
    let count = divisor_of(var, BinaryOp::FloorDiv, last).filter(|count| (2..=MAX_INTERLEAVE).contains(count))?;
    let mut others = rest.iter().filter(|index| index.uses(var));
    let own = others.next().and_then(|index| divisor_of(var, BinaryOp::FloorMod, index));
    (buffer.strides.is_empty() && own == Some(count) && others.next().is_none()).then_some(count)
}

/// Returns true if a load is invariant or contiguous along an axis, if only within [`block_size`],
/// [interleaved](interleave_factor) rows or [broadcast](broadcast_factor) elements.
pub fn is_contiguous(load: &PrimExpr, var: &Var) -> bool {
    let PrimKind::Load(buffer, indices, _) = load.kind() else { return false };
    let Some((last, rest)) = indices.split_last() else { return true };
    let unit = || buffer.strides.is_empty() && rest.iter().all(|i| !i.uses(var)) && is_unit(last, var);
    let in_pieces = || {
        block_size(load, var).is_some()
            || interleave_factor(load, var).is_some()
            || broadcast_factor(load, var).is_some()
    };
    indices.iter().all(|i| !i.uses(var)) || unit() || in_pieces()
}

/// Returns true if an index has coefficient 1 in a variable.
pub fn is_unit(index: &PrimExpr, var: &Var) -> bool {
    let coefficient = Simplifier::default().poly(index).coefficient(var);
    coefficient.is_some_and(|c| c.as_constant() == Some(1))
}

/// Returns the operator of a reduction whose elements combine in any order, and the reduced element.
pub fn combiner(stage: &Stage) -> Option<(BinaryOp, &PrimExpr)> {
    let PrimKind::Binary(op, a, b) = stage.value.kind() else { return None };
    let own = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(b, ..) if *b == stage.buffer);
    let any_order = matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max);
    let term = if own(a) { b } else { a };
    let once = (own(a) || own(b)) && !term.any(&mut |e| own(e));
    (stage.reduces() && any_order && once).then_some((*op, term))
}

/// Returns true if partial results of a reduction can be stored in the result's buffer: it has the accumulator's
/// precision, and nothing else reads it.
pub fn can_store_partials(stage: &Stage) -> bool {
    let target = stage.target();
    let mut term = combiner(stage).into_iter().map(|(_, term)| term);
    let after = stage.epilogue.as_ref().map(|epilogue| &epilogue.value);
    let reads = |e: &PrimExpr| e.any(&mut |e| is_load_of(e, target));
    let elsewhere = term.next().is_some_and(|term| !reads(term)) && !after.is_some_and(reads);
    elsewhere && stage.arg_result.is_none() && stage.buffer.dtype == target.dtype && target.dtype.is_scalar()
}

/// Returns the operands of a contraction, `Σ a * b`.
pub fn contraction_operands(stage: &Stage) -> Option<(&PrimExpr, &PrimExpr)> {
    match combiner(stage)? {
        (BinaryOp::Add, term) => match term.kind() {
            PrimKind::Binary(BinaryOp::Mul, a, b) => Some((a, b)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the loop-invariant divisor of all elements along an axis, if it depends on memory.
pub fn invariant_divisor(stage: &Stage, axis: usize) -> Option<&PrimExpr> {
    let read = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(..));
    let own = !stage.reduces() && matches!(stage.buffer.dtype.bits, 32 | 64) && stage.buffer.dtype.is_float();
    let divisor = divisor(&stage.value, &stage.axes[axis].var).filter(|_| own)?;
    (divisor.any(&mut |e| read(e)) && !divisor.any(&mut |e| is_load_of(e, &stage.buffer))).then_some(divisor)
}

/// Returns the first divisor that does not depend on a variable and is evaluated unconditionally.
fn divisor<'a>(value: &'a PrimExpr, var: &Var) -> Option<&'a PrimExpr> {
    match value.kind() {
        PrimKind::Binary(BinaryOp::Div, _, b) if b.dtype().is_float() && b.dtype().is_scalar() && !b.uses(var) => {
            Some(b)
        }
        PrimKind::Binary(BinaryOp::And | BinaryOp::Or, ..) | PrimKind::Select(..) => None,
        PrimKind::Binary(_, a, b) => divisor(a, var).or_else(|| divisor(b, var)),
        PrimKind::Cast(a) => divisor(a, var),
        PrimKind::Call(call) if matches!(&call.callee, PrimCallee::Intrin(name) if name.as_str() != "if_then_else") => {
            call.args.iter().find_map(|arg| divisor(arg, var))
        }
        _ => None,
    }
}

/// Returns the distinct loads of a stage's value, other than those of its own buffer, in order.
pub fn loads(stage: &Stage) -> Vec<&PrimExpr> {
    let mut found: Vec<&PrimExpr> = Vec::new();
    stage.value.walk(&mut |e| match e.kind() {
        PrimKind::Load(buffer, ..) if *buffer != stage.buffer && !found.iter().any(|known| same_expr(known, e)) => {
            found.push(e);
        }
        _ => {}
    });
    found
}

/// Returns the candidates for `cache_read`, in order: the distinct loads, then computed operands of a contraction, or
/// the computed value of an element-wise stage.
pub fn parts(stage: &Stage) -> Vec<&PrimExpr> {
    // Positions in an arg-reduction count from the start of its axes, and a copy starts elsewhere.
    if stage.arg_result.is_some() {
        return Vec::new();
    }
    let whole = match contraction_operands(stage) {
        Some((a, b)) => vec![a, b],
        None if !stage.reduces() => vec![&stage.value],
        None => Vec::new(),
    };
    let is_load = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(..));
    let made = |e: &&PrimExpr| !is_load(e) && e.dtype().is_scalar() && e.any(&mut |e| is_load(e));
    let mut parts = loads(stage);
    for part in whole.into_iter().filter(made) {
        if !parts.iter().any(|known| same_expr(known, part)) {
            parts.push(part);
        }
    }
    parts
}

/// Returns true if an expression is a load from a buffer's memory.
pub fn is_load_of(e: &PrimExpr, buffer: &Buffer) -> bool {
    matches!(e.kind(), PrimKind::Load(b, ..) if b.data == buffer.data)
}

/// Returns true if one of the [`parts`] can be copied outside the loops that it is invariant in: it is evaluated
/// wherever the stage is.
pub fn can_be_copied(stage: &Stage, part: &PrimExpr) -> bool {
    let others = || stage.axes.iter().filter(|axis| !part.uses(&axis.var)).map(|axis| axis.extent.as_int());
    is_copyable(stage, part)
        && others().all(|extent| extent != Some(0))
        && (others().all(|extent| extent.is_some()) || pays_off_for_any_rows(part) && is_inside(stage, part))
}

/// Returns true if one of the [`parts`] can be copied inside the loops that it is invariant in: each iteration evaluates
/// it, and nothing else matters.
pub fn is_copyable(stage: &Stage, part: &PrimExpr) -> bool {
    let plain = |e: &PrimExpr| !matches!(e.kind(), PrimKind::Load(..) | PrimKind::Call(_) | PrimKind::Select(..));
    let simple = match part.kind() {
        PrimKind::Load(_, indices, None) => indices.iter().all(|index| !index.any(&mut |e| !plain(e))),
        PrimKind::Load(..) => false,
        _ => !part.any(&mut |e| is_load_of(e, &stage.buffer) || check::is_check(e) || !has_vector_form(e)),
    };
    simple && is_always_evaluated(&stage.value, part)
}

/// Returns true if a copy pays off for any number of rows: of bytes, or of values that are unpacked from bytes, which
/// registers alone would unpack for each tile of rows. Others need many rows.
fn pays_off_for_any_rows(part: &PrimExpr) -> bool {
    part.dtype().bits == 8 || unpacks(part)
}

/// Returns true if a value is computed from a few bits of an integer, as in weights of 4 bits.
fn unpacks(e: &PrimExpr) -> bool {
    let shifts = |e: &PrimExpr| e.as_intrin("shift_right").is_some();
    !matches!(e.kind(), PrimKind::Load(..)) && e.dtype().is_floating() && e.any(&mut |e| shifts(e))
}

/// Returns true if all loads of an expression are in bounds for all values of the axes that it uses, even if other axes
/// are empty.
fn is_inside(stage: &Stage, part: &PrimExpr) -> bool {
    let mut analyzer = Analyzer::new();
    for axis in stage.axes.iter().filter(|axis| part.uses(&axis.var)) {
        analyzer.bind(&axis.var, &PrimExpr::int(0, axis.var.dtype()), &axis.extent);
    }
    let inside = |(index, size): (&PrimExpr, &PrimExpr)| {
        analyzer.prove_ge(index, &PrimExpr::int(0, index.dtype()))
            && analyzer.prove_lt(index, &size.clone().cast(index.dtype()))
    };
    !part.any(&mut |e| match e.kind() {
        PrimKind::Load(buffer, indices, None) => !indices.iter().zip(&buffer.shape).all(inside),
        PrimKind::Load(..) => true,
        _ => false,
    })
}

/// Returns true if every load of an expression is contiguous or invariant along an axis.
pub fn all_contiguous(part: &PrimExpr, var: &Var) -> bool {
    !part.any(&mut |e| matches!(e.kind(), PrimKind::Load(..)) && !is_contiguous(e, var))
}

/// Returns true if evaluating a value always evaluates a load.
fn is_always_evaluated(value: &PrimExpr, load: &PrimExpr) -> bool {
    match value.kind() {
        _ if same_expr(value, load) => true,
        PrimKind::Select(condition, ..) => is_always_evaluated(condition, load),
        PrimKind::Binary(BinaryOp::And | BinaryOp::Or, first, _) => is_always_evaluated(first, load),
        PrimKind::Call(call) if matches!(&call.callee, PrimCallee::Intrin(name) if name.as_str() == "if_then_else") => {
            call.args.first().is_some_and(|condition| is_always_evaluated(condition, load))
        }
        _ => {
            let mut made = false;
            value.each_child(&mut |child| made |= is_always_evaluated(child, load));
            made
        }
    }
}
