//! Loop nest of one stage, from the outermost loop to the register tile.
//!
//! A loop whose step does not divide its extent is followed by a remainder nest. Inside the tile every axis has a
//! constant extent.

use super::{
    collapse_parallel::{self, ParallelLoop},
    hoist_reciprocal,
    nest::{Domain, HoistedDivisor, Nest, ReductionPart, full_steps, offset_by, scale, tail_steps},
    pack_operands, peel_boundary, segments, tail_mask,
    zero_point::ZeroPointProduct,
};
use crate::schedule::{Loop, LoopKind, ScheduleContext, StagePlan};
use hammock_ir::{
    Name, PrimExpr,
    prim::Var,
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::{Stage, access::parts, dots, index::same_expr, steps};

impl Nest<'_> {
    /// Returns the loop nest of a stage.
    pub fn loops(stage: &Stage, plan: &StagePlan, choice: ScheduleContext) -> Stmt {
        let position = vec![PrimExpr::int64(0); stage.axes.len()];
        let extents = stage.axes.iter().map(|axis| axis.extent.clone()).collect();
        let divisor = HoistedDivisor::of(stage, plan);
        let fills = plan.fills_vectors(stage, choice.target);
        let mut scale_groups = plan.scale_groups(stage);
        let dot_stage = scale_groups.as_ref().map_or(stage, |groups| &groups.sum);
        let dot = plan.dot().and_then(|l| Some((l.axis, dots::dot(dot_stage)?)));
        let parts: Vec<PrimExpr> = parts(stage).into_iter().cloned().collect();
        let copied = |load: &PrimExpr| plan.staged.iter().any(|staged| same_expr(&parts[staged.load], load));
        let mut packed_stage = dot.map(|(axis, dot)| dot_stage.with_packed_loads(axis, dot, &copied));
        if let Some(groups) = &mut scale_groups
            && let Some(packed) = packed_stage.take()
        {
            groups.sum = packed;
        }
        let zero = scale_groups
            .as_ref()
            .and_then(|groups| ZeroPointProduct::of(stage, groups, plan.part_size(stage, groups.axis)?, choice));
        let stage = packed_stage.as_ref().unwrap_or(stage);
        let nest = Nest {
            stage,
            parts: &parts,
            plan,
            choice,
            tile: plan.tile(stage),
            divisor: divisor.as_ref(),
            scale_groups: scale_groups.as_ref(),
            zero_point: zero.as_ref().map(|zero| &zero.value),
            dot,
            sign_flip: None,
            fills,
        };
        let loops = nest.level(0, &Domain { position, extents, active_lanes: None, reduction: ReductionPart::all() });
        Stmt::seq(zero.into_iter().flat_map(|zero| zero.stmts).chain([loops]))
    }

    /// Returns the loops from index `number` on.
    pub fn level(&self, number: usize, at: &Domain) -> Stmt {
        if let Some(divisor) = self.divisor.filter(|divisor| divisor.depth == number) {
            return hoist_reciprocal::divisor_loops(self, divisor, at);
        }
        if self.plan.staged.iter().any(|staged| staged.inside == number) {
            let pack_operands::PackedOperands { mut stmts, stage, parts, sign_flip } =
                pack_operands::pack(self, number, at);
            let zeros = vec![PrimExpr::int64(0); at.position.len()];
            let inner = Nest { stage: &stage, parts: &parts, sign_flip: sign_flip.or(self.sign_flip), ..*self };
            stmts.push(inner.loops_after_packing(number, &Domain { position: zeros, ..at.clone() }));
            return Stmt::new(StmtKind::Seq(stmts));
        }
        self.loops_after_packing(number, at)
    }

    /// Like [`Self::level`], after operands are packed.
    fn loops_after_packing(&self, number: usize, at: &Domain) -> Stmt {
        if number == self.tile {
            return peel_boundary::tile(self, at);
        }
        if let Some((last, grain)) = self.collapsed(number) {
            let parallel =
                |number: usize| ParallelLoop { name: self.name(number).clone(), count: self.count(number, at) };
            let loops: Vec<ParallelLoop> = (number..=last).map(parallel).collect();
            return collapse_parallel::parallel_nest(&loops, grain, |indices| self.collapsed_body(number, at, indices));
        }
        let serial = |nest: &Nest, at: &Domain| nest.serial_loop(number, at);
        segments::loops(self, number, at, &serial).unwrap_or_else(|| self.serial_loop(number, at))
    }

    /// Returns a serial loop, with its tail.
    fn serial_loop(&self, number: usize, at: &Domain) -> Stmt {
        let inside = |at: &Domain| self.level(number + 1, at);
        let whole =
            self.iterations(number, at, PrimExpr::int64(0), self.full_steps(number, at), self.step(number), &inside);
        Stmt::seq([whole].into_iter().chain(self.tail(number, at, &inside)))
    }

    /// Returns the last loop that collapses with this one into one parallel range, and its grain. Operand packing or a
    /// hoisted reciprocal between them prevents that.
    fn collapsed(&self, number: usize) -> Option<(usize, i64)> {
        let grain = |l: &Loop| match l.kind {
            LoopKind::Parallel(grain) => Some(grain),
            _ => None,
        };
        let loops = &self.plan.loops[..self.tile];
        let (last, grain) = (number..self.tile).find_map(|n| Some((n, grain(&loops[n])?)))?;
        let hoisted = self.divisor.map(|divisor| divisor.depth);
        let mut between = self.plan.staged.iter().map(|staged| staged.inside).chain(hoisted);
        let repeats_axis = |n: usize| loops[number..n].iter().any(|l| l.axis == loops[n].axis);
        let reduces = |n: usize| self.stage.axes[loops[n].axis].reduce;
        let is_blocked = between.any(|inside| number < inside && inside <= last)
            || (number..=last).any(|n| repeats_axis(n) || reduces(n));
        (!is_blocked).then_some((last, grain))
    }

    /// Returns the body of one iteration of collapsed parallel loops.
    fn collapsed_body(&self, number: usize, at: &Domain, indices: &[PrimExpr]) -> Stmt {
        let [index, indices @ ..] = indices else { return self.level(number, at) };
        let (axis, step, whole) = (self.plan.loops[number].axis, self.step(number), self.full_steps(number, at));
        let inside = |at: &Domain| self.collapsed_body(number + 1, at, indices);
        let part = |index| inside(&self.part(at, axis, scale(index, step), PrimExpr::int64(step)));
        let full = |index: PrimExpr| self.peel_edges(axis, step, &index, &whole, &part);
        let Some(rest) = self.tail(number, at, &inside) else { return full(index.clone()) };
        if whole.as_int() == Some(0) {
            return rest;
        }
        let full = full(index.clone());
        Stmt::new(StmtKind::If(index.clone().lt(whole), Box::new(full), Some(Box::new(rest))))
    }

    /// Number of iterations of a loop, including the tail.
    fn count(&self, number: usize, at: &Domain) -> PrimExpr {
        steps(&at.extents[self.plan.loops[number].axis], self.step(number))
    }

    /// Number of iterations of a loop that cover a full step.
    fn full_steps(&self, number: usize, at: &Domain) -> PrimExpr {
        full_steps(&at.extents[self.plan.loops[number].axis], self.step(number))
    }

    /// Returns the tail of a loop, if there may be one.
    fn tail(&self, number: usize, at: &Domain, inside: &dyn Fn(&Domain) -> Stmt) -> Option<Stmt> {
        let Loop { axis, step, .. } = self.plan.loops[number];
        match at.extents[axis].as_int() {
            Some(extent) => {
                let (start, remaining) = (extent / step * step, extent % step);
                (remaining > 0)
                    .then(|| inside(&self.part(at, axis, PrimExpr::int64(start), PrimExpr::int64(remaining))))
            }
            None if step == 1 => None,
            None => Some(self.symbolic_tail(number, at, inside)),
        }
    }

    /// Like [`Self::tail`], for a dynamic extent.
    fn symbolic_tail(&self, number: usize, at: &Domain, inside: &dyn Fn(&Domain) -> Stmt) -> Stmt {
        let Loop { axis, step, .. } = self.plan.loops[number];
        let extent = &at.extents[axis];
        let end = |step: i64| extent.clone().floordiv(PrimExpr::int64(step)) * PrimExpr::int64(step);
        let mut start = end(step);
        if self.plan.loops[number + 1..self.tile].iter().any(|l| l.axis == axis) {
            return inside(&self.part(at, axis, start.clone(), extent - &start));
        }
        // Tiles need constant extents: the tail is covered by vectors of ever fewer registers.
        let is_vector = self.plan.vector().is_some_and(|l| l.axis == axis);
        let is_masked = is_vector && step > 1 && tail_mask::supports_tail_mask(self);
        if is_masked {
            let lanes = PrimExpr::int64((step as u64).next_power_of_two() as i64);
            let active_lanes = Some((axis, extent - &start));
            let rest = inside(&Domain { active_lanes, ..self.part(at, axis, start.clone(), lanes) });
            return Stmt::new(StmtKind::If(start.lt(extent.clone()), Box::new(rest), None));
        }
        let smaller = tail_steps(step).filter(|_| is_vector);
        let mut parts = Vec::new();
        for step in smaller.chain([1]) {
            let count = (extent - &start).floordiv(PrimExpr::int64(step));
            parts.push(self.iterations(number, at, start, count, step, inside));
            start = end(step);
        }
        Stmt::seq(parts)
    }

    /// Returns a loop of `count` iterations, each over `step` values from `start + i * step` on.
    fn iterations(
        &self,
        number: usize,
        at: &Domain,
        start: PrimExpr,
        count: PrimExpr,
        step: i64,
        inside: &dyn Fn(&Domain) -> Stmt,
    ) -> Stmt {
        if count.as_int() == Some(0) {
            return Stmt::nop();
        }
        let axis = self.plan.loops[number].axis;
        let part = |index| inside(&self.part(at, axis, offset_by(&start, scale(index, step)), PrimExpr::int64(step)));
        let var = Var::int64(self.name(number).clone());
        let body = self.peel_edges(axis, step, &var.expr(), &count, &part);
        Stmt::serial(var, count, body)
    }

    /// Returns the body of one of `count` steps along an axis, with the edges peeled if the axis is padded.
    fn peel_edges(
        &self,
        axis: usize,
        step: i64,
        index: &PrimExpr,
        count: &PrimExpr,
        inside: &dyn Fn(PrimExpr) -> Stmt,
    ) -> Stmt {
        match peel_boundary::pads_axis(self.stage, axis) && step > 1 {
            true => peel_boundary::peel_edges(index, count, inside),
            false => inside(index.clone()),
        }
    }

    /// Restricts an axis of a domain to `start .. start + count`.
    fn part(&self, at: &Domain, axis: usize, start: PrimExpr, count: PrimExpr) -> Domain {
        if self.stage.axes[axis].reduce { at.reduction_part(axis, start, count) } else { at.part(axis, start, count) }
    }

    fn name(&self, number: usize) -> &Name {
        self.stage.axes[self.plan.loops[number].axis].var.name()
    }

    fn step(&self, number: usize) -> i64 {
        self.plan.loops[number].step
    }
}
