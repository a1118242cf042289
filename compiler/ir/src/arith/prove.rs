//! Proofs that a polynomial is nonnegative.
//!
//! Intervals of the atoms decide most questions. If they do not, atoms are eliminated one by one: an atom on which the
//! polynomial depends linearly is replaced by the bound at which the polynomial is smallest. Bounds are polynomials over
//! the remaining atoms (`i < n`, `x % n < n`). Quotients are eliminated by multiplying with the divisor, minima and
//! maxima by cases.

use super::{
    assumptions::Fact,
    normal::{Poly, Query},
    polynomial::AtomId,
};
use crate::{
    PrimExpr,
    prim::{BinaryOp, PrimKind},
};

/// Maximum depth of nested eliminations.
const MAX_ELIMINATIONS: usize = 8;

/// Bounds of an atom, both included.
struct Bounds {
    min: Option<Poly>,
    max: Option<Poly>,
}

impl Query<'_> {
    /// Returns true if `a - b >= distance`.
    pub fn proves_ge(&mut self, a: &PrimExpr, b: &PrimExpr, distance: i64) -> bool {
        let difference = self.difference(a, b).and_then(|d| d.checked_sub(&Poly::constant(distance)));
        difference.is_some_and(|d| self.is_nonnegative(&d))
    }

    /// Returns true if `a == b`.
    pub fn proves_equal(&mut self, a: &PrimExpr, b: &PrimExpr) -> bool {
        let Some(difference) = self.difference(a, b) else { return false };
        if difference.is_zero() {
            return true;
        }
        let range = self.interval(&difference);
        range.contains(0)
            && self.is_nonnegative(&difference)
            && difference.checked_scale(-1).is_some_and(|d| self.is_nonnegative(&d))
    }

    /// Returns true if the polynomial is proven nonnegative.
    pub fn is_nonnegative(&mut self, poly: &Poly) -> bool {
        self.holds(poly, MAX_ELIMINATIONS)
    }

    pub fn difference(&mut self, a: &PrimExpr, b: &PrimExpr) -> Option<Poly> {
        let (a, b) = (self.poly(a), self.poly(b));
        a.checked_sub(&b).map(|d| self.combine_div_mod(d))
    }

    fn holds(&mut self, poly: &Poly, depth: usize) -> bool {
        let range = self.interval(poly);
        if range.min >= 0 || range.max < 0 {
            return range.min >= 0;
        }
        if depth == 0 || self.budget == 0 || !self.spend(poly) {
            return false;
        }
        self.budget -= 1;
        if self.follows_from_fact(poly) {
            return true;
        }
        // Composite atoms are numbered after their operands, inner variables after outer ones.
        let atoms = self.eliminable(poly);
        atoms.into_iter().rev().any(|atom| self.spend(poly) && self.holds_after_eliminating(poly, atom, depth - 1))
    }

    /// The polynomial that a fact states to be nonnegative.
    pub fn fact(&mut self, fact: &Fact) -> Option<Poly> {
        self.difference(&fact.larger, &fact.smaller)?.checked_sub(&Poly::constant(fact.distance))
    }

    /// The polynomial of an expression plus a constant.
    fn shifted(&mut self, (e, offset): &(PrimExpr, i64)) -> Option<Poly> {
        self.poly(e).checked_add(&Poly::constant(*offset))
    }

    fn follows_from_fact(&mut self, poly: &Poly) -> bool {
        let assumptions = self.assumptions;
        assumptions.facts.iter().enumerate().any(|(number, fact)| {
            if !self.facts.contains_key(&number) {
                // Conditions in a fact are decided without the fact itself, and each fact is expanded once.
                self.facts.insert(number, None);
                let fact = self.fact(fact);
                self.facts.insert(number, fact);
            }
            let rest = self.facts[&number].as_ref().and_then(|fact| poly.checked_sub(fact));
            rest.is_some_and(|rest| self.interval(&rest).min >= 0)
        })
    }

    /// Returns true if the polynomial is proven nonnegative by eliminating the atom.
    fn holds_after_eliminating(&mut self, poly: &Poly, atom: AtomId, depth: usize) -> bool {
        let Some((factor, rest)) = poly.linear_in(&atom) else { return false };
        if let PrimKind::Binary(op, a, b) = self.atom(atom).kind() {
            let (op, a, b) = (*op, a.clone(), b.clone());
            let found = match op {
                BinaryOp::FloorDiv => self.holds_after_eliminating_quotient(&factor, &rest, &a, &b, depth),
                BinaryOp::Min | BinaryOp::Max => self.holds_in_cases(op, &factor, &rest, &a, &b, depth),
                _ => false,
            };
            if found {
                return true;
            }
        }
        let sign = self.interval(&factor);
        let bounds = self.bounds(atom);
        let extreme = match () {
            _ if sign.min >= 0 => bounds.min,
            _ if sign.max <= 0 => bounds.max,
            _ => None,
        };
        let replaced = extreme.and_then(|bound| rest.checked_add(&factor.checked_mul(&bound)?));
        replaced.is_some_and(|poly| self.holds(&poly, depth))
    }

    /// Atoms whose elimination may prove more than the polynomial's interval. Eliminating a variable with constant
    /// bounds that occurs in no product gives the same interval, so such variables are skipped.
    fn eliminable(&self, poly: &Poly) -> Vec<AtomId> {
        let products = poly.terms().filter(|(monomial, _)| monomial.len() > 1);
        let mut multiplied: Vec<AtomId> = products.flat_map(|(monomial, _)| monomial.iter().copied()).collect();
        multiplied.sort_unstable();
        let is_bounded_by_numbers = |atom: AtomId| match self.atom(atom).kind() {
            PrimKind::Var(v) => !self.assumptions.has_symbolic_bounds(v),
            _ => false,
        };
        let mut atoms = poly.distinct_atoms();
        atoms.retain(|atom| multiplied.binary_search(atom).is_ok() || !is_bounded_by_numbers(*atom));
        atoms
    }

    /// Eliminates `q = x // c`: multiplies the polynomial by `c` and replaces `c * q` by `x - x % c`.
    fn holds_after_eliminating_quotient(
        &mut self,
        factor: &Poly,
        rest: &Poly,
        x: &PrimExpr,
        c: &PrimExpr,
        depth: usize,
    ) -> bool {
        let Some(c) = c.as_int().filter(|c| *c > 0) else { return false };
        let dtype = x.dtype();
        let x = self.poly(x);
        let scaled = self.floor_mod(x.clone(), Poly::constant(c), dtype).and_then(|remainder| {
            rest.checked_scale(c)?.checked_add(&factor.checked_mul(&x.checked_sub(&remainder)?)?)
        });
        scaled.is_some_and(|poly| self.holds(&poly, depth))
    }

    /// A minimum is one of its operands, and no more than the other.
    fn holds_in_cases(
        &mut self,
        op: BinaryOp,
        factor: &Poly,
        rest: &Poly,
        a: &PrimExpr,
        b: &PrimExpr,
        depth: usize,
    ) -> bool {
        let sign = self.interval(factor);
        let both = match op {
            _ if sign.min >= 0 => op == BinaryOp::Min,
            _ if sign.max <= 0 => op == BinaryOp::Max,
            _ => return false,
        };
        let (a, b) = (self.poly(a), self.poly(b));
        let mut with = |operand: &Poly| {
            let poly = factor.checked_mul(operand).and_then(|p| p.checked_add(rest));
            poly.is_some_and(|poly| self.holds(&poly, depth))
        };
        if both { with(&a) && with(&b) } else { with(&a) || with(&b) }
    }

    fn bounds(&mut self, atom: AtomId) -> Bounds {
        let range = self.atom_interval(atom);
        let min = (range.min != i64::MIN).then(|| Poly::constant(range.min));
        let max = (range.max != i64::MAX).then(|| Poly::constant(range.max));
        let e = self.atom(atom).clone();
        match e.kind() {
            PrimKind::Var(v) => {
                let known = self.assumptions.range(v);
                let (low, high) = (known.min.map(|e| self.poly(&e)), known.max.and_then(|bound| self.shifted(&bound)));
                Bounds { min: low.or(min), max: high.or(max) }
            }
            PrimKind::Binary(BinaryOp::FloorMod, _, n) if max.is_none() || n.as_int().is_none() => {
                let n = self.poly(n);
                let last = n.checked_sub(&Poly::constant(1)).filter(|_| self.interval(&n).min >= 1);
                Bounds { min, max: last.or(max) }
            }
            PrimKind::Binary(BinaryOp::FloorDiv, x, n) => {
                let dtype = x.dtype();
                let (x, n) = (self.poly(x), self.poly(n));
                if self.interval(&n).min < 1 {
                    return Bounds { min, max };
                }
                let quotient = self.maximize_at_bounds(&x).and_then(|x| self.floor_div(x, n, dtype));
                let x = Some(x).filter(|_| range.min >= 0);
                Bounds { min, max: quotient.or(max).or(x) }
            }
            _ => Bounds { min, max },
        }
    }

    /// Replaces variables by those symbolic bounds that maximize the polynomial; `None` if there are none.
    fn maximize_at_bounds(&mut self, poly: &Poly) -> Option<Poly> {
        let (mut maximum, mut found) = (poly.clone(), false);
        for atom in poly.distinct_atoms().into_iter().rev() {
            let PrimKind::Var(v) = self.atom(atom).kind() else { continue };
            let known = self.assumptions.range(v);
            let Some((factor, rest)) = maximum.linear_in(&atom) else { continue };
            let sign = self.interval(&factor);
            let bound = if sign.min >= 0 { known.max } else { known.min.filter(|_| sign.max <= 0).map(|e| (e, 0)) };
            if let Some(bound) = bound {
                let bound = self.shifted(&bound)?;
                maximum = rest.checked_add(&factor.checked_mul(&bound)?)?;
                found = true;
            }
        }
        found.then_some(maximum)
    }
}
