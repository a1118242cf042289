//! Reductions across the threads of a block: by shuffles within a warp, and through shared memory between warps, or if
//! the threads of a result are at a distance.
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

/// A value of each thread that is reduced: accumulators at a slot, one for each result.
pub struct Reduced<'a> {
    pub buffers: &'a [&'a Buffer],
    pub slot: &'a PrimExpr,
    /// Returns the statement that merges the values of another thread, one for each buffer.
    pub merge: &'a dyn Fn(&[PrimExpr]) -> Stmt,
}

/// Combines an accumulator across the threads that reduce together.
pub fn combine(op: BinaryOp, sums: &Buffer, slot: &PrimExpr, threads: &BlockThreads) -> Stmt {
    let own = || PrimExpr::load(sums, vec![slot.clone()]);
    let merge = |others: &[PrimExpr]| Stmt::store(sums, vec![slot.clone()], binary(op, own(), others[0].clone()));
    Reduced { buffers: &[sums], slot, merge: &merge }.combine(threads)
}

impl Reduced<'_> {
    /// Combines the values of the threads that reduce together.
    pub fn combine(&self, threads: &BlockThreads) -> Stmt {
        if threads.stride > 1 {
            return self.combine_strided(threads);
        }
        let mut stmts = Vec::new();
        let mut distance = threads.reducers.min(WARP_THREADS) / 2;
        while distance > 0 {
            stmts.push(self.merge_all(|value| shuffled(value, distance), "other"));
            distance /= 2;
        }
        if threads.reducers > WARP_THREADS {
            stmts.extend(self.combine_warps(threads));
        }
        Stmt::seq(stmts)
    }

    /// Merges values that are read, in variables of this name, from those of this thread.
    fn merge_all(&self, read: impl Fn(PrimExpr) -> PrimExpr, name: &str) -> Stmt {
        let vars: Vec<Var> = self.buffers.iter().map(|buffer| Var::data(name, buffer.dtype)).collect();
        let bind = |(var, own): (&Var, PrimExpr)| Stmt::new(StmtKind::Bind(var.clone(), read(own)));
        let binds = vars.iter().zip(self.own()).map(bind);
        let others: Vec<PrimExpr> = vars.iter().map(Var::expr).collect();
        Stmt::seq(binds.chain([(self.merge)(&others)]))
    }

    /// Returns the values of this thread.
    fn own(&self) -> impl Iterator<Item = PrimExpr> {
        self.buffers.iter().map(|buffer| PrimExpr::load(buffer, vec![self.slot.clone()]))
    }

    /// Returns buffers in shared memory with an element for each of `count`.
    fn shared(&self, suffix: &str, count: i64) -> Vec<Buffer> {
        let of = |buffer: &&Buffer| {
            Buffer::scoped(format!("{}_{suffix}", buffer.name), vec![PrimExpr::int64(count)], buffer.dtype, "shared")
        };
        self.buffers.iter().map(of).collect()
    }

    /// Stores the values of this thread to shared memory.
    fn store(&self, to: &[Buffer], at: &PrimExpr) -> Stmt {
        Stmt::seq(to.iter().zip(self.own()).map(|(buffer, own)| Stmt::store(buffer, vec![at.clone()], own)))
    }

    /// Replaces the values of this thread by those in shared memory.
    fn load(&self, from: &[Buffer], at: &PrimExpr) -> Stmt {
        let own = |(to, from): (&&Buffer, &Buffer)| {
            Stmt::store(to, vec![self.slot.clone()], PrimExpr::load(from, vec![at.clone()]))
        };
        Stmt::seq(self.buffers.iter().zip(from).map(own))
    }

    /// Merges the values in shared memory.
    fn merge_from(&self, from: &[Buffer], at: &PrimExpr) -> Stmt {
        let others: Vec<PrimExpr> = from.iter().map(|buffer| PrimExpr::load(buffer, vec![at.clone()])).collect();
        (self.merge)(&others)
    }

    /// Combines the results of warps: each stores its own to shared memory, and every thread merges those of its group.
    fn combine_warps(&self, threads: &BlockThreads) -> Vec<Stmt> {
        let (all, own) = (threads.count / WARP_THREADS, threads.reducers / WARP_THREADS);
        let partial = self.shared("warps", all);
        let warps = PrimExpr::int64(WARP_THREADS);
        let (warp, lane) = (threads.index.clone().floordiv(warps.clone()), threads.index.clone().floormod(warps));
        let first = match all == own {
            true => PrimExpr::int64(0),
            false => warp.clone().floordiv(PrimExpr::int64(own)) * PrimExpr::int64(own),
        };
        let at = |number: i64| sum(&first, &PrimExpr::int64(number));
        let store = guarded(lane.eq(PrimExpr::int64(0)), self.store(&partial, &warp));
        let allocations = allocations(&partial);
        let others = (1..own).map(|number| self.merge_from(&partial, &at(number)));
        allocations.chain([barrier(), store, barrier(), self.load(&partial, &at(0))]).chain(others).collect()
    }

    /// Combines the values of threads at a distance, which reduce columns: in shared memory, half of the rows with the
    /// other half, until one is left.
    fn combine_strided(&self, threads: &BlockThreads) -> Stmt {
        let BlockThreads { index, count, reducers, stride } = threads;
        let all = self.shared("threads", *count);
        let mut stmts: Vec<Stmt> = allocations(&all).chain([barrier(), self.store(&all, index), barrier()]).collect();
        let mut rows = *reducers;
        while rows > 1 {
            let half = (rows + 1) / 2;
            let merge = self.merge_from(&all, &sum(index, &PrimExpr::int64(half * stride)));
            let has_other = index.clone().lt(PrimExpr::int64((rows - half) * stride));
            stmts.push(guarded(has_other, Stmt::seq([merge, self.store(&all, index)])));
            stmts.push(barrier());
            rows = half;
        }
        stmts.push(self.load(&all, &index.clone().floormod(PrimExpr::int64(*stride))));
        Stmt::seq(stmts)
    }
}

fn allocations(buffers: &[Buffer]) -> impl Iterator<Item = Stmt> {
    buffers.iter().map(|buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default())))
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
