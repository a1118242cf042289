//! The top `k` of long lines, by a reservoir.
//!
//! The reservoir collects the elements that precede a threshold, in order of position. When it is full, it is sorted
//! (stably, so the first of equal elements remain), all but its best `k` are discarded, and the last of these becomes
//! the threshold. So most elements of a long line cost one vectorized comparison, as in `ReservoirTopN` of Faiss. In
//! random order, the number of sorts is logarithmic in the length; in the worst case, ascending order, every element is
//! sorted about twice.

use super::{Order, best::Best, from_line, radix::Radix};
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
    /// 1 if there is a threshold.
    bounded: Cell,
    threshold: Cell,
}

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
            state.bounded.declare(PrimExpr::int32(0)),
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
        let buffers = [&state.values, &state.positions].map(alloc);
        in_order(buffers.into_iter().chain(cells.into_iter().flatten()).chain([rounds]))
    }

    fn element(&self, j: &PrimExpr) -> PrimExpr {
        self.x.at(&from_line(self.line, j, self.axis))
    }

    /// Appends the elements of a vector that precede the threshold.
    fn collect(&self, state: &State, start: &PrimExpr) -> Stmt {
        let enters = |lane: &PrimExpr| self.order.before(self.element(&(start + lane)), state.threshold.get());
        let append = each("lane", LANES, |lane| self.append(state, &(start + lane)));
        when_any(state.bounded.get().eq(0i32), enters, append)
    }

    /// Appends an element if it precedes the threshold. There is room for it in any case, so it is stored without a
    /// branch.
    fn append(&self, state: &State, j: &PrimExpr) -> Stmt {
        let (element, to) = (Var::new("element", self.x.dtype()), vec![state.count.get()]);
        let enters = state.bounded.get().eq(0i32).or(self.order.before(element.expr(), state.threshold.get()));
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
        let radix = Radix {
            element: &|j| PrimExpr::load(&state.values, vec![j.clone()]),
            order: self.order,
            length: &count.expr(),
            capacity: &capacity.into(),
            stored: &stored.expr(),
            position: DType::INT32,
        };
        let sorted = radix.sort(|j, element, slot| {
            let position = PrimExpr::load(&state.positions, vec![slot.cast(DType::INT64)]);
            in_order([
                Stmt::store(&self.best.values, at(j), element),
                Stmt::store(&self.best.positions, at(j), position),
            ])
        });
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
            state.bounded.set(PrimExpr::int32(1)),
            state.threshold.set(PrimExpr::load(&self.best.values, at(&last))),
        ])
    }
}
