//! Expressions as polynomials over atoms, and back.

use super::{
    Interval,
    assumptions::{Assumptions, Fact},
    floor::floor_div,
    fold,
    polynomial::{AtomId, MAX_TERMS, Polynomial, term_expr},
};
use crate::{
    DType, PrimExpr, equal,
    prim::{self, BinaryOp, PrimKind, Var},
};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::{
    cmp::Reverse,
    hash::{Hash, Hasher},
};

/// Maximum number of nodes of an expression that is analyzed.
pub(super) const MAX_NODES: u32 = 1000;

/// Maximum number of polynomials that proofs examine per query.
const MAX_PROOF_STEPS: usize = 200;

/// Budget of monomials created per query.
const MAX_MONOMIALS_PER_QUERY: usize = 15_000;

/// Returns true if expressions of the dtype are treated as unbounded integers.
pub(super) fn is_index(dtype: DType) -> bool {
    matches!(dtype, DType::INT32 | DType::INT64)
}

/// A polynomial over the atoms of a query.
pub(super) type Poly = Polynomial<AtomId>;

/// State of one query: atoms numbered in order of appearance.
pub(super) struct Query<'a> {
    pub assumptions: &'a Assumptions,
    atoms: Vec<AtomInfo>,
    index: FxHashMap<u64, SmallVec<[AtomId; 1]>>,
    polys: FxHashMap<usize, (PrimExpr, Poly)>,
    /// Polynomials of sums, differences and products of data, which may have wrapped.
    modular: FxHashMap<usize, (PrimExpr, Option<Poly>)>,
    /// Polynomials of the assumed facts, by index; computed on demand.
    pub facts: FxHashMap<usize, Option<Poly>>,
    /// Remaining steps before a proof is given up.
    pub budget: usize,
    /// Remaining monomials before expressions are no longer analyzed.
    work: usize,
}

/// An atom and its interval.
struct AtomInfo {
    expr: PrimExpr,
    interval: Interval,
}

impl<'a> Query<'a> {
    pub fn new(assumptions: &'a Assumptions) -> Self {
        let (atoms, index, polys, modular, facts) = Default::default();
        Query {
            assumptions,
            atoms,
            index,
            polys,
            modular,
            facts,
            budget: MAX_PROOF_STEPS,
            work: MAX_MONOMIALS_PER_QUERY,
        }
    }

    /// Restores the budget for the next question; polynomials of expressions stay cached.
    pub fn reset_budget(&mut self) {
        (self.budget, self.work) = (MAX_PROOF_STEPS, MAX_MONOMIALS_PER_QUERY);
    }

    /// The polynomial of an integer expression.
    pub fn poly(&mut self, e: &PrimExpr) -> Poly {
        if let Some((_, poly)) = self.polys.get(&e.node_id()) {
            return poly.clone();
        }
        let poly = match self.work {
            _ if e.size() > MAX_NODES => self.atom_poly(e),
            0 => self.atom_poly(e),
            _ => {
                let poly = if wraps(e) { self.modular(e) } else { self.sum_or_product(e) };
                let poly = poly.filter(|poly| !e.is_data() || self.fits(poly, e.dtype()));
                poly.unwrap_or_else(|| self.opaque(e))
            }
        };
        self.spend(&poly);
        self.polys.insert(e.node_id(), (e.clone(), poly.clone()));
        poly
    }

    /// Deducts the monomials of a polynomial from the budget; true if any budget remains.
    pub fn spend(&mut self, poly: &Poly) -> bool {
        self.work = self.work.saturating_sub(1 + poly.terms().len());
        self.work > 0
    }

    /// Returns an equal expression in normal form.
    pub fn simplify(&mut self, e: &PrimExpr) -> PrimExpr {
        if e.size() > MAX_NODES {
            return e.clone();
        }
        if is_index(e.dtype()) {
            let poly = self.poly(e);
            return self.expr(&poly, e.dtype());
        }
        if e.dtype() == DType::BOOL {
            return self.condition(e);
        }
        self.simplify_children(e)
    }

    /// Returns the interval of the expression's values.
    pub fn interval_of(&mut self, e: &PrimExpr) -> Interval {
        if is_index(e.dtype()) {
            let poly = self.poly(e);
            return self.interval(&poly);
        }
        match e.as_int() {
            Some(value) => Interval::point(value),
            None if e.dtype().is_integer() && e.dtype().is_scalar() && e.dtype().bits <= 32 => self.interval_of_atom(e),
            None => Interval::of_dtype(e.dtype()),
        }
    }

    /// Returns the interval of the polynomial's values.
    pub fn interval(&self, poly: &Poly) -> Interval {
        poly.terms().fold(Interval::point(0), |sum, (monomial, c)| {
            let mut product = Interval::point(c);
            let mut rest = monomial;
            while let [atom, ..] = rest {
                let power = rest.iter().take_while(|a| *a == atom).count();
                product = product * self.atoms[atom.0 as usize].interval.pow(power);
                rest = &rest[power..];
            }
            sum + product
        })
    }

    /// The expression of an atom.
    pub fn atom(&self, atom: AtomId) -> &PrimExpr {
        &self.atoms[atom.0 as usize].expr
    }

    /// Returns the interval of an atom.
    pub fn atom_interval(&self, atom: AtomId) -> Interval {
        self.atoms[atom.0 as usize].interval
    }

    /// Returns an expression as an atom's polynomial.
    pub fn atom_poly(&mut self, e: &PrimExpr) -> Poly {
        match e.as_int() {
            Some(v) => Poly::constant(v),
            None => Poly::atom(self.intern(e)),
        }
    }

    /// Returns the variable and its interval if the fact is only a bound of a variable.
    pub fn as_bound(&mut self, fact: &Fact) -> Option<(Var, Interval)> {
        let poly = self.fact(fact)?;
        let offset = poly.offset();
        let (constant, rest) = poly.partition(|m, _| m.is_empty());
        let (monomial, c) = rest.single()?;
        let var = if monomial.len() == 1 { self.atom(monomial[0]).as_var()?.clone() } else { return None };
        debug_assert!(constant.as_constant() == Some(offset));
        match c {
            1.. => Some((var, Interval::new(floor_div(offset.checked_neg()?.checked_add(c - 1)?, c)?, i64::MAX))),
            _ => Some((var, Interval::new(i64::MIN, floor_div(offset, c.checked_neg()?)?))),
        }
    }

    /// Polynomial of a sum, difference, product or operation with its own rule; `None` for others and on overflow.
    fn sum_or_product(&mut self, e: &PrimExpr) -> Option<Poly> {
        match e.kind() {
            PrimKind::Int(v) => Some(Poly::constant(*v)),
            PrimKind::Var(v) => match self.assumptions.range(v).interval.as_point() {
                Some(value) => Some(Poly::constant(value)),
                None => Some(self.atom_poly(e)),
            },
            PrimKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, _) if is_index(a.dtype()) => self.sum(e),
            PrimKind::Binary(op, a, b) if is_index(a.dtype()) => {
                let (a, b) = (self.poly(a), self.poly(b));
                match op {
                    BinaryOp::Mul if is_distributed(&a, &b) => a.checked_mul(&b),
                    BinaryOp::FloorDiv => self.floor_div(a, b, e.dtype()),
                    BinaryOp::FloorMod => self.floor_mod(a, b, e.dtype()),
                    BinaryOp::Div if self.is_natural(&a) && self.is_natural(&b) => self.floor_div(a, b, e.dtype()),
                    BinaryOp::Mod if self.is_natural(&a) && self.is_natural(&b) => self.floor_mod(a, b, e.dtype()),
                    BinaryOp::Min => self.min_max(BinaryOp::Min, a, b, e.dtype()),
                    BinaryOp::Max => self.min_max(BinaryOp::Max, a, b, e.dtype()),
                    _ => None,
                }
            }
            PrimKind::Select(c, a, b) => self.choice(c, a, b),
            PrimKind::Call(call) => match &call.args[..] {
                [c, a, b] if e.as_intrin("if_then_else").is_some() => self.choice(c, a, b),
                [a, n] if e.as_intrin("shift_left").is_some() => self.poly(a).checked_scale(power_of_two(n)?),
                [a, n] if e.as_intrin("shift_right").is_some() => {
                    let (a, divisor) = (self.poly(a), Poly::constant(power_of_two(n)?));
                    self.floor_div(a, divisor, e.dtype())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Flattens nested sums and differences into one polynomial, in time linear in the number of operands.
    fn sum(&mut self, e: &PrimExpr) -> Option<Poly> {
        let mut sum = Poly::zero();
        let mut open = vec![(e, 1)];
        while let Some((operand, sign)) = open.pop() {
            match operand.kind() {
                PrimKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) if self.is_part_of_sum(operand) => {
                    open.push((b, if *op == BinaryOp::Add { sign } else { -sign }));
                    open.push((a, sign));
                }
                _ => {
                    let poly = self.poly(operand);
                    if sum.overflowing_add_scaled(&poly, sign) {
                        return None;
                    }
                }
            }
        }
        Some(self.combine_div_mod(sum))
    }

    /// Returns true if an operand of a sum is itself a sum that does not wrap and has no polynomial yet.
    fn is_part_of_sum(&self, operand: &PrimExpr) -> bool {
        is_index(operand.dtype()) && !operand.is_data() && !self.polys.contains_key(&operand.node_id())
    }

    /// A polynomial congruent to the value modulo the range of its dtype: sums, differences and products wrap alike in
    /// any order. Where it [fits](Query::fits), the two are equal: `(x + 1) - x` is 1 also if `x + 1` wraps.
    fn modular(&mut self, e: &PrimExpr) -> Option<Poly> {
        let PrimKind::Binary(op, a, b) = e.kind() else { return None };
        if let Some((_, poly)) = self.modular.get(&e.node_id()) {
            return poly.clone();
        }
        let [a, b] = [a, b].map(|x| {
            let modular = if wraps(x) && self.work > 0 { self.modular(x) } else { None };
            modular.unwrap_or_else(|| self.poly(x))
        });
        let poly = match op {
            BinaryOp::Add => a.checked_add(&b).map(|sum| self.combine_div_mod(sum)),
            BinaryOp::Sub => a.checked_sub(&b).map(|sum| self.combine_div_mod(sum)),
            _ if is_distributed(&a, &b) => a.checked_mul(&b),
            _ => None,
        };
        if let Some(poly) = &poly {
            self.spend(poly);
        }
        self.modular.insert(e.node_id(), (e.clone(), poly.clone()));
        poly
    }

    /// Returns true if a polynomial over data certainly fits its dtype. (At the ends of int64, intervals
    /// are cut off.)
    pub fn fits(&self, poly: &Poly, dtype: DType) -> bool {
        let inside = match dtype.bits {
            _ if poly.as_atom().is_some() || poly.as_constant().is_some() => Interval::of_dtype(dtype),
            64 => Interval::new(i64::MIN + 1, i64::MAX - 1),
            _ => Interval::of_dtype(dtype),
        };
        self.interval(poly).is_within(inside)
    }

    fn is_natural(&self, poly: &Poly) -> bool {
        self.interval(poly).min >= 0
    }

    fn choice(&mut self, condition: &PrimExpr, a: &PrimExpr, b: &PrimExpr) -> Option<Poly> {
        if let Some(value) = self.simplify(condition).as_int() {
            return Some(self.poly(if value != 0 { a } else { b }));
        }
        let (a, b) = (self.poly(a), self.poly(b));
        (a == b).then_some(a)
    }

    /// An expression without a rule of its own: an atom of simplified operands.
    fn opaque(&mut self, e: &PrimExpr) -> Poly {
        let e = self.simplify_children(e);
        self.atom_poly(&e)
    }

    /// Simplifies the operands and folds the expression if they become constants.
    fn simplify_children(&mut self, e: &PrimExpr) -> PrimExpr {
        let e = e.map_children(&mut |c| self.simplify(c));
        match e.kind() {
            PrimKind::Binary(op, a, b) if a.dtype() == b.dtype() => fold::fold(*op, a, b).unwrap_or(e),
            PrimKind::Cast(a) if a.as_int().is_some() => fold::cast(a.clone(), e.dtype()),
            _ => e,
        }
    }

    /// Simplifies a condition: decided by bounds if possible, otherwise with simplified operands.
    fn condition(&mut self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Binary(BinaryOp::And | BinaryOp::Or, ..) => self.simplify_children(e),
            PrimKind::Not(a) => fold::not(self.simplify(a)),
            PrimKind::Binary(op, a, b) if is_index(a.dtype()) && op.is_comparison() => match self.decide(*op, a, b) {
                Some(value) => PrimExpr::bool(value),
                None => self.simplify_children(e),
            },
            _ => self.simplify_children(e),
        }
    }

    fn decide(&mut self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> Option<bool> {
        use BinaryOp::*;
        match op {
            Lt if self.proves_ge(b, a, 1) => Some(true),
            Lt if self.proves_ge(a, b, 0) => Some(false),
            Le => self.decide(Lt, b, a).map(|v| !v),
            Gt => self.decide(Lt, b, a),
            Ge => self.decide(Lt, a, b).map(|v| !v),
            Eq if self.proves_equal(a, b) => Some(true),
            Eq if self.proves_ge(a, b, 1) || self.proves_ge(b, a, 1) => Some(false),
            Ne => self.decide(Eq, a, b).map(|v| !v),
            _ => None,
        }
    }

    /// The expression of a polynomial: higher degrees first, the constant last, a positive summand in front.
    pub fn expr(&self, poly: &Poly, dtype: DType) -> PrimExpr {
        let mut terms: Vec<(&[AtomId], i64)> = poly.terms().collect();
        terms.sort_by_key(|(m, _)| Reverse(m.len()));
        if let Some(first) = terms.iter().position(|(_, c)| *c > 0) {
            terms[..=first].rotate_right(1);
        }
        let mut sum: Option<PrimExpr> = None;
        for (monomial, c) in terms {
            sum = Some(match sum {
                None => self.term(monomial, c, dtype),
                Some(sum) if c < 0 && c != i64::MIN => prim::binary(BinaryOp::Sub, sum, self.term(monomial, -c, dtype)),
                Some(sum) => prim::binary(BinaryOp::Add, sum, self.term(monomial, c, dtype)),
            });
        }
        sum.unwrap_or_else(|| PrimExpr::int(0, dtype))
    }

    fn term(&self, monomial: &[AtomId], c: i64, dtype: DType) -> PrimExpr {
        term_expr(monomial.iter().map(|atom| self.atom(*atom)), c, dtype)
    }

    fn intern(&mut self, e: &PrimExpr) -> AtomId {
        let key = fingerprint(e, 4);
        let known = self.index.get(&key).into_iter().flatten();
        let same = |a: &PrimExpr| a.same_node(e) || e.size() <= MAX_NODES && equal::exprs(a, e);
        if let Some(atom) = known.copied().find(|a| same(self.atom(*a))) {
            return atom;
        }
        let interval = self.interval_of_atom(e);
        let atom = AtomId(self.atoms.len() as u32);
        self.atoms.push(AtomInfo { expr: e.clone(), interval });
        self.index.entry(key).or_default().push(atom);
        atom
    }

    fn interval_of_atom(&mut self, e: &PrimExpr) -> Interval {
        let bound = match e.kind() {
            _ if e.size() > MAX_NODES || self.work == 0 => Interval::ALL,
            PrimKind::Var(v) => self.assumptions.range(v).interval,
            PrimKind::Binary(op, a, b) => {
                let (x, y) = (self.interval_of(a), self.interval_of(b));
                match op {
                    BinaryOp::FloorDiv => x.floor_div(y),
                    BinaryOp::FloorMod => x.floor_mod(y),
                    BinaryOp::Min => x.min(y),
                    BinaryOp::Max => x.max(y),
                    BinaryOp::Mul => x * y,
                    BinaryOp::Add => x + y,
                    BinaryOp::Sub => x - y,
                    _ => Interval::ALL,
                }
            }
            PrimKind::Select(_, a, b) => self.interval_of(a).union(self.interval_of(b)),
            // Unsigned 64-bit values become negative.
            PrimKind::Cast(a) if a.dtype().is_uint() && a.dtype().bits == 64 => Interval::ALL,
            PrimKind::Cast(a) if a.dtype().is_integer() || a.dtype().is_bool() => self.interval_of(a),
            PrimKind::Call(call) => match &call.args[..] {
                [_, a, b] if e.as_intrin("if_then_else").is_some() => self.interval_of(a).union(self.interval_of(b)),
                [a, b] if e.as_intrin("bitwise_and").is_some() => {
                    let mask = self.interval_of(a).max(self.interval_of(b));
                    if mask.min >= 0 { Interval::new(0, mask.max) } else { Interval::ALL }
                }
                _ => Interval::ALL,
            },
            _ => Interval::ALL,
        };
        // A cast may wrap, and so may arithmetic on data or non-index dtypes: only the range of the dtype is certain.
        let of_dtype = Interval::of_dtype(e.dtype());
        let wraps = matches!(e.kind(), PrimKind::Cast(_)) || !is_index(e.dtype()) || e.is_data();
        let cut_off = e.is_data() && grows(e) && (bound.min == i64::MIN || bound.max == i64::MAX);
        if wraps && !bound.is_within(of_dtype) || cut_off { of_dtype } else { bound.intersect(of_dtype) }
    }
}

/// Returns true if this is a sum, difference or product of data, which wraps.
fn wraps(e: &PrimExpr) -> bool {
    let is_ring = matches!(e.kind(), PrimKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..));
    is_ring && e.is_data() && is_index(e.dtype())
}

/// Returns true if the magnitude may exceed that of the operands; for a quotient, `MIN / -1`.
fn grows(e: &PrimExpr) -> bool {
    use BinaryOp::*;
    matches!(e.kind(), PrimKind::Binary(Add | Sub | Mul | Div | FloorDiv, ..))
}

/// Returns true if a multiplication is distributed over sums: two short ones, or a long one and a monomial.
fn is_distributed(a: &Poly, b: &Poly) -> bool {
    let (a, b) = (a.terms().len(), b.terms().len());
    a * b <= MAX_TERMS || a.min(b) <= 1
}

fn power_of_two(exponent: &PrimExpr) -> Option<i64> {
    exponent.as_int().filter(|n| (0..62).contains(n)).map(|n| 1 << n)
}

/// A hash of an expression from the nodes near its root.
fn fingerprint(e: &PrimExpr, depth: usize) -> u64 {
    let mut hash = FxHasher::default();
    std::mem::discriminant(e.kind()).hash(&mut hash);
    match e.kind() {
        PrimKind::Var(v) => v.hash(&mut hash),
        PrimKind::Int(v) => v.hash(&mut hash),
        PrimKind::Binary(op, ..) => op.hash(&mut hash),
        PrimKind::Call(c) => c.callee.hash(&mut hash),
        _ => {}
    }
    if depth > 0 {
        e.each_child(&mut |c| fingerprint(c, depth - 1).hash(&mut hash));
    }
    hash.finish()
}
