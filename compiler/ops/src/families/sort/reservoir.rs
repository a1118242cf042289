//! The top `k` of long lines, by a reservoir.
//!
//! The reservoir collects the elements that are not beyond a threshold, in order of position. When it is full, it is
//! sorted (stably, so the first of equal elements remain), all but its best `k` are discarded, and the last of these
//! becomes the threshold. So most elements of a long line cost one vectorized comparison, as in `ReservoirTopN` of
//! Faiss. The first threshold is the [bound](super::delegates) of the line, so one sort at the end suffices, unless the
//! best elements are in the same few groups; in the worst case, every element is sorted about twice.

use super::{Order, best::Best, delegates::Delegates, from_line, insertion::Insertion, radix::Radix};
use crate::{
    dims,
    legalize::{
        Input,
        loops::{Cell, LANES, each, in_order, when, when_any, when_else},
    },
};
use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{Buffer, Stmt, StmtKind},
};

/// Minimum number of elements that the reservoir collects between two sorts.
const MIN_ROOM: i64 = 256;

/// Maximum `k` for an insertion sort of the collected elements, which are hardly more.
const MAX_INSERTED: i64 = 32;

/// Minimum length of a line from which a reservoir selects a small `k`.
pub fn min_length(k: i64) -> i64 {
    k.saturating_mul(8).max(MIN_ROOM)
}

/// True if a reservoir is faster than sorting the line.
pub fn is_selective(length: &PrimExpr, k: i64) -> bool {
    length.as_int().is_none_or(|length| length >= k.saturating_mul(4).saturating_add(2 * MIN_ROOM))
}

/// The reservoir of a line.
pub struct Reservoir<'a> {
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

/// State that changes while a line is read.
struct State {
    /// The collected elements, and their positions.
    values: Buffer,
    positions: Buffer,
    /// Number of collected elements.
    count: Cell,
    /// [`UNBOUNDED`], [`INCLUSIVE`] or [`EXCLUSIVE`].
    bounded: Cell,
    threshold: Cell,
}

/// All elements are collected.
const UNBOUNDED: i32 = 0;
/// Elements that do not follow the threshold are collected.
const INCLUSIVE: i32 = 1;
/// Elements that precede the threshold are collected.
const EXCLUSIVE: i32 = 2;

impl Reservoir<'_> {
    /// Selects the best elements of the line, sorted.
    pub fn select(&self) -> Stmt {
        let (dtype, position) = (self.x.dtype(), self.best.positions.dtype);
        let capacity = self.k + self.k.max(MIN_ROOM);
        let alloc = |buffer: &Buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default()));
        let state = State {
            values: Buffer::new("collected", vec![capacity.into()], dtype),
            positions: Buffer::new("collected_at", vec![capacity.into()], position),
            count: Cell::new("count", DType::INT64),
            bounded: Cell::new("bounded", DType::INT32),
            threshold: Cell::new("threshold", dtype),
        };
        let cells = [
            state.count.declare(0i64.into()),
            state.bounded.declare(PrimExpr::int32(UNBOUNDED)),
            state.threshold.declare(PrimExpr::constant(0.0, dtype)),
        ];
        let length = &self.x.shape()[self.axis];
        let vectors = dims::floordiv(length, &LANES.into());
        let rounds = each("vector", dims::offset(&vectors, 1), |n| {
            let start = n * PrimExpr::int64(LANES);
            let is_last = n.clone().ge(vectors.clone());
            let rest = each("j", dims::floormod(length, &LANES.into()), |j| {
                self.append(&state, &(dims::mul(&vectors, &LANES.into()) + j))
            });
            let is_full = state.count.get().gt(capacity - LANES);
            in_order([
                when_else(is_last.clone(), rest, self.collect(&state, &start)),
                when(is_last.or(is_full), self.sort(&state, capacity)),
            ])
        });
        let element = |j: &PrimExpr| self.element(j);
        let delegates = Delegates::new(&element, self.order, self.k, length);
        let bound =
            in_order([delegates.bound(length, &state.threshold), state.bounded.set(PrimExpr::int32(INCLUSIVE))]);
        let bound = match length.as_int() {
            Some(_) => bound,
            None => when(length.clone().ge(delegates.min_length()), bound),
        };
        let buffers = [&state.values, &state.positions].map(alloc);
        in_order(buffers.into_iter().chain(cells.into_iter().flatten()).chain([bound, rounds]))
    }

    fn element(&self, j: &PrimExpr) -> PrimExpr {
        self.x.at(&from_line(self.line, j, self.axis))
    }

    /// Appends the elements of a vector that are not beyond the threshold.
    fn collect(&self, state: &State, start: &PrimExpr) -> Stmt {
        let element = |lane: &PrimExpr| self.element(&(start + lane));
        let append = || each("lane", LANES, |lane| self.append(state, &(start + lane)));
        let inclusive = |lane: &PrimExpr| self.order.before(state.threshold.get(), element(lane)).not();
        let exclusive = |lane: &PrimExpr| self.order.before(element(lane), state.threshold.get());
        when_else(
            state.bounded.get().eq(INCLUSIVE),
            when_any(PrimExpr::bool(false), inclusive, append()),
            when_any(state.bounded.get().eq(UNBOUNDED), exclusive, append()),
        )
    }

    /// Appends an element if it is not beyond the threshold. There is room for it in any case, so it is stored without a
    /// branch.
    fn append(&self, state: &State, j: &PrimExpr) -> Stmt {
        let (element, to) = (Var::new("element", self.x.dtype()), vec![state.count.get()]);
        let (bounded, threshold) = (|kind: i32| state.bounded.get().eq(kind), state.threshold.get());
        let is_equal = bounded(INCLUSIVE).and(self.order.before(threshold.clone(), element.expr()).not());
        let enters = bounded(UNBOUNDED).or(self.order.before(element.expr(), threshold)).or(is_equal);
        in_order([
            Stmt::new(StmtKind::Bind(element.clone(), self.element(j))),
            Stmt::store(&state.values, to.clone(), element.expr()),
            Stmt::store(&state.positions, to, j.clone().cast(state.positions.dtype)),
            state.count.add(enters.select(PrimExpr::int64(1), PrimExpr::int64(0))),
        ])
    }

    /// Retains the best elements, sorted.
    fn sort(&self, state: &State, capacity: i64) -> Stmt {
        let (count, stored) = (Var::int64("count"), Var::int64("stored"));
        let bind = |var: &Var, value: PrimExpr| Stmt::new(StmtKind::Bind(var.clone(), value));
        let at = |j: &PrimExpr| [self.line, std::slice::from_ref(j)].concat();
        let element = &|j: &PrimExpr| PrimExpr::load(&state.values, vec![j.clone()]);
        let position = &|j: &PrimExpr| PrimExpr::load(&state.positions, vec![j.clone()]);
        let (order, length, k) = (self.order, &count.expr(), self.k);
        let sorted = if k <= MAX_INSERTED {
            let (line, best) = (self.line, self.best);
            Insertion { element, position, length, in_vectors: false, line, order, k, best }.select()
        } else {
            let (capacity, stored) = (&capacity.into(), &stored.expr());
            Radix { element, order, length, capacity, stored, position: DType::INT32 }.sort(|j, element, slot| {
                in_order([
                    Stmt::store(&self.best.values, at(j), element),
                    Stmt::store(&self.best.positions, at(j), position(&slot.cast(DType::INT64))),
                ])
            })
        };
        let best = [(&state.values, &self.best.values), (&state.positions, &self.best.positions)];
        let copy = each("j", stored.expr(), |j| {
            in_order(best.map(|(to, from)| Stmt::store(to, vec![j.clone()], PrimExpr::load(from, at(j)))))
        });
        let last = dims::max(&dims::offset(&stored.expr(), -1), &0i64.into());
        in_order([
            bind(&count, dims::min(&state.count.get(), &capacity.into())),
            bind(&stored, dims::min(&count.expr(), &self.k.into())),
            sorted,
            copy,
            state.count.set(stored.expr()),
            state.bounded.set(PrimExpr::int32(EXCLUSIVE)),
            state.threshold.set(PrimExpr::load(&self.best.values, at(&last))),
        ])
    }
}
