//! Polynomials over numbered atoms, their terms sorted.

use super::{Atom, Monomial, Polynomial};

/// Index in the atom table of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::arith) struct AtomId(pub u32);

impl Atom for AtomId {
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }

    fn sort(monomial: &mut [Self]) {
        monomial.sort_unstable();
    }

    fn find(terms: &[(Monomial<Self>, i64)], monomial: &[Self]) -> Result<usize, usize> {
        terms.binary_search_by(|(own, _)| own.as_slice().cmp(monomial))
    }
}

impl Polynomial<AtomId> {
    /// Returns the atom if the polynomial is a single one.
    pub fn as_atom(&self) -> Option<AtomId> {
        match self.single()? {
            ([atom], 1) => Some(*atom),
            _ => None,
        }
    }

    /// All atoms in it, ascending.
    pub fn distinct_atoms(&self) -> Vec<AtomId> {
        let mut atoms: Vec<AtomId> = self.atoms().copied().collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Poly = Polynomial<AtomId>;

    fn atoms() -> (Poly, Poly) {
        (Poly::atom(AtomId(0)), Poly::atom(AtomId(1)))
    }

    #[test]
    fn products_are_distributed() {
        let (x, y) = atoms();
        let one = Poly::constant(1);
        let left = x.checked_add(&one).and_then(|a| a.checked_mul(&y.checked_sub(&one)?)).expect("small");
        let xy = x.checked_mul(&y).expect("small");
        let right = xy.checked_sub(&x).and_then(|p| p.checked_add(&y)?.checked_sub(&one)).expect("small");
        assert_eq!(left, right);
        assert!(left.terms().eq(right.terms()), "equal polynomials are stored alike");
        assert_eq!(x.checked_sub(&x).expect("small").as_constant(), Some(0));
    }

    #[test]
    fn overflow_gives_nothing() {
        let huge = Poly::constant(i64::MAX);
        assert!(huge.checked_add(&Poly::constant(1)).is_none());
        assert!(huge.checked_scale(2).is_none());
        assert!(huge.checked_mul(&huge).is_none());
    }

    #[test]
    fn only_coefficients_of_the_result_may_overflow() {
        let lowest = Poly::constant(i64::MIN);
        let difference = Poly::constant(-1).checked_sub(&lowest).expect("fits");
        assert_eq!(difference.as_constant(), Some(i64::MAX));
        assert!(Poly::zero().checked_sub(&lowest).is_none());
    }

    #[test]
    fn linear_parts() {
        let (x, y) = atoms();
        let p = x.checked_mul(&y).and_then(|xy| xy.checked_add_scaled(&y, 3)).expect("small");
        let (linear, rest) = p.linear_in(&AtomId(0)).expect("linear");
        assert_eq!((linear, rest.terms().len()), (y.clone(), 1));
        assert!(x.checked_mul(&x).expect("small").linear_in(&AtomId(0)).is_none());
    }

    /// Division changes the order of monomials.
    #[test]
    fn quotients_are_sorted() {
        let (x, y) = atoms();
        let p = x.checked_mul(&y).and_then(|xy| xy.checked_add(&y)).expect("small");
        let (quotient, rest) = p.divide_by_term((&[AtomId(1)], 1));
        assert!(rest.is_zero());
        assert!(quotient.terms().eq([(&[][..], 1), (&[AtomId(0)][..], 1)]));
    }
}
