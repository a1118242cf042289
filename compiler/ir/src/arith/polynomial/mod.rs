//! Polynomials with integer coefficients, the normal form of index arithmetic.
//!
//! A [`Polynomial`] is a sum of terms: nonzero coefficients times monomials, which are products of [atoms](Atom). The
//! type of the atoms decides in which order terms are kept and what happens on overflow:
//!
//! - `numbered`: indices in an atom table. Terms are sorted, so that a term is found fast and equal polynomials are
//!   stored alike. Values are unbounded integers, so all operations are checked. For queries of
//!   [`Analyzer`](super::Analyzer).
//! - `modular`: int64 expressions. Terms keep the order in which they first appeared, so that printed text depends on
//!   the source and not on the ids of variables. The operators `+`, `-` and `*` wrap modulo 2^64, as native code does.
//!   For generating code.

mod modular;
mod numbered;

pub(super) use numbered::AtomId;

use crate::{DType, PrimExpr};
use smallvec::{SmallVec, smallvec};
use std::slice;

/// Maximum number of monomials of an expanded product of two sums.
pub(super) const MAX_TERMS: usize = 64;

/// A product of atoms, repeated for powers; empty for the constant term.
pub type Monomial<A> = SmallVec<[A; 4]>;

/// A factor of a monomial: a variable, or anything other than additions and multiplications.
pub trait Atom: Clone {
    /// Returns true if both are the same atom.
    fn is_same(&self, other: &Self) -> bool;

    /// Brings the atoms of a monomial into the order that [`find`](Atom::find) expects.
    fn sort(_monomial: &mut [Self]) {}

    /// Finds the term of a monomial; if there is none, the position at which to insert it.
    fn find(terms: &[(Monomial<Self>, i64)], monomial: &[Self]) -> Result<usize, usize> {
        let is_same = |own: &[Self]| own.len() == monomial.len() && quotient(own, monomial).is_some();
        terms.iter().position(|(own, _)| is_same(own)).ok_or(terms.len())
    }
}

/// A sum of terms with different monomials.
#[derive(Clone, Debug)]
pub struct Polynomial<A> {
    terms: Vec<(Monomial<A>, i64)>,
}

impl<A: Atom> Polynomial<A> {
    /// Zero.
    pub fn zero() -> Self {
        Polynomial { terms: Vec::new() }
    }

    /// Zero, with memory for a number of terms. Most polynomials have one or two, fewer than a growing vector reserves.
    fn with_capacity(terms: usize) -> Self {
        Polynomial { terms: Vec::with_capacity(terms) }
    }

    /// A constant.
    pub fn constant(value: i64) -> Self {
        let terms = if value == 0 { Vec::new() } else { vec![(Monomial::new(), value)] };
        Polynomial { terms }
    }

    /// One atom.
    pub fn atom(atom: A) -> Self {
        Polynomial { terms: vec![(smallvec![atom], 1)] }
    }

    /// Monomials and coefficients.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = (&[A], i64)> + Clone {
        self.terms.iter().map(|(monomial, c)| (monomial.as_slice(), *c))
    }

    /// Atoms of all terms, with repetitions.
    pub fn atoms(&self) -> impl Iterator<Item = &A> {
        self.terms.iter().flat_map(|(monomial, _)| monomial)
    }

    /// Returns the monomial and coefficient if there is just one term.
    pub fn single(&self) -> Option<(&[A], i64)> {
        if self.terms.len() == 1 { self.terms().next() } else { None }
    }

    /// Returns true if it is zero.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the value of a constant polynomial.
    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(monomial, c)] if monomial.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// Coefficient of a monomial; zero if absent.
    pub fn coefficient_of(&self, monomial: &[A]) -> i64 {
        A::find(&self.terms, monomial).map_or(0, |at| self.terms[at].1)
    }

    /// Constant summand.
    pub fn offset(&self) -> i64 {
        self.coefficient_of(&[])
    }

    /// Sum of both; `None` if a coefficient overflows, as for all checked operations.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        self.checked_add_scaled(other, 1)
    }

    /// Difference of both.
    pub fn checked_sub(&self, other: &Self) -> Option<Self> {
        self.checked_add_scaled(other, -1)
    }

    /// Sum of this and `factor` times the other.
    pub fn checked_add_scaled(&self, other: &Self, factor: i64) -> Option<Self> {
        let (sum, overflow) = self.overflowing_sum(other, factor);
        (!overflow).then_some(sum)
    }

    /// Multiplies by a constant.
    pub fn checked_scale(&self, factor: i64) -> Option<Self> {
        let fits = self.terms().all(|(_, c)| c.checked_mul(factor).is_some());
        fits.then(|| self.map_coefficients(|c| c * factor))
    }

    /// Multiplies both, term by term.
    pub fn checked_mul(&self, other: &Self) -> Option<Self> {
        let (product, overflow) = self.overflowing_mul(other);
        (!overflow).then_some(product)
    }

    /// Sum of this and `factor` times the other modulo 2^64; true if a coefficient overflows.
    fn overflowing_sum(&self, other: &Self, factor: i64) -> (Self, bool) {
        let mut sum = Polynomial::with_capacity(self.terms.len() + other.terms.len());
        sum.terms.extend_from_slice(&self.terms);
        let overflow = sum.overflowing_add_scaled(other, factor);
        (sum, overflow)
    }

    /// Adds `factor` times the other modulo 2^64; returns true if a coefficient overflows.
    pub(super) fn overflowing_add_scaled(&mut self, other: &Self, factor: i64) -> bool {
        let mut overflow = false;
        for (monomial, c) in &other.terms {
            overflow |= self.overflowing_add_term(monomial.clone(), i128::from(*c) * i128::from(factor));
        }
        overflow
    }

    /// Multiplies both modulo 2^64; true if a coefficient overflows.
    fn overflowing_mul(&self, other: &Self) -> (Self, bool) {
        let (mut product, mut overflow) = (Polynomial::with_capacity(self.terms.len() * other.terms.len()), false);
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut monomial: Monomial<A> = a.iter().chain(b).cloned().collect();
                A::sort(&mut monomial);
                overflow |= product.overflowing_add_term(monomial, i128::from(*x) * i128::from(*y));
            }
        }
        (product, overflow)
    }

    fn overflowing_add_term(&mut self, monomial: Monomial<A>, coefficient: i128) -> bool {
        let found = A::find(&self.terms, &monomial);
        let sum = coefficient + found.map_or(0, |at| i128::from(self.terms[at].1));
        match (found, sum as i64) {
            (Ok(at), 0) => drop(self.terms.remove(at)),
            (Ok(at), wrapped) => self.terms[at].1 = wrapped,
            (Err(_), 0) => {}
            (Err(at), wrapped) => self.terms.insert(at, (monomial, wrapped)),
        }
        i64::try_from(sum).is_err()
    }

    /// Splits into the terms for which `f` is true, and the others.
    pub fn partition(&self, mut f: impl FnMut(&[A], i64) -> bool) -> (Self, Self) {
        let len = self.terms.len();
        let (mut yes, mut no) = (Polynomial::with_capacity(len), Polynomial::with_capacity(len));
        for (monomial, c) in &self.terms {
            let part = if f(monomial, *c) { &mut yes } else { &mut no };
            part.terms.push((monomial.clone(), *c));
        }
        (yes, no)
    }

    /// Applies `f` to each coefficient.
    pub fn map_coefficients(&self, mut f: impl FnMut(i64) -> i64) -> Self {
        let mut mapped = Polynomial::with_capacity(self.terms.len());
        let terms = self.terms.iter().map(|(monomial, c)| (monomial, f(*c))).filter(|(_, c)| *c != 0);
        mapped.terms.extend(terms.map(|(monomial, c)| (monomial.clone(), c)));
        mapped
    }

    /// Splits into `quotient * divisor + rest`: the terms that the divisor divides, and the others.
    pub fn divide_by_term(&self, (divisor, k): (&[A], i64)) -> (Self, Self) {
        let len = self.terms.len();
        let (mut whole, mut rest) = (Polynomial::with_capacity(len), Polynomial::with_capacity(len));
        for (monomial, c) in &self.terms {
            match quotient(monomial, divisor).filter(|_| c.checked_rem(k) == Some(0)) {
                Some(atoms) => {
                    whole.overflowing_add_term(atoms.into_iter().cloned().collect(), i128::from(c / k));
                }
                None => rest.terms.push((monomial.clone(), *c)),
            }
        }
        (whole, rest)
    }

    /// Splits into `linear * atom + rest`, where neither has the atom as a factor; `None` for higher powers.
    pub fn linear_in(&self, atom: &A) -> Option<(Self, Self)> {
        let (linear, rest) = self.divide_by_term((slice::from_ref(atom), 1));
        let has_powers = linear.atoms().any(|a| a.is_same(atom));
        (!has_powers).then_some((linear, rest))
    }
}

/// Equality, whatever the order of the terms.
impl<A: Atom> PartialEq for Polynomial<A> {
    fn eq(&self, other: &Self) -> bool {
        self.terms.len() == other.terms.len() && self.terms().all(|(m, c)| other.coefficient_of(m) == c)
    }
}

/// `monomial / divisor`, if it divides.
fn quotient<'a, A: Atom>(monomial: &'a [A], divisor: &[A]) -> Option<Monomial<&'a A>> {
    let mut rest: Monomial<&A> = monomial.iter().collect();
    for atom in divisor {
        let at = rest.iter().position(|a| a.is_same(atom))?;
        rest.remove(at);
    }
    Some(rest)
}

/// The expression of a term.
pub(super) fn term_expr<'a>(atoms: impl Iterator<Item = &'a PrimExpr>, coefficient: i64, dtype: DType) -> PrimExpr {
    let constant = || PrimExpr::int(coefficient, dtype);
    match atoms.cloned().reduce(|a, b| a * b) {
        None => constant(),
        Some(product) if coefficient == 1 => product,
        Some(product) => product * constant(),
    }
}
