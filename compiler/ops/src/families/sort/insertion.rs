//! The top `k` of a line by insertion: one pass maintains the best elements so far in order. Elements that are no better
//! than the last of them cost one vectorized comparison.

use super::{Order, best::Best, from_line};
use crate::{
    dims,
    legalize::{
        Input,
        loops::{LANES, each, in_order, when_any},
    },
};
use hammock_ir::{
    DType, PrimExpr,
    tir::{Buffer, Stmt, StmtKind},
};

/// Maximum `k` for insertion, which moves half of the elements for each improvement.
pub const MAX_INSERTED: i64 = 64;

/// The same for lines that are long enough for a reservoir, which is as fast in random order with this `k`, and several
/// times as fast in ascending order.
pub const MAX_INSERTED_OF_LONG_LINES: i64 = 40;

/// The insertion of a line's elements.
pub struct Insertion<'a> {
    /// Input.
    pub x: &'a Input,
    /// Axis of the line.
    pub axis: usize,
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
    /// Selects the best elements of the line, sorted.
    pub fn select(&self) -> Stmt {
        let length = &self.x.shape()[self.axis];
        let in_vectors = self.axis + 1 == self.x.ndim() && length.as_int().is_none_or(|length| length >= 4 * LANES);
        let whole = if in_vectors { dims::floordiv(length, &LANES.into()) } else { 0i64.into() };
        let vectors = each("vector", whole.clone(), |n| {
            let start = n * PrimExpr::int64(LANES);
            let enters = |lane: &PrimExpr| self.order.before(self.element(&(&start + lane)), self.last());
            let insert = each("j", LANES, |j| self.insert(&(&start + j)));
            when_any(start.clone().lt(self.k), enters, insert)
        });
        let start = dims::mul(&whole, &LANES.into());
        let rest = each("j", dims::sub(length, &start), |j| self.insert(&dims::add(&start, j)));
        if in_vectors { in_order([vectors, rest]) } else { rest }
    }

    fn element(&self, j: &PrimExpr) -> PrimExpr {
        self.x.at(&from_line(self.line, j, self.axis))
    }

    /// The worst of the best, once there are `k`.
    fn last(&self) -> PrimExpr {
        PrimExpr::load(&self.best.values, [self.line, &[PrimExpr::int64(self.k - 1)]].concat())
    }

    /// Inserts an element after those that do not follow it, if there is room or a worse element to evict.
    fn insert(&self, j: &PrimExpr) -> Stmt {
        let (Best { values, positions }, k, element) = (self.best, self.k, self.element(j));
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
            Stmt::store(positions, at(p.clone()), j.clone().cast(positions.dtype)),
        ];
        let search = Stmt::new(StmtKind::While(shifts, Box::new(shift)));
        let body = Stmt::seq([start, search].into_iter().chain(put));
        let alloc = Stmt::new(StmtKind::Alloc(place.clone(), Default::default()));
        Stmt::new(StmtKind::Seq(vec![alloc, Stmt::new(StmtKind::If(enters, Box::new(body), None))]))
    }
}
