//! Operators that fold constants.
//!
//! Each function builds the node that it is named after, unless the operands are constants or one of them is neutral
//! (`x + 0`, `x * 1`) or absorbing (`x * 0`). The rules are exactly those of TVM's operators, so that printed text
//! reads back as the same nodes: if folding would change an expression, the printer names its node (`T.Add(1, 2)`),
//! while the importer folds `1 + 2`.

use super::floor::{floor_div, floor_mod};
use crate::{
    DType, PrimExpr,
    prim::{self, BinaryOp, PrimKind},
};

/// `a op b` for operands of any dtypes: converts them to a common one, then folds or builds the node.
pub fn binary(op: BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr {
    let (a, b) = if matches!(op, BinaryOp::And | BinaryOp::Or) { (a, b) } else { match_types(a, b) };
    fold(op, &a, &b).unwrap_or_else(|| prim::binary(op, a, b))
}

/// Logical not; folds constants.
pub fn not(a: PrimExpr) -> PrimExpr {
    match a.as_int() {
        Some(v) => PrimExpr::bool(v == 0),
        None => a.not(),
    }
}

/// `-a`: the negated constant, or `0 - a`.
pub fn neg(a: PrimExpr) -> PrimExpr {
    let dtype = a.dtype();
    match a.kind() {
        PrimKind::Int(v) => PrimExpr::int(wrap(v.wrapping_neg(), dtype), dtype),
        PrimKind::Float(v) => PrimExpr::float(-v, dtype),
        _ => prim::binary(BinaryOp::Sub, PrimExpr::constant(0.0, dtype), a),
    }
}

/// Conversion to `dtype`: a no-op if the dtype is equal, folded for constants, lane by lane for vectors.
pub fn cast(value: PrimExpr, dtype: DType) -> PrimExpr {
    if value.dtype() == dtype {
        return value;
    }
    if dtype.lanes != 1 {
        return if value.dtype().lanes == 1 {
            cast(value, dtype.element()).broadcast(dtype.lanes)
        } else {
            value.cast(dtype)
        };
    }
    match value.kind() {
        PrimKind::Int(v) if dtype.is_floating() => PrimExpr::float(*v as f64, dtype),
        PrimKind::Int(v) => PrimExpr::int(wrap(*v, dtype), dtype),
        PrimKind::Float(v) if dtype.is_floating() => PrimExpr::float(*v, dtype),
        PrimKind::Float(v) if !dtype.is_handle() => PrimExpr::int(wrap(*v as i64, dtype), dtype),
        _ => value.cast(dtype),
    }
}

/// Both operands converted to their common dtype and number of lanes; unchanged when they have none.
pub fn match_types(a: PrimExpr, b: PrimExpr) -> (PrimExpr, PrimExpr) {
    if a.dtype() == b.dtype() {
        return (a, b);
    }
    let (la, lb) = (a.dtype().lanes, b.dtype().lanes);
    let (a, b) = (if la == 1 { a.broadcast(lb) } else { a }, if lb == 1 { b.broadcast(la) } else { b });
    match promote(a.dtype(), b.dtype()) {
        Some(dtype) => (cast(a, dtype), cast(b, dtype)),
        None => (a, b),
    }
}

/// Common dtype of two operands: floats win over integers, wide over narrow, unsigned over signed of the same width.
/// `None` for handles and for different numbers of lanes.
pub fn promote(a: DType, b: DType) -> Option<DType> {
    if a == b {
        return Some(a);
    }
    if a.lanes != b.lanes || a.is_handle() || b.is_handle() {
        return None;
    }
    if a.is_float() && b.is_float() {
        return Some(if a.bits < b.bits { b } else { a });
    }
    let kinds: [fn(DType) -> bool; 5] =
        [DType::is_float, DType::is_bfloat16, DType::is_float8, DType::is_float6, DType::is_float4];
    for kind in kinds {
        match (kind(a), kind(b)) {
            (true, false) => return Some(a),
            (false, true) => return Some(b),
            _ => {}
        }
    }
    match (a.is_integer(), b.is_integer()) {
        (true, true) if a.bits != b.bits => Some(if a.bits < b.bits { b } else { a }),
        (true, true) => Some(if a.is_uint() { a } else { b }),
        (true, false) if b.is_bool() => Some(a),
        (false, true) if a.is_bool() => Some(b),
        _ => None,
    }
}

/// Folds `a op b` for operands of one dtype; `None` if it does not fold.
pub fn fold(op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> Option<PrimExpr> {
    use BinaryOp::*;
    match op {
        And | Or => fold_logic(op, a, b),
        Min | Max if a.same_node(b) => Some(a.clone()),
        Mod | FloorMod if !(is_index(a.dtype()) || op == FloorMod && a.dtype().is_uint()) => None,
        _ => match (a.kind(), b.kind()) {
            (PrimKind::Int(x), PrimKind::Int(y)) => fold_ints(op, *x, *y, a.dtype()),
            (PrimKind::Float(x), PrimKind::Float(y)) => {
                fold_floats(op, *x, *y, a.dtype()).or_else(|| neutral(op, a, b))
            }
            _ => neutral(op, a, b),
        },
    }
}

/// Folds a shift or bitwise operation; `None` if it does not fold.
pub fn fold_bits(name: &str, a: &PrimExpr, b: &PrimExpr) -> Option<PrimExpr> {
    let dtype = a.dtype();
    if !is_index(dtype) || !is_index(b.dtype()) {
        return None;
    }
    let amount = |v: i64| u32::try_from(v).ok().filter(|n| *n < u32::from(dtype.bits));
    let value = match (name, a.as_int(), b.as_int()) {
        ("shift_left" | "shift_right", None, Some(0)) => return Some(a.clone()),
        ("shift_left", Some(x), Some(y)) => x.wrapping_shl(amount(y)?),
        ("shift_right", Some(x), Some(y)) => x >> amount(y)?,
        ("bitwise_and", Some(x), Some(y)) => x & y,
        ("bitwise_or", Some(x), Some(y)) => x | y,
        ("bitwise_xor", Some(x), Some(y)) => x ^ y,
        _ => return None,
    };
    Some(PrimExpr::int(wrap(value, dtype), dtype))
}

fn fold_logic(op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> Option<PrimExpr> {
    let neutral = i64::from(op == BinaryOp::And);
    let decides = |v: i64| (v != 0) as i64 != neutral;
    match (a.as_int(), b.as_int()) {
        (Some(v), _) => Some(if decides(v) { a } else { b }.clone()),
        (_, Some(v)) => Some(if decides(v) { b } else { a }.clone()),
        _ => None,
    }
}

fn fold_ints(op: BinaryOp, x: i64, y: i64, dtype: DType) -> Option<PrimExpr> {
    use BinaryOp::*;
    let value = match op {
        Add if dtype.is_int() => exact(x.checked_add(y)?, dtype)?,
        Sub if dtype.is_int() => exact(x.checked_sub(y)?, dtype)?,
        Mul if dtype.is_int() => exact(x.checked_mul(y)?, dtype)?,
        Add => x.wrapping_add(y),
        Sub => x.wrapping_sub(y),
        Mul => x.wrapping_mul(y),
        Div => x.checked_div(y)?,
        Mod => x.checked_rem(y)?,
        FloorMod if dtype.is_uint() => (x as u64).checked_rem(y as u64)? as i64,
        FloorDiv => floor_div(x, y)?,
        FloorMod => floor_mod(x, y)?,
        Min => x.min(y),
        Max => x.max(y),
        _ => return Some(PrimExpr::bool(compare(op, x.cmp(&y)))),
    };
    Some(PrimExpr::int(wrap(value, dtype), dtype))
}

/// The value if the dtype can represent it: operations that would wrap are not folded, see [`prim`](crate::prim).
fn exact(value: i64, dtype: DType) -> Option<i64> {
    (wrap(value, dtype) == value).then_some(value)
}

fn fold_floats(op: BinaryOp, x: f64, y: f64, dtype: DType) -> Option<PrimExpr> {
    use BinaryOp::*;
    let value = match op {
        Min => extremum(x, y, x < y),
        Max => extremum(x, y, x > y),
        Add | Sub | Mul | Div if dtype.lanes != 1 => return None,
        Add => rounded(x + y, dtype)?,
        Sub => rounded(x - y, dtype)?,
        Mul => rounded(x * y, dtype)?,
        Div if y != 0.0 => rounded(x / y, dtype)?,
        Eq | Ne | Lt | Le | Gt | Ge => {
            let order = x.partial_cmp(&y);
            return Some(PrimExpr::bool(order.map_or(op == Ne, |o| compare(op, o))));
        }
        _ => return None,
    };
    Some(PrimExpr::float(value, dtype))
}

/// The minimum or maximum of two floats; NaN if one is.
fn extremum(x: f64, y: f64, is_first: bool) -> f64 {
    if is_first || x.is_nan() { x } else { y }
}

/// The result of one operation rounded to the dtype. (One operation in f64 rounded once to f32 equals the same
/// operation in f32.)
fn rounded(value: f64, dtype: DType) -> Option<f64> {
    match dtype.bits {
        32 => Some(f64::from(value as f32)),
        64 => Some(value),
        _ => None,
    }
}

/// Drops neutral operands, and operands absorbed by zero: integers only, since zero times a float may be NaN, and only
/// if evaluating the operand cannot fail.
fn neutral(op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> Option<PrimExpr> {
    use BinaryOp::*;
    let is = |e: &PrimExpr, v: i64| e.as_int() == Some(v) || e.as_float() == Some(v as f64);
    let is_int = |e: &PrimExpr, v: i64| e.as_int() == Some(v);
    match op {
        Add if is(a, 0) => Some(b.clone()),
        Add | Sub if is(b, 0) => Some(a.clone()),
        Mul if is(a, 1) || is_int(b, 0) && cannot_fail(a) => Some(b.clone()),
        Mul if is(b, 1) || is_int(a, 0) && cannot_fail(b) => Some(a.clone()),
        Div | FloorDiv if is(b, 1) || is_int(a, 0) && is_divisor(b) => Some(a.clone()),
        Mod | FloorMod if is_int(a, 0) && is_divisor(b) => Some(a.clone()),
        Mod | FloorMod if is_int(b, 1) && cannot_fail(a) => Some(PrimExpr::int(0, a.dtype())),
        _ => None,
    }
}

/// Returns true if evaluating the expression cannot fail: no loads, no calls, constant divisors only.
fn cannot_fail(e: &PrimExpr) -> bool {
    use BinaryOp::*;
    !e.any(&mut |x| match x.kind() {
        PrimKind::Load(..) | PrimKind::Call(_) => true,
        PrimKind::Binary(Div | Mod | FloorDiv | FloorMod, _, d) => !is_divisor(d),
        _ => false,
    })
}

/// Returns true if it is a nonzero constant.
fn is_divisor(e: &PrimExpr) -> bool {
    e.as_int().is_some_and(|v| v != 0)
}

fn compare(op: BinaryOp, order: std::cmp::Ordering) -> bool {
    match op {
        BinaryOp::Eq => order.is_eq(),
        BinaryOp::Ne => order.is_ne(),
        BinaryOp::Lt => order.is_lt(),
        BinaryOp::Le => order.is_le(),
        BinaryOp::Gt => order.is_gt(),
        _ => order.is_ge(),
    }
}

/// Returns true if constants of the dtype are folded in index arithmetic: int32 and int64 scalars.
fn is_index(dtype: DType) -> bool {
    dtype.is_int() && dtype.lanes == 1 && matches!(dtype.bits, 32 | 64)
}

/// Wraps the value to an integer dtype.
pub(super) fn wrap(value: i64, dtype: DType) -> i64 {
    if dtype.is_bool() {
        return i64::from(value != 0);
    }
    if dtype.bits >= 64 || dtype.bits == 0 {
        return value;
    }
    let unused = 64 - u32::from(dtype.bits);
    if dtype.is_uint() { ((value as u64) << unused >> unused) as i64 } else { value << unused >> unused }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::Var;

    fn int(v: i64) -> PrimExpr {
        PrimExpr::int64(v)
    }

    #[test]
    fn constants_fold() {
        assert_eq!(binary(BinaryOp::Add, int(1), int(2)).as_int(), Some(3));
        assert_eq!(binary(BinaryOp::FloorDiv, int(-7), int(2)).as_int(), Some(-4));
        assert_eq!(binary(BinaryOp::FloorMod, int(-7), int(2)).as_int(), Some(1));
        assert_eq!(binary(BinaryOp::Div, int(-7), int(2)).as_int(), Some(-3));
        for (a, b) in [(PrimExpr::int32(i32::MAX), PrimExpr::int32(1)), (int(i64::MAX), int(1))] {
            assert_eq!(binary(BinaryOp::Add, a.clone(), b.clone()).as_int(), None, "what wraps stays");
            assert_eq!(binary(BinaryOp::Mul, a.clone(), a).as_int(), None);
            assert_eq!(
                binary(BinaryOp::Add, PrimExpr::int(255, DType::UINT8), PrimExpr::int(1, DType::UINT8)).as_int(),
                Some(0)
            );
        }
        assert!(fold(BinaryOp::FloorDiv, &int(1), &int(0)).is_none());
        assert!(fold(BinaryOp::FloorMod, &int(i64::MIN), &int(-1)).is_none());
    }

    #[test]
    fn neutral_operands_vanish() {
        let n = Var::int64("n").expr();
        for (op, a, b) in [
            (BinaryOp::Add, n.clone(), int(0)),
            (BinaryOp::Add, int(0), n.clone()),
            (BinaryOp::Sub, n.clone(), int(0)),
            (BinaryOp::Mul, int(1), n.clone()),
            (BinaryOp::FloorDiv, n.clone(), int(1)),
            (BinaryOp::Max, n.clone(), n.clone()),
        ] {
            assert!(binary(op, a, b).same_node(&n), "{op:?}");
        }
        assert!(fold(BinaryOp::Sub, &n, &n).is_none(), "only constants and neutral operands fold");
    }

    #[test]
    fn operands_are_promoted() {
        let n = Var::int64("n").expr();
        assert_eq!(binary(BinaryOp::Mul, n.clone(), PrimExpr::int32(2)).dtype(), DType::INT64);
        assert_eq!(promote(DType::INT32, DType::FLOAT16), Some(DType::FLOAT16));
        assert_eq!(promote(DType::INT32, DType::UINT32), Some(DType::UINT32));
        assert_eq!(promote(DType::BFLOAT16, DType::FLOAT32), Some(DType::FLOAT32));
        assert_eq!(promote(DType::BOOL, DType::INT8), Some(DType::INT8));
        assert_eq!(promote(DType::HANDLE, DType::INT8), None);
    }

    #[test]
    fn casts_of_constants_fold() {
        assert_eq!(cast(int(300), DType::UINT8).as_int(), Some(44));
        assert_eq!(cast(int(3), DType::FLOAT32).as_float(), Some(3.0));
        assert_eq!(cast(PrimExpr::float(2.9, DType::FLOAT32), DType::INT32).as_int(), Some(2));
        assert!(matches!(cast(Var::int64("n").expr(), DType::INT32).kind(), PrimKind::Cast(_)));
    }

    #[test]
    fn bits_fold() {
        assert_eq!(fold_bits("shift_left", &int(2), &int(5)).and_then(|e| e.as_int()), Some(64));
        assert!(fold_bits("shift_left", &int(2), &int(64)).is_none());
        assert!(fold_bits("bitwise_and", &Var::int64("n").expr(), &int(1)).is_none());
    }
}
