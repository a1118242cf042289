//! Division, remainder, minimum and maximum of polynomials.
//!
//! Summands divisible by the divisor are moved out of a quotient and dropped from a remainder; the rest becomes an atom
//! unless bounds decide its value. Division is floor division throughout.

use super::{
    Interval,
    floor::{floor_div, floor_mod},
    normal::{Poly, Query},
    polynomial::AtomId,
};
use crate::{
    DType, PrimExpr,
    prim::{self, BinaryOp, PrimKind},
};

/// A dividend split into a multiple of a common unit and a rest smaller than the unit.
struct SplitDividend {
    size: i64,
    units: Poly,
    /// The divisor, in units.
    divisor: Poly,
    rest: Poly,
}

impl Query<'_> {
    /// `a // b`.
    pub fn floor_div(&mut self, a: Poly, b: Poly, dtype: DType) -> Option<Poly> {
        match b.as_constant() {
            Some(0) => return None,
            Some(c) if c < 0 => return self.div_constant(&a.checked_scale(-1)?, c.checked_neg()?, dtype),
            Some(c) => return self.div_constant(&a, c, dtype),
            None if a == b => return Some(Poly::constant(1)),
            None => {}
        }
        let (whole, rest) = divide(&a, &b);
        if rest.is_zero() || self.is_remainder(&rest, &b) {
            return Some(whole);
        }
        if let Some(SplitDividend { units, divisor, .. }) = self.split_dividend(&rest, &b) {
            return whole.checked_add(&self.floor_div(units, divisor, dtype)?);
        }
        let atom = self.node(BinaryOp::FloorDiv, &rest, &b, dtype)?;
        whole.checked_add(&atom)
    }

    /// `a % b`.
    pub fn floor_mod(&mut self, a: Poly, b: Poly, dtype: DType) -> Option<Poly> {
        match b.as_constant() {
            Some(c) if c <= 0 => return None,
            Some(c) => return self.mod_constant(&a, c, dtype),
            None => {}
        }
        let (_, rest) = divide(&a, &b);
        if rest.is_zero() || self.is_remainder(&rest, &b) {
            return Some(rest);
        }
        if let Some(SplitDividend { size, units, divisor, rest }) = self.split_dividend(&rest, &b) {
            return self.floor_mod(units, divisor, dtype)?.checked_scale(size)?.checked_add(&rest);
        }
        self.node(BinaryOp::FloorMod, &rest, &b, dtype)
    }

    /// Splits `a` by the constant factor of `b` if the rest stays below one unit: rows, for example, when elements are
    /// divided by `n` rows of 384.
    fn split_dividend(&self, a: &Poly, b: &Poly) -> Option<SplitDividend> {
        let (_, size) = b.single().filter(|(_, size)| *size > 1)?;
        let (units, rest) = a.divide_by_term((&[], size));
        let fits = self.interval(&rest).is_within(Interval::new(0, size - 1)) && self.interval(b).min >= 0;
        fits.then(|| SplitDividend { size, units, divisor: b.map_coefficients(|c| c / size), rest })
    }

    /// `min(a, b)` or `max(a, b)`, with common summands moved out.
    pub fn min_max(&mut self, op: BinaryOp, a: Poly, b: Poly, dtype: DType) -> Option<Poly> {
        let difference = a.checked_sub(&b)?;
        let (smaller, larger) = if self.is_nonnegative(&difference) {
            (b, a)
        } else if self.is_nonnegative(&difference.checked_scale(-1)?) {
            (a, b)
        } else {
            let (common, a) = a.partition(|m, c| b.coefficient_of(m) == c);
            let b = b.checked_sub(&common)?;
            let (a, b) = if a.terms().le(b.terms()) { (a, b) } else { (b, a) };
            return self.node(op, &a, &b, dtype)?.checked_add(&common);
        };
        Some(if op == BinaryOp::Min { smaller } else { larger })
    }

    /// Replaces `x // c * c + x % c` by `x` where that makes the sum shorter.
    pub fn combine_div_mod(&mut self, mut sum: Poly) -> Poly {
        for atom in sum.distinct_atoms() {
            let PrimKind::Binary(BinaryOp::FloorMod, x, c) = self.atom(atom).kind() else { continue };
            let (x, c, dtype) = (x.clone(), c.clone(), self.atom(atom).dtype());
            if let Some(shorter) = self.cancel_remainder(&sum, atom, &x, &c, dtype)
                && shorter.terms().len() < sum.terms().len()
            {
                sum = shorter;
            }
        }
        sum
    }

    /// Adds a multiple of `x - x // c * c - x % c`, which is zero, to cancel the remainder.
    fn cancel_remainder(
        &mut self,
        sum: &Poly,
        remainder: AtomId,
        x: &PrimExpr,
        c: &PrimExpr,
        dtype: DType,
    ) -> Option<Poly> {
        let (factor, _) = sum.linear_in(&remainder)?;
        if sum.terms().len() == factor.terms().len() {
            return None;
        }
        let (x, c) = (self.poly(x), self.poly(c));
        let quotient = self.floor_div(x.clone(), c.clone(), dtype)?;
        let zero = x.checked_sub(&quotient.checked_mul(&c)?)?.checked_sub(&Poly::atom(remainder))?;
        sum.checked_add(&factor.checked_mul(&zero)?)
    }

    fn div_constant(&mut self, a: &Poly, c: i64, dtype: DType) -> Option<Poly> {
        if c == 1 {
            return Some(a.clone());
        }
        let offset = a.offset();
        let whole = a
            .checked_sub(&Poly::constant(offset))?
            .map_coefficients(|k| k / c)
            .checked_add(&Poly::constant(floor_div(offset, c)?))?;
        let rest = a.checked_add_scaled(&whole, -c)?;
        if let Some(quotient) = self.constant_quotient(&rest, c) {
            return whole.checked_add(&Poly::constant(quotient));
        }
        let part = self.div_rest(&rest, c, dtype)?;
        whole.checked_add(&part)
    }

    /// `rest // c`, where no coefficient of `rest` reaches `c`.
    fn div_rest(&mut self, rest: &Poly, c: i64, dtype: DType) -> Option<Poly> {
        let offset = rest.offset();
        let variable = rest.checked_sub(&Poly::constant(offset))?;
        let common = variable.terms().fold(c, |g, (_, k)| gcd(g, k));
        if common > 1 {
            let smaller =
                variable.map_coefficients(|k| k / common).checked_add(&Poly::constant(floor_div(offset, common)?))?;
            return self.div_constant(&smaller, c / common, dtype);
        }
        // (x // d + r) // c is (x + r * d) // (c * d).
        if let Some(atom) = variable.as_atom()
            && let PrimKind::Binary(BinaryOp::FloorDiv, x, d) = self.atom(atom).kind()
            && let Some(d) = d.as_int().filter(|d| *d > 0)
        {
            let x = x.clone();
            let inner = self.poly(&x).checked_add(&Poly::constant(offset.checked_mul(d)?))?;
            return self.div_constant(&inner, c.checked_mul(d)?, dtype);
        }
        self.node(BinaryOp::FloorDiv, rest, &Poly::constant(c), dtype)
    }

    fn mod_constant(&mut self, a: &Poly, c: i64, dtype: DType) -> Option<Poly> {
        if let Some(quotient) = self.constant_quotient(a, c) {
            return a.checked_sub(&Poly::constant(quotient.checked_mul(c)?));
        }
        let a = self.without_inner_remainders(a, c)?;
        if self.is_quotient(&a) && self.is_remainder(&a, &Poly::constant(c)) {
            return Some(a);
        }
        let offset = floor_mod(a.offset(), c)?;
        let variable = a.checked_sub(&Poly::constant(a.offset()))?.map_coefficients(|k| k % c);
        let rest = variable.checked_add(&Poly::constant(offset))?;
        if let Some(quotient) = self.constant_quotient(&rest, c) {
            return rest.checked_sub(&Poly::constant(quotient.checked_mul(c)?));
        }
        let common = variable.terms().fold(c, |g, (_, k)| gcd(g, k));
        if common > 1 {
            let smaller = variable.map_coefficients(|k| k / common).checked_add(&Poly::constant(offset / common))?;
            let part = self.mod_constant(&smaller, c / common, dtype)?;
            return part.checked_scale(common)?.checked_add(&Poly::constant(offset % common));
        }
        self.node(BinaryOp::FloorMod, &rest, &Poly::constant(c), dtype)
    }

    /// Replaces `x % m` by `x` for multiples `m` of `c`, which does not change the remainder modulo `c`.
    fn without_inner_remainders(&mut self, a: &Poly, c: i64) -> Option<Poly> {
        let mut a = a.clone();
        for atom in a.distinct_atoms() {
            let PrimKind::Binary(BinaryOp::FloorMod, x, m) = self.atom(atom).kind() else { continue };
            if m.as_int().is_none_or(|m| m % c != 0) {
                continue;
            }
            let x = x.clone();
            if let Some((factor, rest)) = a.linear_in(&atom) {
                let x = self.poly(&x);
                a = rest.checked_add(&factor.checked_mul(&x)?)?;
            }
        }
        Some(a)
    }

    /// The quotient by `c` if bounds determine it.
    fn constant_quotient(&self, a: &Poly, c: i64) -> Option<i64> {
        let range = self.interval(a);
        let (low, high) = (floor_div(range.min, c)?, floor_div(range.max, c)?);
        (low == high && range.min != i64::MIN && range.max != i64::MAX).then_some(low)
    }

    /// Returns true if it is a quotient by a symbolic divisor, whose interval is imprecise.
    fn is_quotient(&self, a: &Poly) -> bool {
        let quotient = a.as_atom().map(|atom| self.atom(atom).kind());
        matches!(quotient, Some(PrimKind::Binary(BinaryOp::FloorDiv, _, d)) if d.as_int().is_none())
    }

    /// Returns true if `0 <= rest < b`.
    fn is_remainder(&mut self, rest: &Poly, b: &Poly) -> bool {
        let room = b.checked_sub(rest).and_then(|d| d.checked_sub(&Poly::constant(1)));
        self.is_nonnegative(rest) && room.is_some_and(|room| self.is_nonnegative(&room))
    }

    /// The operation as an atom; `None` if computing a data operand might wrap.
    fn node(&mut self, op: BinaryOp, a: &Poly, b: &Poly, dtype: DType) -> Option<Poly> {
        let node = prim::binary(op, self.expr(a, dtype), self.expr(b, dtype));
        let wraps = node.is_data() && !(self.fits(a, dtype) && self.fits(b, dtype));
        (!wraps).then(|| self.atom_poly(&node))
    }
}

/// Splits `a` into a multiple of `b` and a rest: per monomial if `b` is a single one, otherwise by the multiple that
/// cancels one monomial.
fn divide(a: &Poly, b: &Poly) -> (Poly, Poly) {
    if let Some(divisor) = b.single() {
        return a.divide_by_term(divisor);
    }
    let multiple = b.terms().last().and_then(|(m, k)| {
        let (_, c) = a.terms().find(|(n, c)| *n == m && c.checked_rem(k) == Some(0))?;
        Some((c / k, a.checked_add_scaled(b, (c / k).checked_neg()?)?))
    });
    match multiple {
        Some((factor, rest)) if rest.terms().len() < a.terms().len() => (Poly::constant(factor), rest),
        _ => (Poly::zero(), a.clone()),
    }
}

/// Greatest common divisor; 1 on overflow.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}
