//! Split reductions: each part of a reduction is summed in its own accumulators, which are then added to the total.
//! Shorter sums lose less precision. If the elements of a part share a scale, it multiplies their sum.

use super::{Accumulators, Lanes, Step, Tile, identity, shifted};
use crate::{
    lower::cpu::loops::nest::{self, Nest},
    schedule::Loop,
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, binary},
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{access::combiner, substitution};

impl Tile<'_> {
    /// Returns the loop over the parts of a split reduction.
    pub(super) fn split_reduction(&self, number: usize, at: &[PrimExpr], of: Step, sums: &Accumulators) -> Stmt {
        let Loop { axis, step, .. } = self.loops()[number];
        let (count, whole) = (&self.at.extents[axis], PrimExpr::int64(step));
        let divides = count.as_int().is_some_and(|count| count % step == 0);
        let parts = nest::full_steps(&(count + PrimExpr::int64(step - 1)), step);
        nest::strided_loop(self.nest.stage.axes[axis].var.name(), &PrimExpr::int64(0), parts, step, |start| {
            let extent = if divides { whole.clone() } else { binary(BinaryOp::Min, whole.clone(), count - &start) };
            let at_part = self.at.part(axis, start.clone(), extent);
            let (results, computed) = (self.results.clone(), self.computed.clone());
            let part = Tile { at: &at_part, results, computed, ..*self };
            part.partial_reduction(number + 1, &shifted(at, axis, start), of, sums)
        })
    }

    /// Returns the reduction of one part: the loops from index `number` on.
    fn partial_reduction(&self, number: usize, at: &[PrimExpr], of: Step, sums: &Accumulators) -> Stmt {
        let Some(groups) = self.nest.scale_groups else { return self.partial_sum(number, at, of, sums, None) };
        let nest = Nest { stage: &groups.sum, scale_groups: None, ..*self.nest };
        let (results, computed) = (self.results.clone(), self.computed.clone());
        let tile = Tile { nest: &nest, at: self.at, results, computed };
        tile.partial_sum(number, at, of, sums, Some(&groups.scale))
    }

    /// Returns the reduction of one part, multiplied by a scale.
    fn partial_sum(
        &self,
        number: usize,
        at: &[PrimExpr],
        of: Step,
        sums: &Accumulators,
        scale: Option<&PrimExpr>,
    ) -> Stmt {
        let (all, stage) = (&sums.values, self.nest.stage);
        let own = Buffer::scoped(format!("{}_part", all.name), all.shape.clone(), stage.buffer.dtype, "local");
        let part = Accumulators { values: own, indices: None };
        let op = combiner(stage).map(|(op, _)| op);
        let Some((op, zero)) = op.and_then(|op| Some((op, identity(op, stage.buffer.dtype)?))) else {
            unreachable!("plans are checked: split reductions may be reordered")
        };
        let load = |buffer: &Buffer, slot: &PrimExpr| PrimExpr::load(buffer, vec![slot.clone()]);
        let clear = self.for_all(at, &|slot, _| Stmt::store(&part.values, vec![slot], zero.clone()));
        let terms = self.update(number, at, of, &part);
        let add = self.for_all(at, &|slot, at| {
            let (total, own) = (load(all, &slot), load(&part.values, &slot));
            let sum = match scale {
                Some(scale) => {
                    let here = substitution(&stage.axes, at);
                    let zero = self.nest.zero_point.map(|zero| zero.substitute(&here));
                    let own = zero.map_or(own.clone(), |zero| own - zero);
                    self.multiply_add(own.cast(all.dtype), scale.substitute(&here), total)
                }
                None => binary(op, total, own),
            };
            Stmt::store(all, vec![slot], sum)
        });
        Stmt::new(StmtKind::Seq(part.alloc().chain([clear, terms, add]).collect()))
    }

    /// Returns a statement for every accumulator.
    fn for_all(&self, at: &[PrimExpr], f: &dyn Fn(PrimExpr, &[PrimExpr]) -> Stmt) -> Stmt {
        let of_terms = self.reduced_lanes().map(|(axis, lanes)| Lanes { axis, vectors: vec![lanes], active: None });
        let lanes = of_terms.or_else(|| Some(Lanes { active: None, ..self.computed.clone()? }));
        self.for_each_accumulator(at, lanes.as_ref(), None, f)
    }
}
