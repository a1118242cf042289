//! Rank sort of short lines: the rank of an element is the number of elements that precede it.
//!
//! All pairs of elements are compared, without a branch and a vector at a time. Up to some hundred elements, this takes
//! less time than other algorithms take with mispredicted branches or histograms of digits.

use super::{Order, radix::key_type};
use crate::legalize::loops::{LANES, each, each_in_vectors, in_lanes, in_order};
use hammock_ir::{
    DType, PrimExpr,
    tir::{Buffer, Stmt, StmtKind},
};

/// Returns the length of a line if it is known and rank sort is faster than radix sort, which takes a pass for each digit
/// of a key. Measured with 16 lanes of 32 bits.
pub fn ranked_length(length: &PrimExpr, dtype: DType) -> Option<i64> {
    let longest = match key_type(dtype).1 {
        8 => 80,
        16 => 128,
        32 => 208,
        _ => 320,
    };
    length.as_int().filter(|length| *length <= longest)
}

/// Minimum `k` for rank sort instead of insertion, which is faster for a few elements.
const MIN_K: i64 = 8;

/// Returns true if rank sort is faster than the insertion of elements into the best `k`.
pub fn ranks(length: &PrimExpr, dtype: DType, k: i64) -> bool {
    ranked_length(length, dtype).is_some_and(|length| k >= MIN_K && k.saturating_mul(3) >= length)
}

/// The rank sort of a line.
pub struct Ranking<'a> {
    /// The element at a position.
    pub element: &'a dyn Fn(&PrimExpr) -> PrimExpr,
    /// Order.
    pub order: Order,
    /// Number of elements.
    pub length: i64,
    /// Number of elements of the sorted line that are stored.
    pub stored: i64,
}

impl Ranking<'_> {
    /// Sorts a line: `put` stores an element and its original position at an index of the sorted line.
    pub fn sort(&self, put: impl FnOnce(&PrimExpr, PrimExpr, PrimExpr) -> Stmt) -> Stmt {
        let vectors = ((self.length + LANES - 1) / LANES).max(1);
        let (key, padded) = (key_type((self.element)(&0i64.into()).dtype()).0, PrimExpr::int64(vectors * LANES));
        let buffer = |name: &str, dtype| Buffer::new(name, vec![padded.clone()], dtype);
        let [keys, ranks, order] =
            [("keys", key), ("ranks", DType::INT32), ("order", DType::INT32)].map(|(name, dtype)| buffer(name, dtype));
        let store = |buffer: &Buffer, at: &PrimExpr, value| Stmt::store(buffer, vec![at.clone()], value);
        let load = |buffer: &Buffer, at: &PrimExpr| PrimExpr::load(buffer, vec![at.clone()]).cast(DType::INT64);
        let fill = each_in_vectors("j", &self.length.into(), |j| store(&keys, j, self.order.key((self.element)(j))));
        let last = PrimExpr::int(0, key) - PrimExpr::int(1, key);
        let pad = each("j", vectors * LANES - self.length, |j| store(&keys, &(PrimExpr::int64(self.length) + j), last));
        let count = each("vector", vectors, |vector| self.count(&keys, &ranks, &(vector * PrimExpr::int64(LANES))));
        let scatter = each("j", self.length, |j| store(&order, &load(&ranks, j), j.clone().cast(DType::INT32)));
        let gather = each("j", self.stored, |j| {
            let position = load(&order, j);
            put(j, (self.element)(&position), position)
        });
        let alloc = |buffer: &Buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default()));
        in_order([&keys, &ranks, &order].map(alloc).into_iter().chain([fill, pad, count, scatter, gather]))
    }

    /// Counts the elements that precede those of a vector: of equal ones, those at earlier positions. The padding does
    /// not precede any.
    fn count(&self, keys: &Buffer, ranks: &Buffer, start: &PrimExpr) -> Stmt {
        let counts = Buffer::scoped("counts", vec![LANES.into()], DType::INT32, "local");
        let count = |lane: &PrimExpr| PrimExpr::load(&counts, vec![lane.clone()]);
        let key = |j: &PrimExpr| PrimExpr::load(keys, vec![j.clone()]);
        let add = |precedes: &dyn Fn(&PrimExpr, PrimExpr) -> PrimExpr| {
            in_lanes(|lane| {
                let one = precedes(lane, key(&(start + lane))).select(PrimExpr::int32(1), PrimExpr::int32(0));
                Stmt::store(&counts, vec![lane.clone()], count(lane) + one)
            })
        };
        let end = start + PrimExpr::int64(LANES);
        let clear = in_lanes(|lane| Stmt::store(&counts, vec![lane.clone()], PrimExpr::int32(0)));
        let earlier = each("j", start.clone(), |j| add(&|_, own| key(j).le(own)));
        let same = each("j", LANES.min(self.length), |j| {
            let other = || key(&(start + j));
            let is_earlier = |lane: &PrimExpr| j.clone().cast(DType::INT32).lt(lane.clone().cast(DType::INT32));
            add(&|lane, own| is_earlier(lane).select(other().le(own.clone()), other().lt(own)))
        });
        let later = each("j", (PrimExpr::int64(self.length) - end.clone()).max(0i64), |j| {
            add(&|_, own| key(&(&end + j)).lt(own))
        });
        let store = in_lanes(|lane| Stmt::store(ranks, vec![start + lane], count(lane)));
        let alloc = Stmt::new(StmtKind::Alloc(counts.clone(), Default::default()));
        in_order([alloc, clear, earlier, same, later, store])
    }
}
