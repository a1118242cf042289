//! Recovers affine indices from floating-point arithmetic.
//!
//! Resizing an image by an integer factor computes source coordinates in floating point, rounds, and clamps them:
//! `max(min(int(nearbyint((float(x) + 0.5) * 0.5 - 0.5)), 55), 0)`. For all 112 values of `x` this is `x // 2`, from
//! which contiguity is known.

use crate::Axis;
use hammock_interp::{self as interp, Value};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var, check},
};

/// Maximum extent of an axis whose values are tried.
const MAX_EXTENT: i64 = 8192;

/// Returns an equal index that is a multiple or a quotient of the only axis that it depends on, if all values of the
/// axis agree.
pub fn recover(index: &PrimExpr, axes: &[Axis]) -> Option<PrimExpr> {
    let plain = |e: &PrimExpr| match e.kind() {
        PrimKind::Load(..) | PrimKind::Let(..) | PrimKind::Reduce(_) => false,
        PrimKind::Call(call) => !call.runs_function(),
        _ => e.dtype().is_scalar(),
    };
    if !index.any(&mut |e| e.dtype().is_float()) || index.any(&mut |e| !plain(e) || check::is_check(e)) {
        return None;
    }
    let mut used = axes.iter().filter(|axis| index.uses(&axis.var));
    let (axis, None) = (used.next()?, used.next()) else { return None };
    let count = axis.extent.as_int().filter(|count| (2..=MAX_EXTENT).contains(count))?;
    let at = |position: i64| value(index, &axis.var, position);
    let (first, second) = (at(0)?, at(1)?);
    let var = axis.var.expr();
    if first != second {
        let step = second.checked_sub(first)?;
        let multiple = |position: i64| position.checked_mul(step)?.checked_add(first);
        let is_multiple =
            (0..count).all(|position| multiple(position).is_some_and(|value| at(position) == Some(value)));
        return is_multiple.then(|| var * PrimExpr::int64(step) + PrimExpr::int64(first));
    }
    let run = (1..count).find(|position| at(*position) != Some(first))?;
    let quotient = |position: i64| first.checked_add(position / run);
    let is_quotient = (0..count).all(|position| quotient(position).is_some_and(|value| at(position) == Some(value)));
    is_quotient.then(|| var.floordiv(PrimExpr::int64(run)) + PrimExpr::int64(first))
}

fn value(index: &PrimExpr, var: &Var, position: i64) -> Option<i64> {
    match interp::evaluate(index, &[(var.clone(), Value::Int(position))]).ok()? {
        Value::Int(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::same_expr;
    use hammock_ir::DType;

    /// Source coordinate of a resized axis by nearest neighbour, as `resize2d` computes it.
    fn nearest(x: &PrimExpr, from: i64, to: i64) -> PrimExpr {
        let float = |value: f64| PrimExpr::constant(value, DType::FLOAT32);
        let source = (x.clone().cast(DType::FLOAT32) + float(0.5)) * float(from as f64 / to as f64) - float(0.5);
        let source = source.unary("nearbyint").cast(DType::INT64);
        source.min(PrimExpr::int64(from - 1)).max(PrimExpr::int64(0))
    }

    #[test]
    fn whole_factors_are_quotients_and_multiples() {
        let var = Var::int64("x");
        let x = var.expr();
        let found = |from: i64, to: i64| {
            let axis = Axis::spatial(var.clone(), PrimExpr::int64(to));
            recover(&nearest(&x, from, to), &[axis])
        };
        let is = |found: Option<PrimExpr>, expected: PrimExpr| {
            let found = found.expect("it is regular");
            assert!(same_expr(&(&found - &expected), &PrimExpr::int64(0)) || same_expr(&found, &expected), "{found:?}");
        };
        let zero = PrimExpr::int64(0);
        is(found(56, 112), x.clone().floordiv(PrimExpr::int64(2)) + zero.clone());
        is(found(5, 15), x.clone().floordiv(PrimExpr::int64(3)) + zero.clone());
        is(found(33, 11), x.clone() * PrimExpr::int64(3) + PrimExpr::int64(1));
        assert!(found(10, 15).is_none(), "the steps are irregular");
        let of_integers = Axis::spatial(var.clone(), PrimExpr::int64(8));
        assert!(recover(&(x.clone() + x), &[of_integers]).is_none(), "nothing is computed in floating point");
    }
}
