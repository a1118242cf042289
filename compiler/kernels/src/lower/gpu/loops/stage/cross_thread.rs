//! Reductions across the threads of a block: by shuffles within a warp, and through shared memory between warps, or if
//! the threads of a result are too far apart.
//!
//! The order in which threads are combined depends on their number alone.

use super::{BlockThreads, scaled, sum};
use crate::lower::gpu::loops::{barrier, guarded};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, Var, binary, intrinsics::WARP_THREADS},
    tir::{Buffer, Stmt, StmtKind},
};

/// Mask of all threads of a warp.
const FULL_WARP: i64 = 0xffff_ffff;

/// Combines an accumulator across the threads of a warp that reduce together.
pub fn combine_lanes(op: BinaryOp, sums: &Buffer, slot: &PrimExpr, threads: &BlockThreads) -> Stmt {
    let merge = |slot: &PrimExpr, others: &[PrimExpr]| merge_by(op, sums, slot, &others[0]);
    Reduced { buffers: &[sums], merge: &merge }.combine_lanes(slot, threads)
}

/// Combines an accumulator across the threads that reduce together. All of them get the result.
pub fn combine(op: BinaryOp, sums: &Buffer, slot: &PrimExpr, threads: &BlockThreads) -> Stmt {
    let merge = |slot: &PrimExpr, others: &[PrimExpr]| merge_by(op, sums, slot, &others[0]);
    let reduced = Reduced { buffers: &[sums], merge: &merge };
    let lanes = reduced.combine_lanes(slot, threads);
    let Some(warps) = WarpResults::new(&reduced, 1, threads) else { return lanes };
    Stmt::seq([lanes, warps.exchange(warps.store(slot)), warps.load(slot)])
}

/// Merges a value into an accumulator.
pub fn merge_by(op: BinaryOp, sums: &Buffer, slot: &PrimExpr, other: &PrimExpr) -> Stmt {
    let own = PrimExpr::load(sums, vec![slot.clone()]);
    Stmt::store(sums, vec![slot.clone()], binary(op, own, other.clone()))
}

/// Accumulators of a thread, with a slot for each of its results. A result has a value in each buffer.
pub struct Reduced<'a> {
    pub buffers: &'a [&'a Buffer],
    /// Returns the statement that merges the values of another thread, one for each buffer, into those of a slot.
    pub merge: &'a dyn Fn(&PrimExpr, &[PrimExpr]) -> Stmt,
}

impl Reduced<'_> {
    /// Combines the values of a slot: those of a warp, or of all threads that reduce together if they are too far apart.
    pub fn combine_lanes(&self, slot: &PrimExpr, threads: &BlockThreads) -> Stmt {
        if threads.are_far_apart() {
            return self.combine_rows(slot, threads);
        }
        let mut stmts = Vec::new();
        let mut distance = threads.group().min(WARP_THREADS) / 2;
        while distance >= threads.stride {
            stmts.push(self.merge_shuffled(slot, distance));
            distance /= 2;
        }
        Stmt::seq(stmts)
    }

    /// Merges the values of the thread at a distance in the warp.
    fn merge_shuffled(&self, slot: &PrimExpr, distance: i64) -> Stmt {
        let vars: Vec<Var> = self.buffers.iter().map(|buffer| Var::data("other", buffer.dtype)).collect();
        let bind = |(var, own): (&Var, PrimExpr)| Stmt::new(StmtKind::Bind(var.clone(), shuffled(own, distance)));
        let binds = vars.iter().zip(self.own(slot)).map(bind);
        let others: Vec<PrimExpr> = vars.iter().map(Var::expr).collect();
        Stmt::seq(binds.chain([(self.merge)(slot, &others)]))
    }

    /// Combines the values of threads in rows of as many as there are results: in shared memory, half of the rows with the
    /// other half, until one is left.
    fn combine_rows(&self, slot: &PrimExpr, threads: &BlockThreads) -> Stmt {
        let BlockThreads { index, count, reducers, stride } = threads;
        let all = self.shared("threads", *count);
        let mut stmts: Vec<Stmt> =
            allocations(&all).chain([barrier(), self.store(&all, slot, index), barrier()]).collect();
        let mut rows = *reducers;
        while rows > 1 {
            let half = (rows + 1) / 2;
            let merge = self.merge_from(&all, slot, &sum(index, &PrimExpr::int64(half * stride)));
            let has_other = index.clone().lt(PrimExpr::int64((rows - half) * stride));
            stmts.push(guarded(has_other, Stmt::seq([merge, self.store(&all, slot, index)])));
            stmts.push(barrier());
            rows = half;
        }
        stmts.push(self.load(&all, slot, &index.clone().floormod(PrimExpr::int64(*stride))));
        Stmt::seq(stmts)
    }

    /// Returns the values of this thread.
    fn own(&self, slot: &PrimExpr) -> impl Iterator<Item = PrimExpr> {
        self.buffers.iter().map(|buffer| PrimExpr::load(buffer, vec![slot.clone()]))
    }

    /// Returns buffers in shared memory with an element for each of `count`.
    fn shared(&self, suffix: &str, count: i64) -> Vec<Buffer> {
        let of = |buffer: &&Buffer| {
            Buffer::scoped(format!("{}_{suffix}", buffer.name), vec![PrimExpr::int64(count)], buffer.dtype, "shared")
        };
        self.buffers.iter().map(of).collect()
    }

    /// Stores the values of this thread to shared memory.
    fn store(&self, to: &[Buffer], slot: &PrimExpr, at: &PrimExpr) -> Stmt {
        Stmt::seq(to.iter().zip(self.own(slot)).map(|(buffer, own)| Stmt::store(buffer, vec![at.clone()], own)))
    }

    /// Replaces the values of this thread by those in shared memory.
    fn load(&self, from: &[Buffer], slot: &PrimExpr, at: &PrimExpr) -> Stmt {
        let own = |(to, from): (&&Buffer, &Buffer)| {
            Stmt::store(to, vec![slot.clone()], PrimExpr::load(from, vec![at.clone()]))
        };
        Stmt::seq(self.buffers.iter().zip(from).map(own))
    }

    /// Merges the values in shared memory.
    fn merge_from(&self, from: &[Buffer], slot: &PrimExpr, at: &PrimExpr) -> Stmt {
        let others: Vec<PrimExpr> = from.iter().map(|buffer| PrimExpr::load(buffer, vec![at.clone()])).collect();
        (self.merge)(slot, &others)
    }
}

/// Results of warps in shared memory, where the threads of several warps reduce together: each warp stores its own, and a
/// thread combines those of its group.
pub struct WarpResults<'a> {
    reduced: &'a Reduced<'a>,
    threads: &'a BlockThreads,
    /// For each accumulator, warp, and thread of a warp with another result.
    buffers: Vec<Buffer>,
}

impl<'a> WarpResults<'a> {
    /// Returns those of some accumulators; `None` if the lanes have been combined to results already.
    pub fn new(reduced: &'a Reduced, slots: i64, threads: &'a BlockThreads) -> Option<Self> {
        let has_more = threads.group() > WARP_THREADS && !threads.are_far_apart();
        let buffers = reduced.shared("warps", slots * (threads.count / WARP_THREADS) * threads.stride);
        has_more.then_some(WarpResults { reduced, threads, buffers })
    }

    /// Returns the allocations, and the stores of all accumulators between barriers.
    pub fn exchange(&self, stores: Stmt) -> Stmt {
        Stmt::new(StmtKind::Seq(allocations(&self.buffers).chain([barrier(), stores, barrier()]).collect()))
    }

    /// Stores an accumulator of the warp.
    pub fn store(&self, slot: &PrimExpr) -> Stmt {
        let (warp, lane) = self.warp();
        let store = self.reduced.store(&self.buffers, slot, &self.at(slot, &warp));
        guarded(lane.lt(PrimExpr::int64(self.threads.stride)), store)
    }

    /// Loads and combines the results of the warps of a group.
    pub fn load(&self, slot: &PrimExpr) -> Stmt {
        let (all, own) = (self.threads.count / WARP_THREADS, self.threads.group() / WARP_THREADS);
        let first = match all == own {
            true => PrimExpr::int64(0),
            false => self.warp().0.floordiv(PrimExpr::int64(own)) * PrimExpr::int64(own),
        };
        let at = |number: i64| self.at(slot, &sum(&first, &PrimExpr::int64(number)));
        let others = (1..own).map(|number| self.reduced.merge_from(&self.buffers, slot, &at(number)));
        Stmt::seq([self.reduced.load(&self.buffers, slot, &at(0))].into_iter().chain(others))
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
