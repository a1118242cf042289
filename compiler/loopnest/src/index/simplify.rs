//! Simplification of index expressions as polynomials, using the known ranges of variables.
//!
//! Simplification never removes a check: an expression that would lose one stays as it is.

use super::Poly;
use hammock_ir::{
    DType, PrimExpr,
    arith::{Interval, gcd},
    prim::{BinaryOp, PrimKind, Var, binary, check},
};
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// Simplifies index expressions under known ranges of variables.
#[derive(Clone, Debug, Default)]
pub struct Simplifier {
    ranges: FxHashMap<Var, Interval>,
    budget: Budget,
}

/// Maximum number of expressions and pairs of terms that one query may visit.
const MAX_WORK: usize = 5000;

/// Remaining work of the current query.
#[derive(Clone, Debug, Default)]
struct Budget {
    left: Cell<usize>,
    /// Nesting depth of active subqueries.
    depth: Cell<usize>,
}

/// An active query or subquery.
struct Part<'a>(&'a Budget);

impl Budget {
    /// Begins a query or subquery; `None` if the budget is exhausted.
    fn begin(&self) -> Option<Part<'_>> {
        if self.depth.get() == 0 {
            self.left.set(MAX_WORK);
        }
        self.spend(1)?;
        self.depth.set(self.depth.get() + 1);
        Some(Part(self))
    }

    fn spend(&self, work: usize) -> Option<()> {
        self.left.set(self.left.get().saturating_sub(work));
        (self.left.get() > 0).then_some(())
    }
}

/// A value divided into multiples of a unit and a rest.
struct Multiple {
    size: i64,
    /// The divisor, in units.
    divisor: i64,
    units: Poly,
    rest: Poly,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() - 1);
    }
}

impl Simplifier {
    /// Records that a variable is in `min .. min + extent`.
    pub fn learn(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        let (first, count) = (self.range(&self.parts(min)), self.range(&self.parts(extent)));
        let last = wrapped_range(wrapped_range(first + count) - Interval::point(1));
        self.ranges.insert(var.clone(), Interval::new(first.min, last.max));
    }

    /// Records a lower bound of a variable, such as a size.
    pub fn at_least(&mut self, var: &Var, min: i64) {
        self.ranges.insert(var.clone(), Interval::new(min, i64::MAX));
    }

    /// Returns the polynomial of an integer expression of any width, as int64. Expressions beyond the budget stay
    /// atoms.
    pub fn poly(&self, e: &PrimExpr) -> Poly {
        let poly = self.modular(e);
        if poly.checks() < check::count(e) { Poly::atom(e.clone().cast(DType::INT64)) } else { poly }
    }

    /// Simplifies an integer expression, as int64.
    pub fn index(&self, e: &PrimExpr) -> PrimExpr {
        self.poly(e).to_expr()
    }

    /// Simplifies an integer expression, as int64, whose data wrap to the width of their dtype: loop bounds.
    pub fn value(&self, e: &PrimExpr) -> PrimExpr {
        let poly = self.parts(e);
        if poly.checks() < check::count(e) { e.clone().cast(DType::INT64) } else { poly.to_expr() }
    }

    /// Simplifies the index expressions inside an expression; its own dtype is unchanged.
    pub fn inner(&self, e: &PrimExpr) -> PrimExpr {
        check::simplify_with_checks(e.clone(), |e| self.simple(e))
    }

    /// Returns true if an integer expression is never negative.
    pub fn is_not_negative(&self, e: &PrimExpr) -> bool {
        self.not_negative(&self.parts(e))
    }

    /// Evaluates a condition without checks, if it is always true or always false.
    pub fn truth(&self, e: &PrimExpr) -> Option<bool> {
        self.decide(e).filter(|_| check::count(e) == 0)
    }

    /// Returns a polynomial with the same value modulo 2^64: arithmetic on data may wrap.
    fn modular(&self, e: &PrimExpr) -> Poly {
        let PrimKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) = e.kind() else {
            return self.parts(e);
        };
        if !e.is_data() || !is_index(e.dtype()) {
            return self.parts(e);
        }
        let Some(_part) = self.budget.begin() else { return Poly::atom(e.clone().cast(DType::INT64)) };
        let (x, y) = (self.modular(a), self.modular(b));
        if self.budget.spend(x.terms().len() * y.terms().len()).is_none() {
            return Poly::atom(e.clone().cast(DType::INT64));
        }
        match op {
            BinaryOp::Add => self.rejoin(&x + &y),
            BinaryOp::Sub => self.rejoin(&x - &y),
            _ => &x * &y,
        }
    }

    /// Returns a polynomial with the same value.
    fn parts(&self, e: &PrimExpr) -> Poly {
        let Some(_part) = self.budget.begin() else { return Poly::atom(e.clone().cast(DType::INT64)) };
        let poly = match e.kind() {
            PrimKind::Int(v) => return Poly::constant(*v),
            PrimKind::Cast(inner) if is_index(inner.dtype()) && is_index(e.dtype()) => self.parts(inner),
            PrimKind::Binary(op, a, b) if is_index(e.dtype()) => self.binary(*op, a, b, e),
            _ => return Poly::atom(self.simple(e).cast(DType::INT64)),
        };
        if e.is_data() && !self.fits(&poly, e) { Poly::atom(self.narrow(e).cast(DType::INT64)) } else { poly }
    }

    /// Returns true if a polynomial over data certainly equals the expression computed in its own width.
    fn fits(&self, poly: &Poly, e: &PrimExpr) -> bool {
        let inside = match (e.kind(), e.dtype().bits) {
            // Values at the ends may have been clamped.
            (PrimKind::Binary(op, ..), 64) if may_overflow(*op) => Interval::new(i64::MIN + 1, i64::MAX - 1),
            _ => Interval::of_dtype(e.dtype()),
        };
        self.range(poly).is_within(inside)
    }

    /// Simplifies the operands of an operation that is computed in its own dtype.
    fn narrow(&self, e: &PrimExpr) -> PrimExpr {
        e.map_children(&mut |c| {
            let simple = if is_index(c.dtype()) { self.parts(c).to_expr() } else { self.simple(c) };
            in_dtype(simple, c.dtype())
        })
    }

    fn decide(&self, e: &PrimExpr) -> Option<bool> {
        match e.kind() {
            PrimKind::Int(v) => Some(*v != 0),
            PrimKind::Not(a) => self.decide(a).map(|t| !t),
            PrimKind::Binary(BinaryOp::And, a, b) => match (self.decide(a), self.decide(b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            PrimKind::Binary(BinaryOp::Or, a, b) => match (self.decide(a), self.decide(b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            PrimKind::Binary(op, a, b) if op.is_comparison() && is_index(a.dtype()) => self.compare(*op, a, b),
            _ => None,
        }
    }

    fn compare(&self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> Option<bool> {
        let difference = self.range_between(&self.parts(a), &self.parts(b));
        let (below, above) = (difference.max < 0, difference.min > 0);
        let (at_most, at_least) = (difference.max <= 0, difference.min >= 0);
        let decide = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
        match op {
            BinaryOp::Lt => decide(below, at_least),
            BinaryOp::Le => decide(at_most, above),
            BinaryOp::Gt => decide(above, at_most),
            BinaryOp::Ge => decide(at_least, below),
            BinaryOp::Eq => decide(at_most && at_least, below || above),
            _ => decide(below || above, at_most && at_least),
        }
    }

    fn binary(&self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr, e: &PrimExpr) -> Poly {
        let (x, y) = (self.parts(a), self.parts(b));
        let constants = x.as_constant().zip(y.as_constant());
        let pairs = x.terms().len() * y.terms().len();
        if self.budget.spend(pairs).is_none() {
            return Poly::atom(e.clone().cast(DType::INT64));
        }
        match (op, constants) {
            (BinaryOp::Add, _) => self.rejoin(&x + &y),
            (BinaryOp::Sub, _) => self.rejoin(&x - &y),
            (BinaryOp::Mul, _) => &x * &y,
            (BinaryOp::Min | BinaryOp::Max, _) => self.extremum(op, x, y),
            (BinaryOp::FloorDiv, _) => self.floor_div(&x, &y),
            (BinaryOp::FloorMod, _) => self.floor_mod(&x, &y),
            (BinaryOp::Div, Some((x, y))) if y != 0 => Poly::constant(x.wrapping_div(y)),
            (BinaryOp::Mod, Some((x, y))) if y != 0 => Poly::constant(x.wrapping_rem(y)),
            (BinaryOp::Div, _) if self.not_negative(&x) && self.not_negative(&y) => self.floor_div(&x, &y),
            (BinaryOp::Mod, _) if self.not_negative(&x) && self.not_negative(&y) => self.floor_mod(&x, &y),
            _ => Poly::atom(binary(op, self.simple(a), self.simple(b)).cast(e.dtype()).cast(DType::INT64)),
        }
    }

    fn extremum(&self, op: BinaryOp, x: Poly, y: Poly) -> Poly {
        let difference = self.range_between(&x, &y);
        let (smaller, larger) = (difference.max <= 0, difference.min >= 0);
        match (op == BinaryOp::Min, smaller, larger) {
            (true, true, _) | (false, _, true) => x,
            (true, _, true) | (false, true, _) => y,
            _ => Poly::atom(binary(op, x.to_expr(), y.to_expr())),
        }
    }

    /// `x // y`: multiples of `y` are divided exactly, and the rest vanishes if it is in `[0, y)`.
    fn floor_div(&self, x: &Poly, y: &Poly) -> Poly {
        let (multiple, rest) = divide(x, y);
        if self.within(&rest, y) {
            return multiple;
        }
        if let Some(Multiple { divisor, units, .. }) = self.coarsen(&rest, y) {
            return &multiple + &self.floor_div(&units, &Poly::constant(divisor));
        }
        &multiple + &Poly::atom(rest.to_expr().floordiv(y.to_expr()))
    }

    /// `x % y`: multiples of `y` vanish.
    fn floor_mod(&self, x: &Poly, y: &Poly) -> Poly {
        let (_, rest) = divide(x, y);
        if rest.is_zero() || self.within(&rest, y) {
            return rest;
        }
        if let Some(Multiple { size, divisor, units, rest }) = self.coarsen(&rest, y) {
            return &self.floor_mod(&units, &Poly::constant(divisor)).scale(size) + &rest;
        }
        Poly::atom(rest.to_expr().floormod(y.to_expr()))
    }

    /// Expresses `x` in units that divide `y`, if the rest is always smaller than a unit: e.g. rows of an image, if a
    /// pixel index is divided by the size of the image.
    fn coarsen(&self, x: &Poly, y: &Poly) -> Option<Multiple> {
        let whole = y.as_constant().filter(|c| *c > 1)?;
        let sizes = x.terms().filter(|(atoms, _)| !atoms.is_empty()).map(|(_, k)| gcd(k, whole));
        sizes.filter(|size| (2..whole).contains(size)).find_map(|size| {
            let (units, rest) = divide(x, &Poly::constant(size));
            let fits = self.within(&rest, &Poly::constant(size));
            fits.then_some(Multiple { size, divisor: whole / size, units, rest })
        })
    }

    /// Replaces `(x // y) * y + x % y`, times any factors, by `x` times those.
    pub fn rejoin(&self, sum: Poly) -> Poly {
        let Some(_part) = self.budget.begin() else { return sum };
        for (atoms, k) in sum.terms() {
            for (i, atom) in atoms.iter().enumerate() {
                let PrimKind::Binary(BinaryOp::FloorMod, x, y) = atom.kind() else { continue };
                let others = atoms.iter().enumerate().filter(|(j, _)| *j != i);
                let factor = others.fold(Poly::constant(k), |p, (_, a)| &p * &Poly::atom(a.clone()));
                let quotient = Poly::atom(x.clone().floordiv(y.clone()));
                let whole = &(&factor * &quotient) * &self.parts(y);
                if whole.single().is_some_and(|(atoms, k)| sum.coefficient_of(atoms) == k) {
                    let rest = &(&sum - &whole) - &(&factor * &Poly::atom(atom.clone()));
                    return self.rejoin(&rest + &(&factor * &self.parts(x)));
                }
            }
        }
        sum
    }

    /// Returns true if `0 <= x < y` always; `y` is a divisor and so not zero.
    fn within(&self, x: &Poly, y: &Poly) -> bool {
        x.is_zero() || self.not_negative(x) && self.range_between(x, y).max < 0
    }

    fn not_negative(&self, x: &Poly) -> bool {
        self.range(x).min >= 0
    }

    /// Range of `x - y`.
    fn range_between(&self, x: &Poly, y: &Poly) -> Interval {
        x.checked_sub(y).map_or(Interval::ALL, |difference| self.range(&difference))
    }

    /// Range of a polynomial.
    fn range(&self, x: &Poly) -> Interval {
        let Some(_part) = self.budget.begin() else { return Interval::ALL };
        x.terms().fold(Interval::point(0), |sum, (atoms, k)| {
            let term = atoms.iter().fold(Interval::point(k), |term, atom| wrapped_range(term * self.atom_range(atom)));
            wrapped_range(sum + term)
        })
    }

    fn atom_range(&self, atom: &PrimExpr) -> Interval {
        match atom.kind() {
            PrimKind::Var(v) => self.ranges.get(v).copied().unwrap_or(Interval::ALL),
            PrimKind::Cast(a) if a.is_data() && is_index(a.dtype()) => {
                let range = wrapped_range(self.atom_range(a)).intersect(Interval::of_dtype(a.dtype()));
                let of_dtype = Interval::of_dtype(atom.dtype());
                if range.is_within(of_dtype) { range } else { of_dtype }
            }
            PrimKind::Cast(a) if is_index(a.dtype()) || a.dtype().is_bool() => self.atom_range(a),
            PrimKind::Cast(a) if a.dtype().is_integer() && a.dtype().is_scalar() && a.dtype().bits <= 32 => {
                Interval::of_dtype(a.dtype())
            }
            PrimKind::Binary(BinaryOp::FloorMod, _, b) => match b.as_int() {
                Some(c) if c > 0 => Interval::new(0, c - 1),
                _ => Interval::ALL,
            },
            PrimKind::Binary(op, a, b) => {
                let range = |e: &PrimExpr| self.range(&self.parts(e));
                match (op, b.as_int()) {
                    (BinaryOp::FloorDiv, Some(c)) if c > 0 => range(a).floor_div(Interval::point(c)),
                    (BinaryOp::Min, _) => range(a).min(range(b)),
                    (BinaryOp::Max, _) => range(a).max(range(b)),
                    _ => Interval::ALL,
                }
            }
            _ => Interval::ALL,
        }
    }

    fn simple(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Binary(op, a, b) if op.is_comparison() && is_index(a.dtype()) && !e.is_data() => {
                binary(*op, self.parts(a).to_expr(), self.parts(b).to_expr())
            }
            PrimKind::Load(..) => e.clone(),
            _ => self.narrow(e),
        }
    }
}

/// Returns true if the result may exceed the operands: for a division, `i64::MIN / -1`.
fn may_overflow(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Add | Sub | Mul | Div | FloorDiv)
}

/// Converts an int64 expression to a dtype in which it has the same value, dropping a cast from that dtype.
fn in_dtype(e: PrimExpr, dtype: DType) -> PrimExpr {
    match e.kind() {
        PrimKind::Cast(inner) if inner.dtype() == dtype && is_index(dtype) => inner.clone(),
        _ => e.cast(dtype),
    }
}

/// Returns true if values of the dtype are index arithmetic: signed scalars of 32 or 64 bits.
fn is_index(dtype: DType) -> bool {
    dtype.is_int() && dtype.bits >= 32 && dtype.is_scalar()
}

/// Splits `x` into a multiple of `y` and a rest, term by term.
fn divide(x: &Poly, y: &Poly) -> (Poly, Poly) {
    if let Some(c) = y.as_constant() {
        let (multiple, rest) = x.divide_by_term((&[], c));
        // The constant term is divided with a remainder.
        let whole = Poly::constant(if c > 0 { rest.offset().div_euclid(c) } else { 0 });
        return (&multiple + &whole, &rest - &whole.scale(c));
    }
    match y.single() {
        Some(divisor @ (_, 1)) => x.divide_by_term(divisor),
        _ => (Poly::zero(), x.clone()),
    }
}

/// Range of the values of an interval after wrapping; unbounded if all are outside of int64.
fn wrapped_range(interval: Interval) -> Interval {
    let beyond = interval.min >= i64::MAX - 1 || interval.max <= i64::MIN + 1;
    if beyond { Interval::ALL } else { interval }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simplifier(ranges: &[(&Var, i64)]) -> Simplifier {
        let mut s = Simplifier::default();
        for (var, extent) in ranges {
            s.learn(var, &PrimExpr::int64(0), &PrimExpr::int64(*extent));
        }
        s
    }

    fn check(s: &Simplifier, e: PrimExpr, expected: PrimExpr) {
        let simple = s.index(&e);
        assert!(super::super::same_expr(&simple, &expected), "{e:?}\n becomes {simple:?}\n not {expected:?}");
    }

    #[test]
    fn splits_and_fusions_cancel() {
        let (i, j, m) = (Var::int64("i"), Var::int64("j"), Var::int64("m"));
        let s = simplifier(&[(&i, 8), (&j, 64)]);
        let fused = i.expr() * PrimExpr::int64(64) + j.expr();
        check(&s, fused.clone().floordiv(PrimExpr::int64(64)), i.expr());
        check(&s, fused.floormod(PrimExpr::int64(64)), j.expr());
        let f = Var::int64("f");
        check(&s, f.expr().floordiv(m.expr()) * m.expr() + f.expr().floormod(m.expr()), f.expr());
        check(&s, (m.expr() * i.expr() + PrimExpr::int64(70)).floormod(PrimExpr::int64(1)), PrimExpr::int64(0));
        check(&s, (m.expr() * j.expr()).floordiv(m.expr()), j.expr());
    }

    #[test]
    fn reshapes_of_reshapes_cancel() {
        let int = PrimExpr::int64;
        let (pixel, channel) = (Var::int64("pixel"), Var::int64("channel"));
        let s = simplifier(&[(&pixel, 196), (&channel, 1536)]);
        let flat = pixel.expr() * int(1536) + channel.expr();
        let (row, column) = (flat.clone().floordiv(int(14 * 1536)), flat.clone().floordiv(int(1536)).floormod(int(14)));
        check(&s, row.clone().floormod(int(14)), pixel.expr().floordiv(int(14)));
        check(&s, flat.clone().floormod(int(14 * 1536)), pixel.expr().floormod(int(14)) * int(1536) + channel.expr());
        check(
            &s,
            (row * int(14) + column) * int(1536) + flat.floormod(int(1536)),
            pixel.expr() * int(1536) + channel.expr(),
        );
        // A rest that may exceed a unit stays.
        let more = pixel.expr() * int(1536) + channel.expr() * int(5);
        check(&s, more.clone().floordiv(int(14 * 1536)), more.floordiv(int(14 * 1536)));
    }

    #[test]
    fn overflowing_differences_prove_nothing() {
        let i = Var::int64("i");
        let s = simplifier(&[(&i, 2)]);
        let lowest = PrimExpr::int64(i64::MIN);
        assert_eq!(s.truth(&i.expr().lt(lowest.clone())), None);
        assert_ne!(s.truth(&lowest.clone().lt(i.expr())), Some(false));
        assert!(!s.is_not_negative(&i.expr().min(lowest.min(PrimExpr::int64(12)))));
    }

    #[test]
    fn divisions_of_i64_min_are_unchanged() {
        let lowest = Var::int64("i").expr() * PrimExpr::int64(i64::MIN);
        for divisor in [-1, 0] {
            let quotient = lowest.clone().floordiv(PrimExpr::int64(divisor));
            check(&Simplifier::default(), quotient.clone(), quotient);
        }
    }

    #[test]
    fn narrow_integers_widen() {
        let i = Var::new("i", DType::INT32);
        let e = (i.expr() * PrimExpr::int32(4) + PrimExpr::int32(0)).cast(DType::INT64) + PrimExpr::int64(1);
        check(&Simplifier::default(), e, i.expr().cast(DType::INT64) * PrimExpr::int64(4) + PrimExpr::int64(1));
    }

    #[test]
    fn ranges_decide_conditions() {
        let (i, n) = (Var::int64("i"), Var::int64("n"));
        let mut s = simplifier(&[(&i, 16)]);
        s.at_least(&n, 0);
        assert_eq!(s.truth(&i.expr().lt(PrimExpr::int64(16))), Some(true));
        assert_eq!(s.truth(&i.expr().ge(PrimExpr::int64(16))), Some(false));
        assert_eq!(s.truth(&i.expr().lt(PrimExpr::int64(15))), None);
        assert_eq!(s.truth(&n.expr().ge(PrimExpr::int64(0))), Some(true));
        assert_eq!(s.truth(&i.expr().lt(n.expr())), None);
        check(&s, i.expr().min(PrimExpr::int64(20)), i.expr());
        check(&s, (i.expr() + PrimExpr::int64(3)).max(PrimExpr::int64(0)), i.expr() + PrimExpr::int64(3));
    }

    #[test]
    fn data_wrap_to_the_width_of_their_dtype() {
        let s = Simplifier::default();
        let x = Var::data("x", DType::INT32).expr();
        let one = PrimExpr::int32(1);
        assert_eq!(s.truth(&(&x + &one).gt(x.clone())), None);
        assert_eq!(s.truth(&(&x + &one).cast(DType::INT64).gt(x.clone().cast(DType::INT64))), None);
        let wide = x.clone().cast(DType::INT64);
        assert_eq!(s.truth(&(&wide + 1i64).gt(wide.clone())), Some(true), "int64 holds all sums of int32");
        let y = Var::data("y", DType::INT64).expr();
        assert_eq!(s.truth(&(&y + 1i64).gt(y.clone())), None);
        assert_eq!(s.truth(&y.clone().cast(DType::INT32).cast(DType::INT64).eq(y.clone())), None);
        // As an index a sum has 64 bits, as a value the width of its dtype.
        let sum = &x + &one;
        check(&s, sum.clone(), &wide + 1i64);
        assert!(s.value(&sum).to_string().starts_with("T.Cast(\"int64\", x + "), "added in 32 bits: {}", s.value(&sum));
    }
}
