//! Code of one thread: its loops around stores, or around the update of accumulators in registers.

use super::{BlockThreads, Position, arg_reduce::ArgAccumulators, copies, cross_thread, scaled, sum};
use crate::{
    lower::{gpu::loops::guarded, reductions::identity},
    schedule::{Loop, LoopKind, StagePlan},
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var, binary},
    tir::{Buffer, ForKind, Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    access::{combiner, contraction_operands},
    replace_loads, steps, substitution,
};

/// Code of one thread under construction.
#[derive(Clone)]
pub struct ThreadCode<'a> {
    pub stage: &'a Stage,
    pub plan: &'a StagePlan,
    /// Stored or accumulated value, with copied operands loaded from their copies.
    pub value: PrimExpr,
    /// Position before the thread's own loops.
    start: Position,
    /// The threads of the block, if the plan is for blocks.
    pub threads: Option<BlockThreads>,
    /// True for axes of which positions may lie outside.
    pub open: Vec<bool>,
    /// True for copies of operands that are made.
    pub copied: Vec<bool>,
}

/// Accumulators of a thread, one for each of its results.
pub struct Accumulators {
    pub values: Buffer,
    /// Those of the index result of an arg-reduction.
    pub arg: Option<ArgAccumulators>,
}

/// Where a loop of a thread is: its position, and the index of the accumulator.
#[derive(Clone)]
struct Cursor {
    at: Position,
    slot: PrimExpr,
    /// Number of the plan's loops around it.
    number: usize,
}

impl<'a> ThreadCode<'a> {
    pub fn new(stage: &'a Stage, plan: &'a StagePlan, start: Position, threads: Option<BlockThreads>) -> Self {
        let open = (0..stage.axes.len()).map(|axis| is_open(stage, plan, axis)).collect();
        let copied = vec![false; plan.staged.len()];
        ThreadCode { stage, plan, value: stage.value.clone(), start, threads, open, copied }
    }

    /// Returns the code.
    pub fn stmt(&self) -> Stmt {
        let from = Cursor { at: self.start.clone(), slot: PrimExpr::int64(0), number: 0 };
        if self.stage.reduces() {
            return self.reduction(&from);
        }
        self.nest(&from, &|l| !is_bound(l), &|code, cursor| {
            let at = cursor.at.all();
            let value = code.value.substitute(&substitution(&code.stage.axes, &at));
            code.when_inside(
                &at,
                &|_| true,
                Stmt::store(&code.stage.buffer, indices(&code.stage.indices, code.stage, &at), value),
            )
        })
    }

    /// Returns loops over results and terms, those of which `has` is true, around a body.
    fn nest(&self, from: &Cursor, has: &dyn Fn(&Loop) -> bool, body: &dyn Fn(&ThreadCode, &Cursor) -> Stmt) -> Stmt {
        let number = from.number;
        if copies::is_due(self, number) {
            return copies::stage_operands(self, number, &from.at, &|code| code.nest(from, has, body));
        }
        let Some(l) = self.plan.loops.get(number) else { return body(self, from) };
        let next = |at: Position, slot: PrimExpr| Cursor { at, slot, number: number + 1 };
        if !has(l) {
            return self.nest(&next(from.at.clone(), from.slot.clone()), has, body);
        }
        let count = self.trip_count(number);
        if count.as_int() == Some(1) {
            return self.nest(&next(from.at.clone(), from.slot.clone()), has, body);
        }
        let var = Var::int64(self.stage.axes[l.axis].var.name().clone());
        let by = scaled(var.expr(), l.step);
        let at = match self.is_uniform(number) {
            true => from.at.moved(l.axis, by),
            false => from.at.moved_in_thread(l.axis, by),
        };
        let slot = sum(&from.slot, &scaled(var.expr(), self.slot_stride(number)));
        let inner = |kind: ForKind| {
            let stmt = self.nest(&next(at.clone(), slot.clone()), has, body);
            Stmt::for_kind(var.clone(), count.clone(), kind, stmt)
        };
        match l.kind {
            LoopKind::Unrolled => inner(ForKind::Unrolled),
            LoopKind::Vector if self.open[l.axis] => {
                self.peeled_vector(l, from, &var, &count, &|code| code.nest(&next(at.clone(), slot.clone()), has, body))
            }
            LoopKind::Vector => inner(ForKind::Vectorized),
            _ => inner(ForKind::Serial),
        }
    }

    /// Returns a vector loop over an open axis: a vector if all its lanes are inside, otherwise one lane at a time.
    fn peeled_vector(
        &self,
        l: &Loop,
        from: &Cursor,
        var: &Var,
        count: &PrimExpr,
        body: &dyn Fn(&ThreadCode) -> Stmt,
    ) -> Stmt {
        let mut closed = self.clone();
        closed.open[l.axis] = false;
        let whole = Stmt::for_kind(var.clone(), count.clone(), ForKind::Vectorized, body(&closed));
        let lanes =
            hammock_ir::tir::fresh::copy(&Stmt::serial(var.clone(), count.clone(), body(self)), Default::default());
        let end = sum(&from.at.all()[l.axis], count);
        let is_whole = end.le(self.stage.axes[l.axis].extent.clone());
        Stmt::new(StmtKind::If(is_whole, Box::new(whole), Some(Box::new(lanes))))
    }

    /// Returns the number of iterations of one of the thread's loops.
    fn trip_count(&self, number: usize) -> PrimExpr {
        let l = &self.plan.loops[number];
        match self.plan.range(l.axis, number) {
            Some(range) => PrimExpr::int64((range + l.step - 1) / l.step),
            None => steps(&self.stage.axes[l.axis].extent, l.step),
        }
    }

    /// Returns true if all threads of a block run a loop together: it is serial, and inside of copies, or around them or
    /// loops over threads.
    fn is_uniform(&self, number: usize) -> bool {
        let l = &self.plan.loops[number];
        let around_threads = self.plan.loops[number..].iter().any(|l| l.kind == LoopKind::Thread);
        let around_copies = self.plan.staged.iter().any(|staged| staged.inside > number);
        l.kind == LoopKind::Serial && (around_threads || around_copies)
    }

    /// Returns the distance of the accumulators of consecutive iterations.
    fn slot_stride(&self, number: usize) -> i64 {
        if !self.has_slots(&self.plan.loops[number]) {
            return 0;
        }
        let inner = (number + 1..self.plan.loops.len()).filter(|inner| self.has_slots(&self.plan.loops[*inner]));
        inner.map(|inner| self.trip_count(inner).as_int().unwrap_or(1)).product()
    }

    /// Returns true if each iteration of a loop has accumulators of its own.
    fn has_slots(&self, l: &Loop) -> bool {
        match self.stage.axes[l.axis].reduce {
            true => l.kind == LoopKind::Vector,
            false => !is_bound(l),
        }
    }

    fn slots(&self) -> i64 {
        let slots = (0..self.plan.loops.len()).filter(|number| self.has_slots(&self.plan.loops[*number]));
        slots.map(|number| self.trip_count(number).as_int().unwrap_or(1)).product()
    }

    /// Returns the number of accumulators of one result.
    fn partials(&self) -> i64 {
        let lanes = |(number, l): (usize, &Loop)| {
            let is_lane = self.stage.axes[l.axis].reduce && l.kind == LoopKind::Vector;
            is_lane.then(|| self.trip_count(number).as_int().unwrap_or(1))
        };
        self.plan.loops.iter().enumerate().filter_map(lanes).product()
    }

    fn reduction(&self, from: &Cursor) -> Stmt {
        let stage = self.stage;
        let slots = PrimExpr::int64(self.slots());
        let values =
            Buffer::scoped(format!("{}_sum", stage.buffer.name), vec![slots.clone()], stage.buffer.dtype, "local");
        let arg = stage.arg_result.as_ref().and_then(|result| ArgAccumulators::new(stage, result, slots));
        let sums = Accumulators { values, arg };
        let is_result = |l: &Loop| !is_bound(l) && !stage.axes[l.axis].reduce;
        let is_slot = |l: &Loop| self.has_slots(l);
        let no_copies = ThreadCode { copied: vec![true; self.plan.staged.len()], ..self.clone() };
        let starts_apart = self.neutral();
        let start = no_copies.nest(from, &is_slot, &|code, cursor| code.start_at(&sums, cursor, starts_apart.as_ref()));
        let update = self.nest(from, &|l| !is_bound(l), &|code, cursor| code.update(&sums, cursor));
        let combine = no_copies.nest(from, &is_result, &|code, cursor| code.combine(&sums, &cursor.slot));
        let finish = no_copies.nest(from, &is_result, &|code, cursor| {
            let at = cursor.at.all();
            let add = starts_apart.as_ref().map_or_else(Stmt::nop, |_| code.add_initial(&sums, cursor));
            let stored = Stmt::seq([add, code.finish(&sums, &cursor.slot, &at)]);
            code.on_first_reducer(code.when_inside(&at, &|axis| !stage.axes[axis].reduce, stored))
        });
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
                let reads = initial.any(&mut |e| matches!(e.kind(), PrimKind::Load(..)));
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
        if hammock_loopnest::index::same_expr(&neutral, &initial) {
            return Stmt::nop();
        }
        let sum = PrimExpr::load(&sums.values, vec![cursor.slot.clone()]);
        Stmt::store(&sums.values, vec![cursor.slot.clone()], binary(op, initial, sum))
    }

    /// Adds one term to an accumulator.
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

    /// Returns true if an update must not run outside of an axis: it reads memory there, or adds a term.
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

    /// Combines the accumulators of a result: those of the thread, then those of all threads that reduce it.
    fn combine(&self, sums: &Accumulators, slot: &PrimExpr) -> Stmt {
        let Some((op, _)) = combiner(self.stage) else { return Stmt::nop() };
        let own = (1..self.partials()).map(|lane| {
            let load = |lane: i64| PrimExpr::load(&sums.values, vec![sum(slot, &PrimExpr::int64(lane))]);
            Stmt::store(&sums.values, vec![slot.clone()], binary(op, load(0), load(lane)))
        });
        let threads = self.threads.as_ref().filter(|threads| threads.reducers > 1);
        let others = threads.map(|threads| cross_thread::combine(op, &sums.values, slot, threads));
        Stmt::seq(own.chain(others))
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

    /// Runs a statement on the first of the threads that reduce a result.
    fn on_first_reducer(&self, stmt: Stmt) -> Stmt {
        match self.threads.as_ref().filter(|threads| threads.reducers > 1) {
            None => stmt,
            Some(threads) => {
                let lane = threads.index.clone().floormod(PrimExpr::int64(threads.reducers));
                guarded(lane.eq(PrimExpr::int64(0)), stmt)
            }
        }
    }

    /// Runs a statement if the position is inside of all open axes of which `matters` is true.
    fn when_inside(&self, at: &[PrimExpr], matters: &dyn Fn(usize) -> bool, stmt: Stmt) -> Stmt {
        match self.inside(at, matters) {
            None => stmt,
            Some(inside) => guarded(inside, stmt),
        }
    }

    /// Returns the condition that a position is inside of the open axes; `None` if it always is.
    pub fn inside(&self, at: &[PrimExpr], matters: &dyn Fn(usize) -> bool) -> Option<PrimExpr> {
        let open = (0..at.len()).filter(|axis| self.open[*axis] && matters(*axis));
        open.map(|axis| at[axis].clone().lt(self.stage.axes[axis].extent.clone())).reduce(PrimExpr::and)
    }
}

/// Returns true if a loop runs on blocks or threads.
pub fn is_bound(l: &Loop) -> bool {
    matches!(l.kind, LoopKind::Grid(_) | LoopKind::Block | LoopKind::Thread)
}

/// Returns true if the loops over an axis may go beyond its extent.
fn is_open(stage: &Stage, plan: &StagePlan, axis: usize) -> bool {
    let first = plan.loops.iter().find(|l| l.axis == axis).map_or(1, |l| l.step);
    stage.axes[axis].extent.as_int().map_or(first != 1, |extent| extent % first != 0)
}

/// Returns indices at a position.
fn indices(indices: &[PrimExpr], stage: &Stage, at: &[PrimExpr]) -> Vec<PrimExpr> {
    let values = substitution(&stage.axes, at);
    indices.iter().map(|index| index.substitute(&values)).collect()
}
