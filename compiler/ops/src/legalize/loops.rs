//! Words for statements of one's own: loops, choices, and scalars that change.

use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{Buffer, Stmt, StmtKind},
};

/// Statements in order.
pub fn in_order(stmts: impl IntoIterator<Item = Stmt>) -> Stmt {
    Stmt::new(StmtKind::Seq(stmts.into_iter().collect()))
}

/// A statement for each value below `extent`.
pub fn each(name: &str, extent: impl Into<PrimExpr>, f: impl FnOnce(&PrimExpr) -> Stmt) -> Stmt {
    let var = Var::int64(name);
    let body = f(&var.expr());
    Stmt::serial(var, extent.into(), body)
}

/// A statement where a condition holds.
pub fn when(condition: PrimExpr, then: Stmt) -> Stmt {
    Stmt::new(StmtKind::If(condition, Box::new(then), None))
}

/// One of two statements.
pub fn when_else(condition: PrimExpr, then: Stmt, otherwise: Stmt) -> Stmt {
    Stmt::new(StmtKind::If(condition, Box::new(then), Some(Box::new(otherwise))))
}

/// A scalar that changes while a block runs.
pub struct Cell(Buffer);

impl Cell {
    /// A scalar of that dtype.
    pub fn new(name: &str, dtype: DType) -> Self {
        Cell(Buffer::scoped(name, vec![1i64.into()], dtype, "local"))
    }

    /// What makes it, and sets it for the first time.
    pub fn declare(&self, value: PrimExpr) -> [Stmt; 2] {
        [Stmt::new(StmtKind::Alloc(self.0.clone(), Default::default())), self.set(value)]
    }

    /// Its value.
    pub fn get(&self) -> PrimExpr {
        PrimExpr::load(&self.0, vec![0i64.into()])
    }

    /// What changes it.
    pub fn set(&self, value: PrimExpr) -> Stmt {
        Stmt::store(&self.0, vec![0i64.into()], value)
    }

    /// What adds to it.
    pub fn add(&self, value: impl Into<PrimExpr>) -> Stmt {
        self.set(self.get() + value.into())
    }
}
