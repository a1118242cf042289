//! Arg-reductions in registers: each accumulator holds the best value so far, and its index on the reduction axis.
//!
//! Every accumulator sees elements in index order, so a later one replaces it only if it is better. Lanes along the
//! reduction axis are reduced horizontally at the end; ties go to the smaller index.

use super::{Lanes, Step, Tile, indices, tree_reduce};
use crate::lower::reductions::is_better;
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, Var},
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{ArgResult, access::combiner, linear_position, substitution};

/// Accumulators of a tile.
pub struct Accumulators {
    /// Values.
    pub values: Buffer,
    /// Indices of these values, for an arg-reduction.
    pub indices: Option<ArgIndices>,
}

/// Index half of the accumulators of an arg-reduction.
pub struct ArgIndices {
    slots: Buffer,
    op: BinaryOp,
    nan_wins: bool,
}

impl Accumulators {
    /// Returns true if a buffer holds accumulators.
    pub fn has(&self, buffer: &Buffer) -> bool {
        *buffer == self.values || self.indices.as_ref().is_some_and(|found| found.slots == *buffer)
    }

    /// Returns the allocations of all accumulators.
    pub fn alloc(&self) -> impl Iterator<Item = Stmt> {
        let buffers = [&self.values].into_iter().chain(self.indices.as_ref().map(|found| &found.slots));
        buffers.map(|buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default())))
    }
}

impl ArgIndices {
    /// Returns `size` accumulators.
    pub(super) fn new(tile: &Tile, place: &ArgResult, size: &PrimExpr) -> Option<ArgIndices> {
        let stage = tile.nest.stage;
        let (op, _) = combiner(stage)?;
        let reduced = stage.axes.iter().filter(|axis| axis.reduce);
        let count = reduced.into_iter().try_fold(1i64, |count, axis| count.checked_mul(axis.extent.as_int()?));
        // 32-bit indices if they suffice.
        let dtype = if count.is_some_and(|count| i32::try_from(count).is_ok()) { DType::INT32 } else { DType::INT64 };
        let slots = Buffer::scoped(format!("{}_at", stage.buffer.name), vec![size.clone()], dtype, "local");
        Some(ArgIndices { slots, op, nan_wins: place.selects_nan })
    }

    /// Returns the condition under which a value replaces another.
    fn is_better(&self, new: &PrimExpr, old: &PrimExpr) -> PrimExpr {
        is_better(self.op, self.nan_wins, new, old)
    }
}

impl Tile<'_> {
    /// Returns an arg-reduction.
    pub(super) fn arg_reduction(&self, place: &ArgResult, sums: &Accumulators, found: &ArgIndices) -> Stmt {
        let (stage, first) = (self.nest.stage, &self.at.position);
        let terms = self.reduced_lanes();
        let lanes = terms.map(|(axis, lanes)| Lanes { axis, vectors: vec![lanes], active: None });
        let start =
            self.for_each_accumulator(first, lanes.as_ref().or(self.results.as_ref()), Some(sums), |slot, at| {
                let none = cast(&place.init, found.slots.dtype);
                let value = self.initial(at, false);
                Stmt::seq([
                    Stmt::store(&found.slots, vec![slot.clone()], none),
                    Stmt::store(&sums.values, vec![slot], value),
                ])
            });
        let of = Step { lanes: self.results.as_ref().filter(|_| terms.is_none()), extent: None };
        let update = self.update(0, first, of, sums);
        let rows = self.rows(first).into_iter();
        let reduced = terms.map(|(_, lanes)| rows.map(move |(slot, _)| best_lane(sums, found, &slot, lanes)));
        let finish = self.for_each_accumulator(first, self.results.as_ref(), Some(sums), |slot, at| {
            let load = |buffer: &Buffer| PrimExpr::load(buffer, vec![slot.clone()]);
            let number = cast(&load(&found.slots), place.buffer.dtype);
            let value = || Stmt::store(&stage.buffer, indices(stage, at), load(&sums.values));
            let number = Stmt::store(&place.buffer, indices(stage, at), number);
            Stmt::seq([number].into_iter().chain(place.stores_value.then(value)))
        });
        let reduced = reduced.into_iter().flatten();
        Stmt::new(StmtKind::Seq(sums.alloc().chain([start, update]).chain(reduced).chain([finish]).collect()))
    }

    /// Updates one accumulator with one element.
    pub(super) fn arg_update(&self, sums: &Accumulators, found: &ArgIndices, slot: PrimExpr, at: &[PrimExpr]) -> Stmt {
        let stage = self.nest.stage;
        let Some((_, term)) = combiner(stage) else { unreachable!("arg-reductions have a combiner") };
        let dtype = stage.buffer.dtype;
        let (new, takes) = (Var::new("term", dtype), Var::new("takes", DType::BOOL));
        let load = |buffer: &Buffer| PrimExpr::load(buffer, vec![slot.clone()]);
        let better = found.is_better(&new.expr(), &load(&sums.values));
        let number = cast(&linear_position(&stage.axes, at), found.slots.dtype);
        let take = |buffer: &Buffer, by: PrimExpr| {
            Stmt::store(buffer, vec![slot.clone()], takes.expr().select(by, load(buffer)))
        };
        Stmt::seq([
            Stmt::new(StmtKind::Bind(new.clone(), term.substitute(&substitution(&stage.axes, at)))),
            Stmt::new(StmtKind::Bind(takes.clone(), better)),
            take(&found.slots, number),
            take(&sums.values, new.expr()),
        ])
    }
}

/// Reduces the accumulators of a row, until the first holds the best value.
fn best_lane(sums: &Accumulators, found: &ArgIndices, first: &PrimExpr, lanes: i64) -> Stmt {
    tree_reduce(first, lanes, |own, other| {
        let load = |buffer: &Buffer, slot: &PrimExpr| PrimExpr::load(buffer, vec![slot.clone()]);
        let [new, old] = [other, own].map(|slot| load(&sums.values, slot));
        // Selects rather than `and` and `or`, which branch.
        let earlier = load(&found.slots, other).lt(load(&found.slots, own));
        let equal = found.is_better(&old, &new).select(PrimExpr::bool(false), earlier);
        let takes = Var::new("takes", DType::BOOL);
        let take = |buffer: &Buffer| {
            let value = takes.expr().select(load(buffer, other), load(buffer, own));
            Stmt::store(buffer, vec![own.clone()], value)
        };
        let better = found.is_better(&new, &old).select(PrimExpr::bool(true), equal);
        Stmt::seq([Stmt::new(StmtKind::Bind(takes.clone(), better)), take(&found.slots), take(&sums.values)])
    })
}

fn cast(e: &PrimExpr, dtype: DType) -> PrimExpr {
    if e.dtype() == dtype { e.clone() } else { e.clone().cast(dtype) }
}
