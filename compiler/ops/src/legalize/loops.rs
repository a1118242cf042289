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

/// Vector length of [`each_in_vectors`].
const LANES: i64 = 16;

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
