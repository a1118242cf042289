//! Helpers for imperative statements: loops, conditions, and mutable scalars.

use crate::dims;
use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{Buffer, ForKind, Stmt, StmtKind},
};

/// Statements in order.
pub fn in_order(stmts: impl IntoIterator<Item = Stmt>) -> Stmt {
    Stmt::new(StmtKind::Seq(stmts.into_iter().collect()))
}

/// A loop over the values below `extent`.
pub fn each(name: &str, extent: impl Into<PrimExpr>, f: impl FnOnce(&PrimExpr) -> Stmt) -> Stmt {
    let var = Var::int64(name);
    let body = f(&var.expr());
    Stmt::serial(var, extent.into(), body)
}

/// Number of lanes of explicit vectors.
pub const LANES: i64 = 16;

/// A vectorized loop, for independent iterations.
pub fn each_in_vectors(name: &str, extent: &PrimExpr, f: impl Fn(&PrimExpr) -> Stmt) -> Stmt {
    let vector = |start: PrimExpr, lanes: i64| {
        let lane = Var::int64(name);
        let body = f(&(start + lane.expr()));
        Stmt::for_kind(lane, lanes.into(), ForKind::Vectorized, body)
    };
    let whole = dims::floordiv(extent, &LANES.into());
    let vectors = each(name, whole.clone(), |n| vector(n * PrimExpr::int64(LANES), LANES));
    let start = dims::mul(&whole, &LANES.into());
    let rest = match extent.as_int() {
        Some(extent) if extent % LANES > 1 => vector(start, extent % LANES),
        _ => each(name, dims::sub(extent, &start), |n| f(&(&start + n))),
    };
    in_order([vectors, rest])
}

/// A statement under a condition.
pub fn when(condition: PrimExpr, then: Stmt) -> Stmt {
    Stmt::new(StmtKind::If(condition, Box::new(then), None))
}

/// One of two statements.
pub fn when_else(condition: PrimExpr, then: Stmt, otherwise: Stmt) -> Stmt {
    Stmt::new(StmtKind::If(condition, Box::new(then), Some(Box::new(otherwise))))
}

/// A statement for each lane of a vector.
pub fn in_lanes(f: impl FnOnce(&PrimExpr) -> Stmt) -> Stmt {
    let lane = Var::int64("lane");
    let body = f(&lane.expr());
    Stmt::for_kind(lane, LANES.into(), ForKind::Vectorized, body)
}

/// A statement under a condition, or under a condition that holds in any lane.
pub fn when_any(always: PrimExpr, holds: impl FnOnce(&PrimExpr) -> PrimExpr, then: Stmt) -> Stmt {
    let lanes = Buffer::scoped("enters", vec![LANES.into()], DType::INT32, "local");
    let any = Cell::new("any", DType::INT32);
    let one = |lane: PrimExpr| PrimExpr::load(&lanes, vec![lane]);
    let fold = |half: i64| {
        let lane = Var::int64("lane");
        let either = one(lane.expr()).max(one(lane.expr() + PrimExpr::int64(half)));
        let store = Stmt::store(&lanes, vec![lane.expr()], either);
        Stmt::for_kind(lane, half.into(), ForKind::Vectorized, store)
    };
    let compare = in_lanes(|lane| {
        Stmt::store(&lanes, vec![lane.clone()], holds(lane).select(PrimExpr::int32(1), PrimExpr::int32(0)))
    });
    let halves = std::iter::successors(Some(LANES / 2), |half| (*half > 1).then_some(half / 2));
    let alloc = Stmt::new(StmtKind::Alloc(lanes.clone(), Default::default()));
    let looked = in_order([alloc, compare].into_iter().chain(halves.map(fold)).chain([any.set(one(0i64.into()))]));
    let test = when(always.not(), looked);
    in_order(any.declare(PrimExpr::int32(1)).into_iter().chain([test, when(any.get().gt(0i32), then)]))
}

/// A mutable scalar in a block.
pub struct Cell(Buffer);

impl Cell {
    /// A scalar of that dtype.
    pub fn new(name: &str, dtype: DType) -> Self {
        Cell(Buffer::scoped(name, vec![1i64.into()], dtype, "local"))
    }

    /// Statements that allocate and initialize it.
    pub fn declare(&self, value: PrimExpr) -> [Stmt; 2] {
        [Stmt::new(StmtKind::Alloc(self.0.clone(), Default::default())), self.set(value)]
    }

    /// Its value.
    pub fn get(&self) -> PrimExpr {
        PrimExpr::load(&self.0, vec![0i64.into()])
    }

    /// Assigns a value.
    pub fn set(&self, value: PrimExpr) -> Stmt {
        Stmt::store(&self.0, vec![0i64.into()], value)
    }

    /// Adds a value.
    pub fn add(&self, value: impl Into<PrimExpr>) -> Stmt {
        self.set(self.get() + value.into())
    }
}
