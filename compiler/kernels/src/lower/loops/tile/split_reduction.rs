//! Sums in parts: the terms of each are added up by themselves, in accumulators of their own, and then to the sum. The fewer
//! numbers are added one after the other, the less is lost.

use super::{Lanes, Step, Sums, Tile, neutral, shifted};
use crate::{lower::loops::nest, plan::Loop, stage::access::combiner};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, binary},
    tir::{Buffer, Stmt, StmtKind},
};

impl Tile<'_> {
    /// The parts of the terms that a loop of the tile is over.
    pub(super) fn parts(&self, number: usize, at: &[PrimExpr], of: Step, sums: &Sums) -> Stmt {
        let Loop { axis, step, .. } = self.loops()[number];
        let (count, whole) = (&self.at.left[axis], PrimExpr::int64(step));
        let divides = count.as_int().is_some_and(|count| count % step == 0);
        let parts = nest::whole(&(count + PrimExpr::int64(step - 1)), step);
        nest::repeated(self.nest.stage.axes[axis].var.name(), &PrimExpr::int64(0), parts, step, |start| {
            let left = if divides { whole.clone() } else { binary(BinaryOp::Min, whole.clone(), count - &start) };
            let at_part = self.at.part(axis, start.clone(), left);
            let (results, computed) = (self.results.clone(), self.computed.clone());
            let part = Tile { at: &at_part, results, computed, ..*self };
            part.part(number + 1, &shifted(at, axis, start), of, sums)
        })
    }

    /// The terms of a part: the loops from this number on.
    fn part(&self, number: usize, at: &[PrimExpr], of: Step, sums: &Sums) -> Stmt {
        let all = &sums.values;
        let own = Buffer::scoped(format!("{}_part", all.name), all.shape.clone(), all.dtype, "local");
        let part = Sums { values: own, found: None };
        let op = combiner(self.nest.stage).map(|(op, _)| op);
        let Some((op, nothing)) = op.and_then(|op| Some((op, neutral(op, all.dtype)?))) else {
            unreachable!("plans are checked: what has parts may be combined in any order")
        };
        let load = |buffer: &Buffer, slot: &PrimExpr| PrimExpr::load(buffer, vec![slot.clone()]);
        let clear = self.accumulators(&|slot| Stmt::store(&part.values, vec![slot], nothing.clone()));
        let terms = self.update(number, at, of, &part);
        let add = self.accumulators(&|slot| {
            let sum = binary(op, load(all, &slot), load(&part.values, &slot));
            Stmt::store(all, vec![slot], sum)
        });
        Stmt::new(StmtKind::Seq(part.alloc().chain([clear, terms, add]).collect()))
    }

    /// A statement for every accumulator.
    fn accumulators(&self, f: &dyn Fn(PrimExpr) -> Stmt) -> Stmt {
        let of_terms = self.terms().map(|(axis, lanes)| Lanes { axis, vectors: vec![lanes], there: None });
        let lanes = of_terms.or_else(|| Some(Lanes { there: None, ..self.computed.clone()? }));
        self.each(&self.at.position, lanes.as_ref(), None, |slot, _| f(slot))
    }
}
