//! Index arithmetic as native code computes it, and proofs that the result is the same as with unbounded integers.

use super::{Scope, WIDE};
use crate::{
    DType, PrimExpr,
    arith::{self, Interval},
    prim::{BinaryOp, PrimKind},
};

impl Scope {
    /// Rewrites an integer expression to 64 bits, over the scope's 64-bit variables. Casts between index widths are
    /// dropped, as in native code.
    pub(crate) fn wide(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Int(v) => PrimExpr::int64(*v),
            PrimKind::Var(v) if self.values.contains_key(v) => self.values[v].clone(),
            PrimKind::Cast(a) if is_index(a.dtype()) && is_index(e.dtype()) => {
                let wide = self.wide(a);
                let exact_in_dtype = |dtype| !a.is_data() || self.fits_dtype(&wide, dtype);
                if exact_in_dtype(a.dtype()) && exact_in_dtype(e.dtype()) { wide } else { e.clone().cast(DType::INT64) }
            }
            PrimKind::Binary(op, a, b) if is_index(e.dtype()) && is_index(a.dtype()) => {
                let (x, y) = (self.wide(a), self.wide(b));
                let exact_in_dtype = |e: &PrimExpr, wide: &PrimExpr| !e.is_data() || self.fits_dtype(wide, e.dtype());
                let is_modular = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul);
                match is_modular || exact_in_dtype(a, &x) && exact_in_dtype(b, &y) {
                    true => fold_exact(*op, x, y),
                    // Operands that wrapped in their own width differ from their 64-bit counterparts.
                    false => e.clone().cast(DType::INT64),
                }
            }
            PrimKind::Select(c, a, b) if is_index(e.dtype()) && c.dtype().is_scalar() => {
                c.clone().select(self.wide(a), self.wide(b))
            }
            PrimKind::Call(call) if is_index(e.dtype()) => match &call.args[..] {
                [c, a, b] if e.as_intrin("if_then_else").is_some() => {
                    c.clone().if_then_else(self.wide(a), self.wide(b))
                }
                [a] if e.as_intrin("likely").is_some() => self.wide(a),
                [a, b] if MODELLED.iter().any(|name| e.as_intrin(name).is_some()) => PrimExpr::call(
                    call.callee.clone(),
                    vec![self.wide(a), self.wide(b)],
                    call.attrs.clone(),
                    DType::INT64,
                ),
                _ => e.clone().cast(DType::INT64),
            },
            _ => e.clone().cast(DType::INT64),
        }
    }

    /// Returns true if data computed in 64 bits fits its dtype.
    pub(super) fn fits_dtype(&self, wide: &PrimExpr, dtype: DType) -> bool {
        dtype.bits == 64 || self.analyzer.interval(wide).is_within(Interval::of_dtype(dtype))
    }

    /// Returns true if computing the expression in 64 bits certainly gives its exact value.
    pub(super) fn exact(&self, e: &PrimExpr) -> bool {
        self.exact_within(e, WIDE)
    }

    /// The same, with all intermediate values within a limit.
    pub(super) fn exact_within(&self, e: &PrimExpr, limit: Interval) -> bool {
        // Only sums and products grow beyond their operands.
        let grows =
            matches!(e.kind(), PrimKind::Int(_) | PrimKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..))
                || e.as_intrin("shift_left").is_some();
        self.is_congruent(e, limit) && (limit == WIDE && !grows || self.fits(e, limit))
    }

    /// Returns true if the result is certainly correct modulo 2^64.
    pub(super) fn is_congruent(&self, e: &PrimExpr, limit: Interval) -> bool {
        let exact = |e: &PrimExpr| self.exact_within(e, limit);
        match e.kind() {
            PrimKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => {
                !wraps(e) && self.is_congruent(a, limit) && self.is_congruent(b, limit)
            }
            PrimKind::Binary(op, a, b) if is_index(a.dtype()) => {
                let divides = matches!(op, BinaryOp::Div | BinaryOp::Mod | BinaryOp::FloorDiv | BinaryOp::FloorMod);
                exact(a) && exact(b) && (!divides || self.is_divisor(b))
            }
            PrimKind::Select(_, a, b) => self.is_congruent(a, limit) && self.is_congruent(b, limit),
            // Unsigned 64-bit values become negative.
            PrimKind::Cast(a) => !(a.dtype().is_uint() && a.dtype().bits == 64),
            PrimKind::Call(call) => match &call.args[..] {
                [_, a, b] if e.as_intrin("if_then_else").is_some() => {
                    self.is_congruent(a, limit) && self.is_congruent(b, limit)
                }
                [a, b] if MODELLED.iter().any(|name| e.as_intrin(name).is_some()) => exact(a) && exact(b),
                _ => true,
            },
            _ => true,
        }
    }

    fn is_divisor(&self, e: &PrimExpr) -> bool {
        let range = self.analyzer.interval(e);
        range.min > 0 || range.max < 0
    }

    /// Returns true if the value is within a limit: by its interval, or because it counts elements of an existing
    /// buffer.
    fn fits(&self, e: &PrimExpr, limit: Interval) -> bool {
        let range = self.analyzer.interval(e);
        let mut sized = false;
        e.each_var(&mut |v| sized |= self.sizes.contains(v));
        if range.is_within(limit) && !sized {
            return true;
        }
        if limit == WIDE && range.min >= 0 && self.analyzer.prove_le_any(e, &self.elements) {
            return true;
        }
        let fits = range.is_within(limit);
        self.relies.set(self.relies.get() || fits);
        fits
    }
}

/// The folded operation, or its node if constants overflow.
pub(super) fn fold_exact(op: BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr {
    let node = crate::prim::binary(op, a, b);
    match node.kind() {
        PrimKind::Binary(_, a, b) if !wraps(&node) => arith::binary(op, a.clone(), b.clone()),
        _ => node,
    }
}

/// Returns true if an operation on constants overflows.
fn wraps(e: &PrimExpr) -> bool {
    let PrimKind::Binary(op, a, b) = e.kind() else { return false };
    let (Some(a), Some(b)) = (a.as_int(), b.as_int()) else { return false };
    match op {
        BinaryOp::Add => a.checked_add(b).is_none(),
        BinaryOp::Sub => a.checked_sub(b).is_none(),
        BinaryOp::Mul => a.checked_mul(b).is_none(),
        _ => false,
    }
}

/// Functions that the analyzer models.
const MODELLED: &[&str] = &["bitwise_and", "shift_left", "shift_right"];

/// Returns true if the dtype is an index dtype, which native code widens to 64 bits.
pub(super) fn is_index(dtype: DType) -> bool {
    matches!(dtype, DType::INT32 | DType::INT64)
}

/// Returns true if the expression reads memory, which may change, or calls a function that does.
pub(super) fn reads(e: &PrimExpr) -> bool {
    e.any(&mut |x| match x.kind() {
        PrimKind::Load(..) => true,
        PrimKind::Call(call) => !call.is_pure(),
        _ => false,
    })
}
