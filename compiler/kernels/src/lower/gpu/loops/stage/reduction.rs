//! Reductions: accumulators in registers, their updates, and their combination.

use super::{
    arg_reduce::ArgAccumulators,
    copies,
    cross_thread::{Reduced, WarpResults, merge_by},
    nest::Cursor,
    sum,
    thread::{ThreadCode, indices},
};
use crate::{
    lower::{gpu::loops::guarded, reductions::identity},
    schedule::{Loop, LoopKind, StagePlan},
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, binary},
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    access::{combiner, contraction_operands},
    index::same_expr,
    replace_loads, substitution,
};

/// Accumulators of a thread, one for each of its results.
struct Accumulators {
    values: Buffer,
    /// Those of the index result of an arg-reduction.
    arg: Option<ArgAccumulators>,
}

impl ThreadCode<'_> {
    /// Returns the code of a reduction.
    pub fn reduction(&self, from: &Cursor) -> Stmt {
        let stage = self.stage;
        let slots = PrimExpr::int64(self.slots());
        let values =
            Buffer::scoped(format!("{}_sum", stage.buffer.name), vec![slots.clone()], stage.buffer.dtype, "local");
        let arg = stage.arg_result.as_ref().and_then(|result| ArgAccumulators::new(stage, result, slots));
        let sums = Accumulators { values, arg };
        let is_result = |l: &Loop| !l.is_bound() && !stage.axes[l.axis].reduce;
        let is_slot = |l: &Loop| self.has_slots(l);
        let no_copies = ThreadCode { copied: vec![true; self.plan.staged.len()], ..self.clone() };
        let neutral = self.neutral();
        let start = no_copies.nest(from, &is_slot, &|code, cursor| code.start_at(&sums, cursor, neutral.as_ref()));
        let update = match self.plan.mma_axes() {
            Some(axes) => self.mma_updates(&sums.values, axes, from),
            None => self.nest(from, &|l| !l.is_bound(), &|code, cursor| code.update(&sums, cursor)),
        };
        let combine = no_copies.combine(from, &sums);
        let finisher = ThreadCode { has_column_pairs: self.stores_column_pairs(), ..no_copies.clone() };
        let finish = finisher.nest(from, &is_result, &|code, cursor| {
            let at = cursor.at.all();
            let add = neutral.as_ref().map_or_else(Stmt::nop, |_| code.add_initial(&sums, cursor));
            let stored = Stmt::seq([add, code.finish(&sums, &cursor.slot, &at)]);
            code.when_inside(&at, &|axis| !stage.axes[axis].reduce, stored)
        });
        let finish = self.on_first_reducer(finish);
        let allocations = [&sums.values].into_iter().chain(sums.arg.as_ref().map(|arg| &arg.slots));
        let allocations = allocations.map(|buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default())));
        Stmt::new(StmtKind::Seq(allocations.chain([start, update, combine, finish]).collect()))
    }

    /// Returns the value from which accumulators start if a result has several: the identity, so that the initial value
    /// counts once. Minima and maxima may count it several times.
    fn neutral(&self) -> Option<PrimExpr> {
        let reducers = self.threads.as_ref().map_or(1, |threads| threads.reducers);
        let (op, _) = combiner(self.stage)?;
        let identity = identity(op, self.stage.buffer.dtype)?;
        (self.partials() > 1 || reducers > 1).then_some(identity)
    }

    fn start_at(&self, sums: &Accumulators, cursor: &Cursor, neutral: Option<&PrimExpr>) -> Stmt {
        let at = cursor.at.all();
        let store = |value: PrimExpr| Stmt::store(&sums.values, vec![cursor.slot.clone()], value);
        let arg = sums.arg.as_ref().map(|arg| arg.start(&cursor.slot));
        let value = match neutral {
            Some(neutral) => store(neutral.clone()),
            None => {
                let initial = self.initial(&at);
                let reads = initial.has_loads();
                match self.inside(&at, &|axis| !self.stage.axes[axis].reduce).filter(|_| reads) {
                    Some(inside) => {
                        let none = store(PrimExpr::constant(0.0, sums.values.dtype));
                        Stmt::new(StmtKind::If(inside, Box::new(store(initial)), Some(Box::new(none))))
                    }
                    None => store(initial),
                }
            }
        };
        Stmt::seq(arg.into_iter().chain([value]))
    }

    /// Returns the initial value of a result.
    fn initial(&self, at: &[PrimExpr]) -> PrimExpr {
        match &self.stage.init {
            Some(init) => init.substitute(&substitution(&self.stage.axes, at)),
            None => PrimExpr::load(&self.stage.buffer, indices(&self.stage.indices, self.stage, at)),
        }
    }

    /// Adds the initial value to a result whose accumulators started from the identity, unless it is that.
    fn add_initial(&self, sums: &Accumulators, cursor: &Cursor) -> Stmt {
        let (Some(neutral), Some((op, _))) = (self.neutral(), combiner(self.stage)) else { return Stmt::nop() };
        let initial = self.initial(&cursor.at.all());
        if same_expr(&neutral, &initial) {
            return Stmt::nop();
        }
        let sum = PrimExpr::load(&sums.values, vec![cursor.slot.clone()]);
        Stmt::store(&sums.values, vec![cursor.slot.clone()], binary(op, initial, sum))
    }

    /// Adds one summand to an accumulator.
    fn update(&self, sums: &Accumulators, cursor: &Cursor) -> Stmt {
        let at = cursor.at.all();
        let values = substitution(&self.stage.axes, &at);
        let update = match &sums.arg {
            Some(arg) => arg.update(self.stage, &sums.values, &cursor.slot, &at),
            None => {
                let sum = PrimExpr::load(&sums.values, vec![cursor.slot.clone()]);
                let value = self.fma(&sum).unwrap_or_else(|| replace_loads(&self.value, &self.stage.buffer, &sum));
                Stmt::store(&sums.values, vec![cursor.slot.clone()], value.substitute(&values))
            }
        };
        self.when_inside(&at, &|axis| self.is_read_along(axis), update)
    }

    /// Returns true if an update must not run outside of an axis: it reads memory there, or adds a summand.
    fn is_read_along(&self, axis: usize) -> bool {
        let var = &self.stage.axes[axis].var;
        let is_copy = |buffer: &Buffer| *buffer.scope == *"shared" || *buffer == self.stage.buffer;
        let reads = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(buffer, indices, _) if !is_copy(buffer) && indices.iter().any(|i| i.uses(var)));
        let adds = self.stage.axes[axis].reduce && !copies::have_zeros_outside(self);
        adds || self.value.any(&mut |e| reads(e))
    }

    /// Returns the update as a fused multiply-add, which rounds once instead of twice.
    fn fma(&self, sum: &PrimExpr) -> Option<PrimExpr> {
        let dtype = sum.dtype();
        let shape = Stage { value: self.value.clone(), ..self.stage.clone() };
        let (a, b) = contraction_operands(&shape).filter(|_| matches!(dtype.bits, 32 | 64) && dtype.is_float())?;
        Some(PrimExpr::intrin("fma", vec![a.clone(), b.clone(), sum.clone()], dtype))
    }

    /// Combines the accumulators of all results: those of the thread, then those of all threads that reduce them. The
    /// first of these threads has the results.
    fn combine(&self, from: &Cursor, sums: &Accumulators) -> Stmt {
        let Some((op, _)) = combiner(self.stage) else { return Stmt::nop() };
        // Shuffles are of single accumulators.
        let unrolled = |l: &Loop| match l.kind {
            LoopKind::Vector if !self.stage.axes[l.axis].reduce => Loop { kind: LoopKind::Unrolled, ..l.clone() },
            _ => l.clone(),
        };
        let plan = StagePlan { loops: self.plan.loops.iter().map(unrolled).collect(), ..self.plan.clone() };
        let is_result = |l: &Loop| !l.is_bound() && !self.stage.axes[l.axis].reduce;
        let code = ThreadCode { plan: &plan, ..self.clone() };
        let each = |f: &dyn Fn(&PrimExpr) -> Stmt| code.nest(from, &is_result, &|_, cursor| f(&cursor.slot));
        let merge = |slot: &PrimExpr, others: &[PrimExpr]| match &sums.arg {
            Some(arg) => arg.merge(&sums.values, slot, others),
            None => merge_by(op, &sums.values, slot, &others[0]),
        };
        let buffers: Vec<&Buffer> = [&sums.values].into_iter().chain(sums.arg.as_ref().map(|arg| &arg.slots)).collect();
        let reduced = Reduced { buffers: &buffers, merge: &merge };
        let threads = self.threads.as_ref().filter(|threads| threads.reducers > 1);
        let lanes = |slot: &PrimExpr| threads.map(|threads| reduced.combine_lanes(slot, threads));
        let own = each(&|slot| Stmt::seq([self.combine_own(op, sums, slot)].into_iter().chain(lanes(slot))));
        let slots = if self.slots() == self.partials() { 1 } else { self.slots() };
        let warps = threads.and_then(|threads| WarpResults::new(&reduced, slots, threads));
        let others = warps.map(|warps| {
            let stores = each(&|slot| warps.store(slot));
            Stmt::seq([warps.exchange(stores), self.on_first_reducer(each(&|slot| warps.load(slot)))])
        });
        Stmt::seq([own].into_iter().chain(others))
    }

    /// Combines the accumulators of a result of the thread.
    fn combine_own(&self, op: BinaryOp, sums: &Accumulators, slot: &PrimExpr) -> Stmt {
        let lane = |lane: i64| PrimExpr::load(&sums.values, vec![sum(slot, &PrimExpr::int64(lane))]);
        Stmt::seq((1..self.partials()).map(|other| merge_by(op, &sums.values, slot, &lane(other))))
    }

    /// Stores a result, after the epilogue.
    fn finish(&self, sums: &Accumulators, slot: &PrimExpr, at: &[PrimExpr]) -> Stmt {
        let stage = self.stage;
        let sum = PrimExpr::load(&sums.values, vec![slot.clone()]);
        if let Some((arg, result)) = sums.arg.as_ref().zip(stage.arg_result.as_ref()) {
            let number = arg.result(slot, result.buffer.dtype);
            let number = Stmt::store(&result.buffer, indices(&stage.indices, stage, at), number);
            let value = || Stmt::store(&stage.buffer, indices(&stage.indices, stage, at), sum);
            return Stmt::seq([number].into_iter().chain(result.stores_value.then(value)));
        }
        let Some(epilogue) = &stage.epilogue else {
            return Stmt::store(&stage.buffer, indices(&stage.indices, stage, at), sum);
        };
        let values = substitution(&stage.axes, at);
        let value = replace_loads(&epilogue.value.substitute(&values), &stage.buffer, &sum);
        Stmt::store(&epilogue.buffer, indices(&epilogue.indices, stage, at), value)
    }

    /// Returns a statement that runs on the first of the threads that reduce a result.
    fn on_first_reducer(&self, stmt: Stmt) -> Stmt {
        match self.threads.as_ref().filter(|threads| threads.reducers > 1) {
            None => stmt,
            Some(threads) => {
                let index = match threads.stride {
                    1 => threads.index.clone(),
                    stride => threads.index.clone().floordiv(PrimExpr::int64(stride)),
                };
                let lane = index.floormod(PrimExpr::int64(threads.reducers));
                guarded(lane.eq(PrimExpr::int64(0)), stmt)
            }
        }
    }
}
