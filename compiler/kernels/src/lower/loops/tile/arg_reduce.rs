//! Searches in registers: each accumulator has the best value so far and the number of the term that it was found at.
//!
//! Every accumulator sees terms in the order of their numbers, so a later one is taken only where it is better. Where
//! terms are lanes, accumulators are compared in the end, and of equal ones that with the smaller number is taken.

use super::{Lanes, Step, Tile, in_halves, indices};
use crate::stage::{Place, access::combiner, search, substitution};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, Var},
    tir::{Buffer, Stmt, StmtKind},
};

/// The accumulators of a tile.
pub struct Sums {
    /// Their values.
    pub values: Buffer,
    /// The numbers of terms, of a search.
    pub found: Option<Found>,
}

/// The second half of a search's accumulators.
pub struct Found {
    numbers: Buffer,
    op: BinaryOp,
    nan: bool,
}

impl Sums {
    /// Returns true if a buffer is in registers.
    pub fn has(&self, buffer: &Buffer) -> bool {
        *buffer == self.values || self.found.as_ref().is_some_and(|found| found.numbers == *buffer)
    }

    /// A declaration of all.
    pub fn alloc(&self) -> impl Iterator<Item = Stmt> {
        let buffers = [&self.values].into_iter().chain(self.found.as_ref().map(|found| &found.numbers));
        buffers.map(|buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default())))
    }
}

impl Found {
    /// Room for so many accumulators.
    pub(super) fn new(tile: &Tile, place: &Place, size: &PrimExpr) -> Option<Found> {
        let stage = tile.nest.stage;
        let (op, _) = combiner(stage)?;
        let reduced = stage.axes.iter().filter(|axis| axis.reduce);
        let count = reduced.into_iter().try_fold(1i64, |count, axis| count.checked_mul(axis.extent.as_int()?));
        // Half as many bytes, where they are enough.
        let dtype = if count.is_some_and(|count| i32::try_from(count).is_ok()) { DType::INT32 } else { DType::INT64 };
        let numbers = Buffer::scoped(format!("{}_at", stage.buffer.name), vec![size.clone()], dtype, "local");
        Some(Found { numbers, op, nan: place.finds_nan })
    }

    /// Whether a value goes before another.
    fn is_better(&self, new: &PrimExpr, old: &PrimExpr) -> PrimExpr {
        let (new, old) = (new.clone(), old.clone());
        if self.nan {
            let no_better = if self.op == BinaryOp::Max { new.le(old.clone()) } else { new.ge(old.clone()) };
            let is_nan = PrimExpr::intrin("isnan", vec![old], DType::BOOL);
            return is_nan.select(PrimExpr::bool(false), no_better.not());
        }
        if self.op == BinaryOp::Max { new.gt(old) } else { new.lt(old) }
    }
}

impl Tile<'_> {
    /// A reduction that searches.
    pub(super) fn search(&self, place: &Place, sums: &Sums, found: &Found) -> Stmt {
        let (stage, first) = (self.nest.stage, &self.at.position);
        let terms = self.terms();
        let lanes = terms.map(|(axis, lanes)| Lanes { axis, vectors: vec![lanes], there: None });
        let start = self.each(first, lanes.as_ref().or(self.results.as_ref()), Some(sums), |slot, at| {
            let none = cast(&place.init, found.numbers.dtype);
            let value = self.initial(at, false);
            Stmt::seq([
                Stmt::store(&found.numbers, vec![slot.clone()], none),
                Stmt::store(&sums.values, vec![slot], value),
            ])
        });
        let of = Step { lanes: self.results.as_ref().filter(|_| terms.is_none()), left: None };
        let update = self.update(0, first, of, sums);
        let rows = self.rows(first).into_iter();
        let joined = terms.map(|(_, lanes)| rows.map(move |(slot, _)| best(sums, found, &slot, lanes)));
        let finish = self.each(first, self.results.as_ref(), Some(sums), |slot, at| {
            let load = |buffer: &Buffer| PrimExpr::load(buffer, vec![slot.clone()]);
            let number = cast(&load(&found.numbers), place.buffer.dtype);
            let value = || Stmt::store(&stage.buffer, indices(stage, at), load(&sums.values));
            let number = Stmt::store(&place.buffer, indices(stage, at), number);
            Stmt::seq([number].into_iter().chain(place.keeps_value.then(value)))
        });
        let joined = joined.into_iter().flatten();
        Stmt::new(StmtKind::Seq(sums.alloc().chain([start, update]).chain(joined).chain([finish]).collect()))
    }

    /// What one accumulator does with one term.
    pub(super) fn search_term(&self, sums: &Sums, found: &Found, slot: PrimExpr, at: &[PrimExpr]) -> Stmt {
        let stage = self.nest.stage;
        let Some((_, term)) = combiner(stage) else { unreachable!("searches combine terms") };
        let dtype = stage.buffer.dtype;
        let (new, takes) = (Var::new("term", dtype), Var::new("takes", DType::BOOL));
        let load = |buffer: &Buffer| PrimExpr::load(buffer, vec![slot.clone()]);
        let better = found.is_better(&new.expr(), &load(&sums.values));
        let number = cast(&search::number(&stage.axes, at), found.numbers.dtype);
        let take = |buffer: &Buffer, by: PrimExpr| {
            Stmt::store(buffer, vec![slot.clone()], takes.expr().select(by, load(buffer)))
        };
        Stmt::seq([
            Stmt::new(StmtKind::Bind(new.clone(), term.substitute(&substitution(&stage.axes, at)))),
            Stmt::new(StmtKind::Bind(takes.clone(), better)),
            take(&found.numbers, number),
            take(&sums.values, new.expr()),
        ])
    }
}

/// Compares the accumulators of a row, until the first holds the best.
fn best(sums: &Sums, found: &Found, first: &PrimExpr, lanes: i64) -> Stmt {
    in_halves(first, lanes, |own, other| {
        let load = |buffer: &Buffer, slot: &PrimExpr| PrimExpr::load(buffer, vec![slot.clone()]);
        let [new, old] = [other, own].map(|slot| load(&sums.values, slot));
        // Choices rather than `and` and `or`, which branch.
        let earlier = load(&found.numbers, other).lt(load(&found.numbers, own));
        let equal = found.is_better(&old, &new).select(PrimExpr::bool(false), earlier);
        let takes = Var::new("takes", DType::BOOL);
        let take = |buffer: &Buffer| {
            let value = takes.expr().select(load(buffer, other), load(buffer, own));
            Stmt::store(buffer, vec![own.clone()], value)
        };
        let better = found.is_better(&new, &old).select(PrimExpr::bool(true), equal);
        Stmt::seq([Stmt::new(StmtKind::Bind(takes.clone(), better)), take(&found.numbers), take(&sums.values)])
    })
}

fn cast(e: &PrimExpr, dtype: DType) -> PrimExpr {
    if e.dtype() == dtype { e.clone() } else { e.clone().cast(dtype) }
}
