//! Checks of reduction loops.

use super::{Check, Checked, Item, violation};
use crate::schedule::{Loop, LoopKind, Staged, cpu::MAX_LANES};
use hammock_ir::{PrimExpr, prim::BinaryOp};
use hammock_loopnest::{
    access::{can_store_partials, combiner, parts},
    dots::{self, NarrowOperand},
    index::same_expr,
};

impl Check<'_> {
    /// Checks the loops over a reduction axis: one with step 1, perhaps unrolled, or one with the number of lanes as
    /// step and a vector loop; split reductions have further loops around them, outside the tile or inside.
    pub(super) fn check_reduction(&self, axis: usize, numbers: &[usize]) -> Checked {
        let name = &self.names[axis];
        let loops: Vec<&Loop> = numbers.iter().map(|number| &self.plan.loops[*number]).collect();
        if let Some(at) = loops.iter().position(|l| l.is_parallel()) {
            let message = format!("`{name}` is a reduction axis, which cannot be parallel");
            return violation(Item::Loop(numbers[at]), message, "parallelize a loop over results");
        }
        let parts = loops.len() > 1 && numbers[0] < self.tile;
        if parts {
            self.check_outer_split(axis, numbers[0])?;
        }
        let (loops, numbers) = (&loops[usize::from(parts)..], &numbers[usize::from(parts)..]);
        if let Some(again) = numbers.iter().find(|number| parts && **number < self.tile) {
            let message = format!("the reduction over `{name}` is split twice");
            return violation(Item::Loop(*again), message, "put only one reduction loop before the loops over results");
        }
        let (loops, numbers) = match loops {
            [_, Loop { kind: LoopKind::Serial | LoopKind::Unrolled, .. }, ..] => {
                self.check_inner_split(numbers[0])?;
                (&loops[1..], &numbers[1..])
            }
            _ => (loops, numbers),
        };
        match loops {
            [Loop { kind: LoopKind::Serial | LoopKind::Unrolled, .. }] => Ok(()),
            [Loop { step, kind: LoopKind::Serial, .. }, Loop { kind: LoopKind::Dot, .. }] => {
                self.check_dot(*step, numbers[0], numbers[1])
            }
            [Loop { step, kind: LoopKind::Serial, .. }, Loop { kind: LoopKind::Vector, .. }] => {
                if *step < 2 || *step > MAX_LANES || step.count_ones() != 1 {
                    let message = format!("a horizontal reduction cannot have {step} lanes");
                    let help = format!("the number of lanes is a power of two, from 2 to {MAX_LANES}");
                    return violation(Item::Loop(numbers[0]), message, help);
                }
                Ok(())
            }
            _ => {
                let message = format!("these loops cannot reduce over `{name}`");
                let help = format!(
                    "use `{name}`, perhaps `unrolled`, or `{name} by LANES` and later `{name} vector`, or `{name} by \
                     GROUP` and later `{name} dot`; to split the reduction, `{name} by PART` before these"
                );
                violation(Item::Loop(numbers[0]), message, help)
            }
        }
    }

    /// Checks the loops of a dot instruction.
    fn check_dot(&self, step: i64, outer: usize, inner: usize) -> Checked {
        let scale_groups = self.plan.scale_groups(self.stage);
        let stage = scale_groups.as_ref().map_or(self.stage, |groups| &groups.sum);
        let Some(dot) = dots::dot(stage) else {
            let message = "this is no contraction of 8-bit integers in int32, or of bfloat16 in float32";
            return violation(Item::Loop(inner), message, "leave out `dot`, and the loop around it that has a step");
        };
        if step != dot.group_size() {
            let message = format!("a packed group has {} elements here, not {step}", dot.group_size());
            return violation(Item::Loop(outer), message, format!("write `by {}`", dot.group_size()));
        }
        if !dots::is_supported(dot, self.ctx.target, self.ctx.strict_order) {
            let message = match self.ctx.strict_order {
                true => "`dot` rounds in another order than the program",
                false => "the target has no bfloat16 dot instruction",
            };
            return violation(Item::Loop(inner), message, "leave out `dot`, and the loop around it that has a step");
        }
        if let Some(part) = self.plan.loops[..self.tile].iter().position(|l| self.is_reduced(l)) {
            let message = "a `dot` reduction cannot be split";
            return violation(Item::Loop(part), message, "leave out this loop, or `dot` and the loop around it");
        }
        let axis = self.plan.loops[inner].axis;
        let own = &self.stage.axes[axis];
        let vector = self.plan.vector().map(|l| &self.stage.axes[l.axis]);
        if vector.is_some_and(|vector| vector.reduce)
            || self.plan.loops.iter().any(|l| l.axis != axis && l.kind == LoopKind::Dot)
        {
            let message = "the reduction is vectorized already, or has another `dot` loop";
            return violation(
                Item::Loop(inner),
                message,
                "a reduction has one `dot` loop, and is vectorized along results",
            );
        }
        let (narrow, parts) = (dots::narrow_operands(stage), parts(self.stage));
        let narrow: Vec<NarrowOperand> = narrow.into_iter().flatten().collect();
        let widened = |copy: &Staged| !narrow.iter().any(|operand| same_expr(operand.load, parts[copy.load]));
        if let Some(copy) = self.plan.staged.iter().position(widened) {
            let message = "`dot` needs narrow operands, and this is a copy after the upcast";
            return violation(Item::Copy(copy), message, "copy the buffer that the operand is loaded from");
        }
        let copied = |load: &PrimExpr| {
            let mut copies = self.plan.staged.iter().filter(|staged| staged.axes.contains(&axis));
            copies.any(|staged| same_expr(parts[staged.load], load))
        };
        let is_packed = |operand: &NarrowOperand| {
            if let Some(bits) = operand.bits {
                return dots::has_packed_bits(bits, own);
            }
            let load = operand.load;
            let along = vector.is_some_and(|vector| load.uses(&vector.var));
            let packed = stage.packed_load(load, axis, dot).is_some();
            load.uses(&own.var) && (copied(load) || packed || !along && dots::has_contiguous_groups(load, own))
        };
        match narrow.into_iter().find(|operand| !is_packed(operand)) {
            Some(_) => {
                let message = "an operand is neither packed nor contiguous along this axis";
                let help =
                    format!("copy it: `copy of BUFFER as [{} by {}, …] (…)`", self.names[axis], dot.group_size());
                violation(Item::Loop(inner), message, help)
            }
            None => Ok(()),
        }
    }

    /// Checks a loop that splits a reduction inside the tile.
    fn check_inner_split(&self, number: usize) -> Checked {
        let fail = |message: &str, help: &str| violation(Item::Loop(number), message, help);
        if self.ctx.strict_order {
            let message = "a split reduction is not in program order";
            return fail(message, "leave out --strict-order, or this loop");
        }
        let has_parts = combiner(self.stage).is_some_and(|(op, _)| matches!(op, BinaryOp::Add | BinaryOp::Mul));
        if !has_parts || self.stage.arg_result.is_some() {
            return fail("only additions and multiplications can be split here", "leave out this loop");
        }
        match self.plan.dot() {
            Some(_) if self.plan.scale_groups(self.stage).is_none() => {
                fail("a `dot` reduction cannot be split, except at groups that share a scale", "leave out this loop")
            }
            _ => Ok(()),
        }
    }

    /// Checks a loop that splits a reduction outside the tile.
    fn check_outer_split(&self, axis: usize, number: usize) -> Checked {
        let name = &self.names[axis];
        let fail = |message: String, help: &str| violation(Item::Loop(number), message, help);
        let of_others = |l: &Loop| self.is_reduced(l) && l.axis != axis;
        if self.plan.loops[..self.tile].iter().any(of_others) {
            let message = format!("the reduction is also split along another axis than `{name}`");
            return fail(message, "put only one reduction loop before the loops over results");
        }
        if self.stage.axes[axis].extent.as_int().is_none() {
            return fail(format!("the extent of `{name}` is dynamic here"), "put it after the loops over results");
        }
        let groups = self.plan.dot().and_then(|_| dots::dot(self.stage)).map_or(1, |dot| dot.group_size());
        if self.plan.loops[number].step % groups != 0 {
            return fail(
                format!("a part would begin inside a packed group of {groups} elements"),
                "choose a multiple of it",
            );
        }
        if !can_store_partials(self.stage) {
            let message = "partial results cannot be stored in the result's buffer".to_owned();
            return fail(message, "put this loop after the loops over results");
        }
        Ok(())
    }
}
