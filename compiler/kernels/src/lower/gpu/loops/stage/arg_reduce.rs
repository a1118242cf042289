//! Arg-reductions: a second accumulator holds the index of the element.

use crate::lower::reductions::is_better;
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, Var},
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{ArgResult, Stage, access::combiner, linear_position, substitution};

/// Accumulators of indices.
pub struct ArgAccumulators {
    /// One index for each result.
    pub slots: Buffer,
    op: BinaryOp,
    selects_nan: bool,
    init: PrimExpr,
}

impl ArgAccumulators {
    /// Returns `count` accumulators.
    pub fn new(stage: &Stage, result: &ArgResult, count: PrimExpr) -> Option<ArgAccumulators> {
        let (op, _) = combiner(stage)?;
        let slots = Buffer::scoped(format!("{}_at", stage.buffer.name), vec![count], DType::INT64, "local");
        let init = result.init.clone().cast(DType::INT64);
        Some(ArgAccumulators { slots, op, selects_nan: result.selects_nan, init })
    }

    /// Returns the start of an accumulator.
    pub fn start(&self, slot: &PrimExpr) -> Stmt {
        Stmt::store(&self.slots, vec![slot.clone()], self.init.clone())
    }

    /// Returns the index in an accumulator.
    pub fn result(&self, slot: &PrimExpr, dtype: DType) -> PrimExpr {
        PrimExpr::load(&self.slots, vec![slot.clone()]).cast(dtype)
    }

    /// Updates an accumulator and its index with the element at a position.
    pub fn update(&self, stage: &Stage, values: &Buffer, slot: &PrimExpr, at: &[PrimExpr]) -> Stmt {
        let Some((_, term)) = combiner(stage) else { return Stmt::nop() };
        let (new, takes) = (Var::data("term", stage.buffer.dtype), Var::data("takes", DType::BOOL));
        let load = |buffer: &Buffer| PrimExpr::load(buffer, vec![slot.clone()]);
        let better = self.is_better(&new.expr(), &load(values));
        let number = linear_position(&stage.axes, at);
        let take = |buffer: &Buffer, by: PrimExpr| {
            Stmt::store(buffer, vec![slot.clone()], takes.expr().select(by, load(buffer)))
        };
        Stmt::seq([
            Stmt::new(StmtKind::Bind(new.clone(), term.substitute(&substitution(&stage.axes, at)))),
            Stmt::new(StmtKind::Bind(takes.clone(), better)),
            take(&self.slots, number),
            take(values, new.expr()),
        ])
    }

    /// Merges a value and its index into an accumulator: of equal elements, the first one is the result.
    pub fn merge(&self, values: &Buffer, slot: &PrimExpr, others: &[PrimExpr]) -> Stmt {
        let [value, index] = others else { unreachable!("a value and its index are merged") };
        let load = |buffer: &Buffer| PrimExpr::load(buffer, vec![slot.clone()]);
        let takes = Var::data("takes", DType::BOOL);
        let is_worse = self.is_better(&load(values), value);
        let is_before = is_worse.not().and(index.clone().lt(load(&self.slots)));
        let take = |buffer: &Buffer, by: &PrimExpr| {
            Stmt::store(buffer, vec![slot.clone()], takes.expr().select(by.clone(), load(buffer)))
        };
        Stmt::seq([
            Stmt::new(StmtKind::Bind(takes.clone(), self.is_better(value, &load(values)).or(is_before))),
            take(&self.slots, index),
            take(values, value),
        ])
    }

    /// Returns the condition under which a value replaces another.
    fn is_better(&self, new: &PrimExpr, old: &PrimExpr) -> PrimExpr {
        is_better(self.op, self.selects_nan, new, old)
    }
}
