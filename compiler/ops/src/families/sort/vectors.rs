//! Vectorized statements.

use crate::legalize::loops::{Cell, in_order, when};
use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{Buffer, ForKind, Stmt, StmtKind},
};

/// Number of elements that are compared at once.
pub const LANES: i64 = 16;

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
