//! Loops of a thread, around stores or the updates of accumulators.

use super::{
    Position, copies, pipeline, scaled, sum,
    thread::{ThreadCode, indices},
};
use crate::schedule::{Loop, LoopKind, gpu::Guard};
use hammock_ir::{
    PrimExpr,
    prim::Var,
    tir::{ForKind, Stmt, StmtKind},
};
use hammock_loopnest::substitution;

/// Where a loop of a thread is: its position, and the index of the accumulator.
#[derive(Clone)]
pub struct Cursor {
    pub at: Position,
    pub slot: PrimExpr,
    /// Number of the plan's loops around it.
    pub number: usize,
}

impl ThreadCode<'_> {
    /// Returns the code.
    pub fn stmt(&self) -> Stmt {
        let from = Cursor { at: self.start.clone(), slot: PrimExpr::int64(0), number: 0 };
        if self.stage.reduces() {
            return self.reduction(&from);
        }
        self.nest(&from, &|l| !l.is_bound(), &|code, cursor| {
            let at = cursor.at.all();
            let value = code.value.substitute(&substitution(&code.stage.axes, &at));
            code.when_inside(
                &at,
                &|_| true,
                Stmt::store(&code.stage.buffer, indices(&code.stage.indices, code.stage, &at), value),
            )
        })
    }

    /// Returns the loops over results and summands for which `has` is true, around a body.
    pub fn nest(
        &self,
        from: &Cursor,
        has: &dyn Fn(&Loop) -> bool,
        body: &dyn Fn(&ThreadCode, &Cursor) -> Stmt,
    ) -> Stmt {
        let number = from.number;
        if copies::is_due(self, number) {
            return copies::stage_operands(self, number, &from.at, &|code| code.nest(from, has, body));
        }
        let Some(l) = self.plan.loops.get(number) else { return body(self, from) };
        let next = |at: Position, slot: PrimExpr| Cursor { at, slot, number: number + 1 };
        if !has(l) {
            return self.nest(&next(from.at.clone(), from.slot.clone()), has, body);
        }
        if l.kind == LoopKind::Mma {
            return self.mma_results(from, &|code, at, slot| code.nest(&next(at, slot), has, body));
        }
        let count = self.trip_count(number);
        if count.as_int() == Some(1) {
            return self.nest(&next(from.at.clone(), from.slot.clone()), has, body);
        }
        if let Some(stages) = pipeline::stages(self, number + 1) {
            let inside = |code: &ThreadCode, at: Position| code.nest(&next(at, from.slot.clone()), has, body);
            return pipeline::pipelined(self, (number, &from.at), stages, &inside);
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
            LoopKind::Vector if self.open[l.axis] || self.guard(l).is_some() => {
                self.peeled_vector(l, from, &var, &count, &|code| code.nest(&next(at.clone(), slot.clone()), has, body))
            }
            LoopKind::Vector => inner(ForKind::Vectorized),
            _ => inner(ForKind::Serial),
        }
    }

    /// Returns the condition on elements that are reduced along the axis of a loop.
    fn guard(&self, l: &Loop) -> Option<Guard> {
        let axis = &self.stage.axes[l.axis];
        Guard::of(&self.value, &axis.var).filter(|_| axis.reduce)
    }

    /// Returns a vector loop over an open axis, or of guarded elements: a vector if all its lanes are inside, otherwise
    /// one lane at a time.
    pub fn peeled_vector(
        &self,
        l: &Loop,
        from: &Cursor,
        var: &Var,
        count: &PrimExpr,
        body: &dyn Fn(&ThreadCode) -> Stmt,
    ) -> Stmt {
        let mut closed = self.clone();
        closed.open[l.axis] = false;
        let guard = self.guard(l);
        if let Some(guard) = &guard {
            closed.value = guard.removed_from(&self.value);
        }
        let whole = Stmt::for_kind(var.clone(), count.clone(), ForKind::Vectorized, body(&closed));
        let lanes =
            hammock_ir::tir::fresh::copy(&Stmt::serial(var.clone(), count.clone(), body(self)), Default::default());
        let end = sum(&from.at.all()[l.axis], count);
        let is_inside = self.open[l.axis].then(|| end.clone().le(self.stage.axes[l.axis].extent.clone()));
        let reads_all = guard.map(|guard| {
            let mut last = from.at.all();
            last[l.axis] = end - PrimExpr::int64(1);
            guard.condition.substitute(&substitution(&self.stage.axes, &last))
        });
        let conditions = [is_inside, reads_all].into_iter().flatten();
        let is_whole = conditions.reduce(PrimExpr::and).unwrap_or_else(|| PrimExpr::bool(true));
        Stmt::new(StmtKind::If(is_whole, Box::new(whole), Some(Box::new(lanes))))
    }
}
