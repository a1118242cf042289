//! Polynomials over int64 expressions, modulo 2^64.

use super::{Atom, MAX_TERMS, Polynomial, term_expr};
use crate::{
    DType, PrimExpr, equal,
    prim::{Var, check},
};
use std::ops::{Add, Mul, Sub};

/// Maximum number of nodes that distributing a multiplication may create.
const MAX_NODES: usize = 1000;

impl Atom for PrimExpr {
    fn is_same(&self, other: &Self) -> bool {
        equal::exprs(self, other)
    }
}

impl Polynomial<PrimExpr> {
    /// Returns true if the variable appears in it anywhere.
    pub fn uses(&self, var: &Var) -> bool {
        self.atoms().any(|atom| atom.uses(var))
    }

    /// Coefficient of a variable, if the polynomial is linear in it; zero if the variable does not occur.
    pub fn coefficient(&self, var: &Var) -> Option<Self> {
        let Some(atom) = self.atoms().find(|atom| atom.as_var() == Some(var)) else {
            return (!self.uses(var)).then(Polynomial::zero);
        };
        let (coefficient, rest) = self.linear_in(atom)?;
        (!coefficient.uses(var) && !rest.uses(var)).then_some(coefficient)
    }

    /// Multiplies by a constant.
    pub fn scale(&self, factor: i64) -> Self {
        self.map_coefficients(|c| c.wrapping_mul(factor))
    }

    /// Converts to an int64 expression.
    pub fn to_expr(&self) -> PrimExpr {
        let term = |(atoms, c): (&[PrimExpr], i64)| term_expr(atoms.iter(), c, DType::INT64);
        let (positive, negative): (Vec<_>, Vec<_>) = self.terms().partition(|(_, c)| *c > 0);
        let (constants, products): (Vec<_>, Vec<_>) = positive.into_iter().partition(|(atoms, _)| atoms.is_empty());
        let sum = products.into_iter().chain(constants).map(term).reduce(|a, b| a + b);
        let sum = negative.into_iter().fold(sum, |sum, (atoms, c)| {
            Some(match sum {
                None if c == -1 && !atoms.is_empty() => PrimExpr::int64(0) - term((atoms, 1)),
                None => term((atoms, c)),
                Some(sum) => sum - term((atoms, c.wrapping_neg())),
            })
        });
        sum.unwrap_or_else(|| PrimExpr::int64(0))
    }

    /// Number of checks in its terms.
    pub fn checks(&self) -> usize {
        self.atoms().map(check::count).sum()
    }

    /// Number of nodes of all atoms.
    fn nodes(&self) -> usize {
        self.atoms().map(|atom| atom.size() as usize).fold(0, usize::saturating_add)
    }

    /// Returns true if the terms of a multiplication stay few and small.
    fn is_distributed(&self, other: &Self) -> bool {
        let (terms, others) = (self.terms.len(), other.terms.len());
        let copied = (self.nodes() * others).saturating_add(other.nodes() * terms);
        terms * others <= MAX_TERMS && copied <= MAX_NODES
    }
}

impl Add for &Polynomial<PrimExpr> {
    type Output = Polynomial<PrimExpr>;
    fn add(self, other: Self) -> Self::Output {
        self.overflowing_sum(other, 1).0
    }
}

impl Sub for &Polynomial<PrimExpr> {
    type Output = Polynomial<PrimExpr>;
    fn sub(self, other: Self) -> Self::Output {
        self.overflowing_sum(other, -1).0
    }
}

/// A multiplication that would become too large stays one atom.
impl Mul for &Polynomial<PrimExpr> {
    type Output = Polynomial<PrimExpr>;
    fn mul(self, other: Self) -> Self::Output {
        let is_scaled = self.as_constant().is_some() || other.as_constant().is_some();
        match is_scaled || self.is_distributed(other) {
            true => self.overflowing_mul(other).0,
            false => Polynomial::atom(self.to_expr() * other.to_expr()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Poly = Polynomial<PrimExpr>;

    #[test]
    fn terms_combine_and_cancel() {
        let (n, i) = (Var::int64("n"), Var::int64("i"));
        let (pn, pi) = (Poly::atom(n.expr()), Poly::atom(i.expr()));
        let sum = &(&pn * &pi) + &(&pi * &pn);
        assert_eq!(sum, (&pi * &pn).scale(2));
        assert_eq!(sum.coefficient(&i), Some(pn.scale(2)));
        assert!((&sum - &sum).is_zero());
        assert_eq!((&pi * &pi).coefficient(&i), None);
        assert_eq!(Poly::constant(3).as_constant(), Some(3));
    }

    /// A power of a sum is not expanded beyond the limits.
    #[test]
    fn large_multiplications_are_not_distributed() {
        let sum = (0..9).fold(Poly::constant(1), |sum, _| &sum + &Poly::atom(Var::int64("n").expr()));
        let power = (0..40).fold(sum.clone(), |power, _| &power * &sum);
        assert!(power.terms().len() <= MAX_TERMS);
        let few = (0..3).fold(Poly::constant(1), |sum, _| &sum + &Poly::atom(Var::int64("m").expr()));
        assert_eq!((&sum * &few).terms().len(), 40);
    }

    #[test]
    fn expressions_keep_the_order_of_terms() {
        let (n, i) = (Var::int64("n"), Var::int64("i"));
        let poly = &(&Poly::constant(-2) + &Poly::atom(i.expr()).scale(4)) - &Poly::atom(n.expr());
        let expected = i.expr() * PrimExpr::int64(4) - PrimExpr::int64(2) - n.expr();
        assert!(equal::exprs(&poly.to_expr(), &expected));
    }
}
