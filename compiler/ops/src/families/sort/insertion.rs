//! The top `k` of a line by insertion: one pass maintains the best elements so far in order. Elements that are no better
//! than the last of them cost one vectorized comparison.

use super::{Order, best::Best};
use crate::{
    dims,
    legalize::loops::{LANES, each, in_order, when_any},
};
use hammock_ir::{
    DType, PrimExpr,
    tir::{Buffer, Stmt, StmtKind},
};

/// Maximum `k` for insertion, which moves half of the elements for each improvement.
pub const MAX_INSERTED: i64 = 64;

/// The insertion of elements.
pub struct Insertion<'a> {
    /// The element of an index.
    pub element: &'a dyn Fn(&PrimExpr) -> PrimExpr,
    /// Its position in the line.
    pub position: &'a dyn Fn(&PrimExpr) -> PrimExpr,
    /// Number of elements.
    pub length: &'a PrimExpr,
    /// True if elements are contiguous, and few of them are among the best.
    pub in_vectors: bool,
    /// Index of the line.
    pub line: &'a [PrimExpr],
    /// Order.
    pub order: Order,
    /// Number of selected elements.
    pub k: i64,
    /// Where the selected elements are stored.
    pub best: &'a Best,
}

impl Insertion<'_> {
    /// Selects the best elements, sorted.
    pub fn select(&self) -> Stmt {
        let (length, in_vectors) = (self.length, self.in_vectors);
        let whole = if in_vectors { dims::floordiv(length, &LANES.into()) } else { 0i64.into() };
        let vectors = each("vector", whole.clone(), |n| {
            let start = n * PrimExpr::int64(LANES);
            let enters = |lane: &PrimExpr| self.order.before((self.element)(&(&start + lane)), self.last());
            let insert = each("j", LANES, |j| self.insert(&(&start + j)));
            when_any(start.clone().lt(self.k), enters, insert)
        });
        let start = dims::mul(&whole, &LANES.into());
        let rest = each("j", dims::sub(length, &start), |j| self.insert(&dims::add(&start, j)));
        if in_vectors { in_order([vectors, rest]) } else { rest }
    }

    /// The worst of the best, once there are `k`.
    fn last(&self) -> PrimExpr {
        PrimExpr::load(&self.best.values, [self.line, &[PrimExpr::int64(self.k - 1)]].concat())
    }

    /// Inserts an element after those that do not follow it, if there is room or a worse element to evict.
    fn insert(&self, j: &PrimExpr) -> Stmt {
        let (Best { values, positions }, k, element) = (self.best, self.k, (self.element)(j));
        let at = |i: PrimExpr| [self.line, &[i]].concat();
        let place = Buffer::scoped("place", vec![1i64.into()], DType::INT64, "local");
        let zero = || vec![PrimExpr::int64(0)];
        let p = PrimExpr::load(&place, zero());
        let before = |i: PrimExpr| self.order.before(element.clone(), PrimExpr::load(values, at(i)));
        let full = j.clone().ge(k);
        let enters = full.clone().if_then_else(before(PrimExpr::int64(k - 1)), PrimExpr::bool(true));
        let start = Stmt::store(&place, zero(), dims::min(j, &PrimExpr::int64(k - 1)));
        let ahead = || dims::sub(&p, &1i64.into());
        let shifts = p.clone().gt(0i64).if_then_else(before(dims::max(&ahead(), &0i64.into())), PrimExpr::bool(false));
        let copy = |b: &Buffer| Stmt::store(b, at(p.clone()), PrimExpr::load(b, at(ahead())));
        let down = Stmt::store(&place, zero(), ahead());
        let shift = Stmt::seq([copy(values), copy(positions), down]);
        let put = [
            Stmt::store(values, at(p.clone()), element.clone()),
            Stmt::store(positions, at(p.clone()), (self.position)(j).cast(positions.dtype)),
        ];
        let search = Stmt::new(StmtKind::While(shifts, Box::new(shift)));
        let body = Stmt::seq([start, search].into_iter().chain(put));
        let alloc = Stmt::new(StmtKind::Alloc(place.clone(), Default::default()));
        Stmt::new(StmtKind::Seq(vec![alloc, Stmt::new(StmtKind::If(enters, Box::new(body), None))]))
    }
}
