//! Reductions across the threads of a block: by shuffles within a warp, and through shared memory between warps.
//!
//! Every thread of a group gets the result. The order in which threads are combined depends on their number alone.

use super::{BlockThreads, scaled, sum};
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
    let lanes = combine_lanes(op, sums, slot, threads);
    let Some(warps) = WarpResults::new(op, sums, 1, threads) else { return lanes };
    Stmt::seq([lanes, warps.exchange(warps.store(slot)), warps.load(slot)])
}

/// Combines an accumulator across the threads of a warp that reduce together.
pub fn combine_lanes(op: BinaryOp, sums: &Buffer, slot: &PrimExpr, threads: &BlockThreads) -> Stmt {
    let load = || PrimExpr::load(sums, vec![slot.clone()]);
    let mut stmts = Vec::new();
    let mut distance = threads.group().min(WARP_THREADS) / 2;
    while distance >= threads.stride {
        let other = Var::data("other", sums.dtype);
        stmts.push(Stmt::new(StmtKind::Bind(other.clone(), shuffled(load(), distance))));
        stmts.push(Stmt::store(sums, vec![slot.clone()], binary(op, load(), other.expr())));
        distance /= 2;
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

/// Results of warps in shared memory, where the threads of several warps reduce together: each warp stores its own, and a
/// thread combines those of its group.
pub struct WarpResults<'a> {
    op: BinaryOp,
    sums: &'a Buffer,
    threads: &'a BlockThreads,
    /// For each accumulator, warp, and thread of a warp with another result.
    buffer: Buffer,
}

impl<'a> WarpResults<'a> {
    /// Returns those of some accumulators; `None` if a warp has all threads that reduce together.
    pub fn new(op: BinaryOp, sums: &'a Buffer, slots: i64, threads: &'a BlockThreads) -> Option<Self> {
        let size = PrimExpr::int64(slots * (threads.count / WARP_THREADS) * threads.stride);
        let buffer = Buffer::scoped(format!("{}_warps", sums.name), vec![size], sums.dtype, "shared");
        (threads.group() > WARP_THREADS).then_some(WarpResults { op, sums, threads, buffer })
    }

    /// Returns the allocation, and the stores of all accumulators between barriers.
    pub fn exchange(&self, stores: Stmt) -> Stmt {
        let allocation = Stmt::new(StmtKind::Alloc(self.buffer.clone(), Default::default()));
        Stmt::new(StmtKind::Seq(vec![allocation, barrier(), stores, barrier()]))
    }

    /// Stores an accumulator of the warp.
    pub fn store(&self, slot: &PrimExpr) -> Stmt {
        let (warp, lane) = self.warp();
        let own = PrimExpr::load(self.sums, vec![slot.clone()]);
        let store = Stmt::store(&self.buffer, vec![self.at(slot, &warp)], own);
        guarded(lane.lt(PrimExpr::int64(self.threads.stride)), store)
    }

    /// Loads and combines the results of the warps of a group.
    pub fn load(&self, slot: &PrimExpr) -> Stmt {
        let (all, own) = (self.threads.count / WARP_THREADS, self.threads.group() / WARP_THREADS);
        let first = match all == own {
            true => PrimExpr::int64(0),
            false => self.warp().0.floordiv(PrimExpr::int64(own)) * PrimExpr::int64(own),
        };
        let at =
            |number: i64| PrimExpr::load(&self.buffer, vec![self.at(slot, &sum(&first, &PrimExpr::int64(number)))]);
        let whole = (1..own).fold(at(0), |whole, number| binary(self.op, whole, at(number)));
        Stmt::store(self.sums, vec![slot.clone()], whole)
    }

    /// Returns the index of the thread's warp, and its index in there.
    fn warp(&self) -> (PrimExpr, PrimExpr) {
        let (index, warps) = (&self.threads.index, PrimExpr::int64(WARP_THREADS));
        (index.clone().floordiv(warps.clone()), index.clone().floormod(warps))
    }

    /// Returns the index of the result of a warp.
    fn at(&self, slot: &PrimExpr, warp: &PrimExpr) -> PrimExpr {
        let at = sum(&scaled(slot.clone(), self.threads.count / WARP_THREADS), warp);
        match self.threads.stride {
            1 => at,
            stride => scaled(at, stride) + self.threads.index.clone().floormod(PrimExpr::int64(stride)),
        }
    }
}
