//! Loops over terms: of sums, and other reductions.

use super::{Check, Checked, Item, violation};
use crate::{
    index::same_expr,
    plan::{Loop, LoopKind, Staged},
    rules::MAX_LANES,
    stage::{
        access::{combiner, combines_in_parts, parts},
        dots,
    },
};
use hammock_ir::{PrimExpr, prim::BinaryOp};

impl Check<'_> {
    /// A reduce axis: one loop over single terms, which may be written out, or one over as many terms as there are lanes, and
    /// perhaps loops over parts around it, outside of the tile and in it.
    pub(super) fn reduced(&self, axis: usize, numbers: &[usize]) -> Checked {
        let name = &self.names[axis];
        let loops: Vec<&Loop> = numbers.iter().map(|number| &self.plan.loops[*number]).collect();
        if let Some(at) = loops.iter().position(|l| l.is_parallel()) {
            let message = format!("`{name}` is summed up (or combined in another way), and threads cannot share that");
            return violation(
                Item::Loop(numbers[at]),
                message,
                "spread a loop over an axis of the result over threads",
            );
        }
        let parts = loops.len() > 1 && numbers[0] < self.tile;
        if parts {
            self.parts(axis, numbers[0])?;
        }
        let (loops, numbers) = (&loops[usize::from(parts)..], &numbers[usize::from(parts)..]);
        if let Some(again) = numbers.iter().find(|number| parts && **number < self.tile) {
            let message = format!("the terms of `{name}` are combined in parts of parts");
            return violation(Item::Loop(*again), message, "put only one loop over terms before those over results");
        }
        let (loops, numbers) = match loops {
            [_, Loop { kind: LoopKind::Serial, .. }, ..] => {
                self.added(numbers[0])?;
                (&loops[1..], &numbers[1..])
            }
            _ => (loops, numbers),
        };
        match loops {
            [Loop { kind: LoopKind::Serial | LoopKind::Unrolled, .. }] => Ok(()),
            [Loop { step, kind: LoopKind::Serial, .. }, Loop { kind: LoopKind::Dot, .. }] => {
                self.words(*step, numbers[0], numbers[1])
            }
            [Loop { step, kind: LoopKind::Serial, .. }, Loop { kind: LoopKind::Vector, .. }] => {
                if *step < 2 || *step > MAX_LANES || step.count_ones() != 1 {
                    let message = format!("so many lanes of terms, {step}, cannot be combined in halves");
                    let help = format!("the number of lanes is a power of two, from 2 to {MAX_LANES}");
                    return violation(Item::Loop(numbers[0]), message, help);
                }
                Ok(())
            }
            _ => {
                let message = format!("`{name}` is summed up (or combined in another way) by other loops than these");
                let help = format!(
                    "`{name}` alone, perhaps `unrolled`, or `{name} by LANES` and later `{name} vector`, or `{name} by \
                     TERMS` and later `{name} dot`; before these, and before loops over results, perhaps `{name} by PART`"
                );
                violation(Item::Loop(numbers[0]), message, help)
            }
        }
    }

    /// Loops over words and over their terms.
    fn words(&self, step: i64, outer: usize, inner: usize) -> Checked {
        let Some(dot) = dots::dot(self.stage) else {
            let message = "what is summed up are no products of 8-bit integers in int32, or of bfloat16 in float32";
            return violation(Item::Loop(inner), message, "leave out `dot`, and the loop around it that has a step");
        };
        if step != dot.terms() {
            let message = format!("a word has {} terms here, not {step}", dot.terms());
            return violation(Item::Loop(outer), message, format!("write `by {}`", dot.terms()));
        }
        if !dot.is_for(self.choice.target, self.choice.strict_order) {
            let message = match self.choice.strict_order {
                true => "dot products round in another order than is written",
                false => "the target has no dot products of bfloat16",
            };
            return violation(Item::Loop(inner), message, "leave out `dot`, and the loop around it that has a step");
        }
        if let Some(part) = self.plan.loops[..self.tile].iter().position(|l| self.is_reduced(l)) {
            let message = "dot products are not added up in parts";
            return violation(Item::Loop(part), message, "leave out this loop, or `dot` and the loop around it");
        }
        let axis = self.plan.loops[inner].axis;
        let own = &self.stage.axes[axis];
        let vector = self.plan.vector().map(|l| &self.stage.axes[l.axis]);
        if vector.is_some_and(|vector| vector.reduce)
            || self.plan.loops.iter().any(|l| l.axis != axis && l.kind == LoopKind::Dot)
        {
            let message = "terms are lanes, or terms of another dot product, already";
            return violation(Item::Loop(inner), message, "a sum has one `dot`, and its vectors are along results");
        }
        let (narrow, parts) = (dots::narrow_factors(self.stage), parts(self.stage));
        let narrow: Vec<&PrimExpr> = narrow.into_iter().flatten().collect();
        let widened = |copy: &Staged| !narrow.iter().any(|load| same_expr(load, parts[copy.load]));
        if let Some(copy) = self.plan.staged.iter().position(widened) {
            let message = "dot products read numbers as they are in memory, and this is a copy of wider ones";
            return violation(Item::Copy(copy), message, "copy the buffer that the factor is read from");
        }
        let copied = |load: &PrimExpr| {
            let mut copies = self.plan.staged.iter().filter(|staged| staged.axes.contains(&axis));
            copies.any(|staged| same_expr(parts[staged.load], load))
        };
        let in_words = |load: &&PrimExpr| {
            let along = vector.is_some_and(|vector| load.uses(&vector.var));
            let packed = self.stage.packed_words(load, axis, dot).is_some();
            load.uses(&own.var) && (copied(load) || packed || !along && dots::lies_in_words(load, own))
        };
        match narrow.into_iter().find(|load| !in_words(load)) {
            Some(_) => {
                let message = "a factor has no words of these terms: they are not side by side in memory";
                let help = format!("copy it: `copy of BUFFER as [{} by {}, …] (…)`", self.names[axis], dot.terms());
                violation(Item::Loop(inner), message, help)
            }
            None => Ok(()),
        }
    }

    /// A loop over parts of the terms, each of which is added up by itself in registers.
    fn added(&self, number: usize) -> Checked {
        let fail = |message: &str, help: &str| violation(Item::Loop(number), message, help);
        if self.choice.strict_order {
            let message = "parts of a sum are combined in another order than is written";
            return fail(message, "leave out --strict-order, or this loop");
        }
        let has_parts = combiner(self.stage).is_some_and(|(op, _)| matches!(op, BinaryOp::Add | BinaryOp::Mul));
        if !has_parts || self.stage.place.is_some() {
            return fail("what terms make is not added to what others make", "leave out this loop");
        }
        match self.plan.dot() {
            Some(_) => fail("dot products are not added up in parts", "leave out this loop"),
            None => Ok(()),
        }
    }

    /// A loop over parts of the terms, around loops over results.
    fn parts(&self, axis: usize, number: usize) -> Checked {
        let name = &self.names[axis];
        let fail = |message: String, help: &str| violation(Item::Loop(number), message, help);
        let of_others = |l: &Loop| self.is_reduced(l) && l.axis != axis;
        if self.plan.loops[..self.tile].iter().any(of_others) {
            let message = format!("terms are combined in parts along another axis than `{name}`, too");
            return fail(message, "put only one loop over terms before those over results");
        }
        if self.stage.axes[axis].extent.as_int().is_none() {
            return fail(
                format!("how many terms `{name}` has is not known here"),
                "put it after the loops over results",
            );
        }
        let words = self.plan.dot().and_then(|_| dots::dot(self.stage)).map_or(1, |dot| dot.terms());
        if self.plan.loops[number].step % words != 0 {
            return fail(
                format!("a word has {words} terms, and a part of them would begin inside of one"),
                "take whole words",
            );
        }
        if !combines_in_parts(self.stage) {
            let message = "what a part of the terms makes cannot be stored where the result will be".to_owned();
            return fail(message, "put this loop after those over results");
        }
        Ok(())
    }
}
