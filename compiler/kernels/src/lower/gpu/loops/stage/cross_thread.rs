//! Reductions across the threads of a block: by shuffles within a warp, and through shared memory between warps.
//!
//! Every thread of a group gets the result. The order in which threads are combined depends on their number alone.

use super::{BlockThreads, sum};
use crate::lower::gpu::loops::{barrier, guarded};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, Var, binary, intrinsics::WARP_THREADS},
    tir::{Buffer, Stmt, StmtKind},
};

/// Mask of all threads of a warp.
const FULL_WARP: i64 = 0xffff_ffff;

/// Combines an accumulator across the threads that reduce together.
pub fn combine(op: BinaryOp, sums: &Buffer, slot: &PrimExpr, threads: &BlockThreads) -> Stmt {
    let load = || PrimExpr::load(sums, vec![slot.clone()]);
    let width = threads.reducers.min(WARP_THREADS);
    let mut stmts = Vec::new();
    let mut distance = width / 2;
    while distance > 0 {
        let other = Var::data("other", sums.dtype);
        stmts.push(Stmt::new(StmtKind::Bind(other.clone(), shuffled(load(), distance))));
        stmts.push(Stmt::store(sums, vec![slot.clone()], binary(op, load(), other.expr())));
        distance /= 2;
    }
    if threads.reducers > WARP_THREADS {
        stmts.extend(combine_warps(op, sums, slot, threads));
    }
    Stmt::seq(stmts)
}

/// Returns the value of the thread at a distance in the warp.
fn shuffled(value: PrimExpr, distance: i64) -> PrimExpr {
    let dtype = value.dtype();
    let is_short = !dtype.is_floating() && dtype.bits < 32;
    let wide = if is_short { value.cast(DType::INT32) } else { value };
    let ty = wide.dtype();
    let (mask, warp) = (PrimExpr::int(FULL_WARP, DType::UINT32), PrimExpr::int32(WARP_THREADS as i32));
    let args = vec![mask, wide, PrimExpr::int32(distance as i32), warp.clone(), warp];
    PrimExpr::intrin("tvm_warp_shuffle_xor", args, ty).cast(dtype)
}

/// Combines the results of warps: each stores its own to shared memory, and every thread adds up those of its group.
fn combine_warps(op: BinaryOp, sums: &Buffer, slot: &PrimExpr, threads: &BlockThreads) -> Vec<Stmt> {
    let (all, own) = (threads.count / WARP_THREADS, threads.reducers / WARP_THREADS);
    let name = format!("{}_warps", sums.name);
    let partial = Buffer::scoped(name, vec![PrimExpr::int64(all)], sums.dtype, "shared");
    let warps = PrimExpr::int64(WARP_THREADS);
    let (warp, lane) = (threads.index.clone().floordiv(warps.clone()), threads.index.clone().floormod(warps));
    let own_value = PrimExpr::load(sums, vec![slot.clone()]);
    let store = guarded(lane.eq(PrimExpr::int64(0)), Stmt::store(&partial, vec![warp.clone()], own_value));
    let first = match all == own {
        true => PrimExpr::int64(0),
        false => warp.floordiv(PrimExpr::int64(own)) * PrimExpr::int64(own),
    };
    let at = |number: i64| PrimExpr::load(&partial, vec![sum(&first, &PrimExpr::int64(number))]);
    let whole = (1..own).fold(at(0), |whole, number| binary(op, whole, at(number)));
    vec![
        Stmt::new(StmtKind::Alloc(partial.clone(), Default::default())),
        barrier(),
        store,
        barrier(),
        Stmt::store(sums, vec![slot.clone()], whole),
    ]
}
