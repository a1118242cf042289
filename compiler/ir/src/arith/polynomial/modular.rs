//! Polynomials with integer coefficients over atoms: variables, and expressions other than additions and
//! multiplications.

use crate::{
    PrimExpr,
    equal::exprs as same_expr,
    prim::{Var, check},
};
use std::ops::{Add, Mul, Sub};

/// Maximum number of terms of a distributed multiplication.
const MAX_TERMS: usize = 64;
/// Maximum number of nodes that distributing a multiplication may create.
const MAX_NODES: usize = 1000;

/// A polynomial. Terms keep the order in which they first appeared, so that printed text depends on the source and not
/// on the ids of variables; comparison ignores that order.
#[derive(Clone, Debug, Default)]
pub struct Poly(Vec<Term>);

/// Atoms multiplied by a nonzero coefficient; the constant term has no atoms.
#[derive(Clone, Debug)]
struct Term {
    atoms: Vec<PrimExpr>,
    coefficient: i64,
}

impl Poly {
    /// Zero.
    pub fn zero() -> Self {
        Poly::default()
    }

    /// Returns a constant.
    pub fn constant(value: i64) -> Self {
        let mut poly = Poly::zero();
        poly.add_term(Vec::new(), value);
        poly
    }

    /// Returns an opaque int64 expression.
    pub fn atom(expr: PrimExpr) -> Self {
        Poly(vec![Term { atoms: vec![expr], coefficient: 1 }])
    }

    /// Returns the value of a constant polynomial.
    pub fn as_constant(&self) -> Option<i64> {
        match self.0.as_slice() {
            [] => Some(0),
            [term] if term.atoms.is_empty() => Some(term.coefficient),
            _ => None,
        }
    }

    /// Returns true if it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the variable appears in it anywhere.
    pub fn uses(&self, var: &Var) -> bool {
        self.0.iter().any(|t| t.atoms.iter().any(|a| a.uses(var)))
    }

    /// Coefficient of a variable, if the polynomial is linear in it; zero if the variable does not occur.
    pub fn coefficient(&self, var: &Var) -> Option<Poly> {
        let mut factor = Poly::zero();
        for term in &self.0 {
            let (own, others): (Vec<_>, Vec<_>) = term.atoms.iter().cloned().partition(|a| a.as_var() == Some(var));
            if own.len() > 1 || others.iter().any(|a| a.uses(var)) {
                return None;
            }
            if own.len() == 1 {
                factor.add_term(others, term.coefficient);
            }
        }
        Some(factor)
    }

    /// Splits into the terms for which `f` is true, and the others.
    pub fn partition(&self, mut f: impl FnMut(&[PrimExpr], i64) -> bool) -> (Poly, Poly) {
        let (yes, no) = self.0.iter().cloned().partition(|t| f(&t.atoms, t.coefficient));
        (Poly(yes), Poly(no))
    }

    /// Iterates over the terms, each as atoms and coefficient.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = (&[PrimExpr], i64)> {
        self.0.iter().map(|t| (t.atoms.as_slice(), t.coefficient))
    }

    /// Returns true if it has exactly this term.
    pub fn has(&self, (atoms, coefficient): (&[PrimExpr], i64)) -> bool {
        self.0.iter().any(|t| t.coefficient == coefficient && same_atoms(&t.atoms, atoms))
    }

    /// Divides by a constant, if it divides every coefficient.
    pub fn divide_exactly(&self, divisor: i64) -> Option<Poly> {
        let divides = self.0.iter().all(|t| t.coefficient.checked_rem(divisor) == Some(0));
        divides.then(|| {
            let term = |t: &Term| Term { atoms: t.atoms.clone(), coefficient: t.coefficient / divisor };
            Poly(self.0.iter().map(term).collect())
        })
    }

    /// Multiplies by a constant.
    pub fn scale(&self, factor: i64) -> Poly {
        let mut product = Poly::zero();
        for term in &self.0 {
            product.add_term(term.atoms.clone(), term.coefficient.wrapping_mul(factor));
        }
        product
    }

    /// Converts to an int64 expression.
    pub fn to_expr(&self) -> PrimExpr {
        let (positive, negative): (Vec<_>, Vec<_>) = self.0.iter().partition(|t| t.coefficient > 0);
        let (constants, products): (Vec<_>, Vec<_>) = positive.into_iter().partition(|t| t.atoms.is_empty());
        let sum = products.into_iter().chain(constants).map(|t| t.to_expr(t.coefficient));
        let sum = sum.reduce(|a, b| a + b);
        let zero = || PrimExpr::int64(0);
        negative
            .into_iter()
            .fold(sum, |sum, t| match (sum, t.atoms.is_empty()) {
                (None, true) => Some(PrimExpr::int64(t.coefficient)),
                (None, false) if t.coefficient == -1 => Some(zero() - t.to_expr(1)),
                (None, false) => Some(t.to_expr(t.coefficient)),
                (Some(sum), _) => Some(sum - t.to_expr(t.coefficient.wrapping_neg())),
            })
            .unwrap_or_else(zero)
    }

    /// Subtracts, unless a coefficient overflows int64.
    pub fn checked_sub(&self, other: &Poly) -> Option<Poly> {
        let mut difference = self.clone();
        for term in &other.0 {
            let own = difference.0.iter().find(|t| same_atoms(&t.atoms, &term.atoms)).map_or(0, |t| t.coefficient);
            own.checked_sub(term.coefficient)?;
            difference.add_term(term.atoms.clone(), term.coefficient.wrapping_neg());
        }
        Some(difference)
    }

    /// Number of checks in its terms.
    pub fn checks(&self) -> usize {
        self.0.iter().flat_map(|t| &t.atoms).map(check::count).sum()
    }

    /// Number of nodes of all atoms.
    fn nodes(&self) -> usize {
        self.0.iter().flat_map(|t| &t.atoms).map(|a| a.size() as usize).fold(0, usize::saturating_add)
    }

    fn add_term(&mut self, atoms: Vec<PrimExpr>, coefficient: i64) {
        match self.0.iter().position(|t| same_atoms(&t.atoms, &atoms)) {
            Some(i) => {
                let sum = self.0[i].coefficient.wrapping_add(coefficient);
                if sum == 0 {
                    self.0.remove(i);
                } else {
                    self.0[i].coefficient = sum;
                }
            }
            None if coefficient == 0 => {}
            None => self.0.push(Term { atoms, coefficient }),
        }
    }
}

impl Term {
    fn to_expr(&self, coefficient: i64) -> PrimExpr {
        let product = self.atoms.iter().cloned().reduce(|a, b| a * b);
        match product {
            None => PrimExpr::int64(coefficient),
            Some(product) if coefficient == 1 => product,
            Some(product) => product * PrimExpr::int64(coefficient),
        }
    }
}

/// Returns true if two terms have the same atoms, in any order.
fn same_atoms(a: &[PrimExpr], b: &[PrimExpr]) -> bool {
    let mut rest: Vec<&PrimExpr> = b.iter().collect();
    a.len() == b.len()
        && a.iter().all(|x| match rest.iter().position(|y| same_expr(x, y)) {
            Some(i) => {
                rest.swap_remove(i);
                true
            }
            None => false,
        })
}

impl PartialEq for Poly {
    fn eq(&self, other: &Poly) -> bool {
        (self - other).is_zero()
    }
}

impl Add for &Poly {
    type Output = Poly;
    fn add(self, other: &Poly) -> Poly {
        let mut sum = self.clone();
        other.0.iter().for_each(|t| sum.add_term(t.atoms.clone(), t.coefficient));
        sum
    }
}

impl Sub for &Poly {
    type Output = Poly;
    fn sub(self, other: &Poly) -> Poly {
        self + &other.scale(-1)
    }
}

impl Mul for &Poly {
    type Output = Poly;
    fn mul(self, other: &Poly) -> Poly {
        if self.as_constant().is_none() && other.as_constant().is_none() {
            let (terms, others) = (self.0.len(), other.0.len());
            let copied = (self.nodes() * others).saturating_add(other.nodes() * terms);
            if terms * others > MAX_TERMS || copied > MAX_NODES {
                return Poly::atom(self.to_expr() * other.to_expr());
            }
        }
        let mut product = Poly::zero();
        for a in &self.0 {
            for b in &other.0 {
                let atoms = a.atoms.iter().chain(&b.atoms).cloned().collect();
                product.add_term(atoms, a.coefficient.wrapping_mul(b.coefficient));
            }
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(same_expr(&poly.to_expr(), &expected));
    }
}
