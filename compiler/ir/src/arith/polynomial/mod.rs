//! Polynomials over atoms, the normal form in which integers are compared.

pub(super) mod modular;

use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Index in the atom table of an expression that is neither sum nor product.
pub(super) type Atom = u32;

/// A product of atoms, ascending, repeated for powers.
pub(super) type Monomial = SmallVec<[Atom; 4]>;

/// A sum of monomials with nonzero coefficients. Operations return `None` when a coefficient overflows.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Poly {
    terms: BTreeMap<Monomial, i64>,
}

impl Poly {
    /// A constant.
    pub fn constant(value: i64) -> Self {
        Poly::term(Monomial::new(), value)
    }

    /// One atom.
    pub fn atom(atom: Atom) -> Self {
        Poly::term(Monomial::from_slice(&[atom]), 1)
    }

    /// One monomial with a coefficient.
    pub fn term(monomial: Monomial, coefficient: i64) -> Self {
        let mut poly = Poly::default();
        if coefficient != 0 {
            poly.terms.insert(monomial, coefficient);
        }
        poly
    }

    /// Monomials and coefficients.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = (&Monomial, i64)> + Clone {
        self.terms.iter().map(|(m, c)| (m, *c))
    }

    /// Coefficient of a monomial; zero if absent.
    pub fn coefficient(&self, monomial: &Monomial) -> i64 {
        self.terms.get(monomial).copied().unwrap_or(0)
    }

    /// Returns the value of a constant polynomial.
    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Monomial::new()).copied(),
            _ => None,
        }
    }

    /// Returns the atom if the polynomial is a single one.
    pub fn as_atom(&self) -> Option<Atom> {
        match self.single()? {
            (m, 1) if m.len() == 1 => Some(m[0]),
            _ => None,
        }
    }

    /// Returns the monomial and coefficient if there is just one.
    pub fn single(&self) -> Option<(&Monomial, i64)> {
        if self.terms.len() == 1 { self.terms().next() } else { None }
    }

    /// Returns true if it is zero.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Constant summand.
    pub fn offset(&self) -> i64 {
        self.coefficient(&Monomial::new())
    }

    /// Sum of both.
    pub fn add(&self, other: &Poly) -> Option<Poly> {
        self.add_scaled(other, 1)
    }

    /// Difference of both.
    pub fn sub(&self, other: &Poly) -> Option<Poly> {
        self.add_scaled(other, -1)
    }

    /// The sum of one and `factor` times the other.
    pub fn add_scaled(&self, other: &Poly, factor: i64) -> Option<Poly> {
        let mut sum = self.clone();
        sum.add_in_place(other, factor)?;
        Some(sum)
    }

    /// Adds `factor` times the other; on overflow, the polynomial is left in an unusable state.
    pub fn add_in_place(&mut self, other: &Poly, factor: i64) -> Option<()> {
        other.terms().try_for_each(|(monomial, c)| self.accumulate(monomial.clone(), c.checked_mul(factor)?))
    }

    /// `factor` times it.
    pub fn scale(&self, factor: i64) -> Option<Poly> {
        Poly::default().add_scaled(self, factor)
    }

    /// Multiplies both.
    pub fn mul(&self, other: &Poly) -> Option<Poly> {
        let mut product = Poly::default();
        for (a, x) in self.terms() {
            for (b, y) in other.terms() {
                let mut monomial: Monomial = a.iter().chain(b).copied().collect();
                monomial.sort_unstable();
                product.accumulate(monomial, x.checked_mul(y)?)?;
            }
        }
        Some(product)
    }

    /// Splits the monomials into those that `keep` selects and the rest.
    pub fn partition(&self, mut keep: impl FnMut(&Monomial, i64) -> bool) -> (Poly, Poly) {
        let (mut kept, mut rest) = (Poly::default(), Poly::default());
        for (monomial, coefficient) in self.terms() {
            let to = if keep(monomial, coefficient) { &mut kept } else { &mut rest };
            to.terms.insert(monomial.clone(), coefficient);
        }
        (kept, rest)
    }

    /// Applies `f` to each coefficient.
    pub fn map_coefficients(&self, mut f: impl FnMut(i64) -> i64) -> Poly {
        let terms = self.terms().map(|(m, c)| (m.clone(), f(c))).filter(|(_, c)| *c != 0).collect();
        Poly { terms }
    }

    /// Divides by a monomial that divides each summand.
    pub fn without(&self, factor: &Monomial) -> Poly {
        let terms = self.terms().filter_map(|(m, c)| Some((quotient(m, factor)?, c))).collect();
        Poly { terms }
    }

    /// Splits into `self = linear * atom + rest`, where neither contains the atom; `None` for higher powers.
    pub fn linear_in(&self, atom: Atom) -> Option<(Poly, Poly)> {
        let (with, rest) = self.partition(|m, _| m.contains(&atom));
        let linear = with.without(&Monomial::from_slice(&[atom]));
        if linear.terms().any(|(m, _)| m.contains(&atom)) { None } else { Some((linear, rest)) }
    }

    /// All atoms in it, ascending.
    pub fn atoms(&self) -> Vec<Atom> {
        let mut atoms: Vec<Atom> = self.terms.keys().flatten().copied().collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    fn accumulate(&mut self, monomial: Monomial, coefficient: i64) -> Option<()> {
        use std::collections::btree_map::Entry;
        match self.terms.entry(monomial) {
            Entry::Vacant(_) if coefficient == 0 => {}
            Entry::Vacant(entry) => drop(entry.insert(coefficient)),
            Entry::Occupied(mut entry) => match entry.get().checked_add(coefficient)? {
                0 => drop(entry.remove()),
                sum => *entry.get_mut() = sum,
            },
        }
        Some(())
    }
}

/// `monomial / factor`, where it divides.
pub(super) fn quotient(monomial: &Monomial, factor: &Monomial) -> Option<Monomial> {
    let mut rest = monomial.clone();
    for atom in factor {
        let at = rest.iter().position(|a| a == atom)?;
        rest.remove(at);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_distributed() {
        let (x, y) = (Poly::atom(0), Poly::atom(1));
        let one = Poly::constant(1);
        let left = x.add(&one).and_then(|a| a.mul(&y.sub(&one)?)).expect("small");
        let right = x.mul(&y).and_then(|xy| xy.sub(&x)?.add(&y)?.sub(&one)).expect("small");
        assert_eq!(left, right);
        assert_eq!(x.sub(&x).expect("small").as_constant(), Some(0));
    }

    #[test]
    fn overflow_gives_nothing() {
        let huge = Poly::constant(i64::MAX);
        assert!(huge.add(&Poly::constant(1)).is_none());
        assert!(huge.scale(2).is_none());
    }

    #[test]
    fn linear_parts() {
        let (x, y) = (Poly::atom(0), Poly::atom(1));
        let p = x.mul(&y).and_then(|xy| xy.add_scaled(&y, 3)).expect("small");
        let (linear, rest) = p.linear_in(0).expect("linear");
        assert_eq!((linear, rest.terms().len()), (y.clone(), 1));
        assert!(x.mul(&x).expect("small").linear_in(0).is_none());
    }
}
