//! Primitives that change loops.

use super::{
    EditResult,
    edit::{Edit, reject},
};
use crate::schedule::{Loop, LoopKind};
use hammock_loopnest::dots;

impl Edit<'_> {
    pub(in crate::schedule) fn split(&mut self, number: usize, factor: i64) -> EditResult {
        let (Loop { axis, step, kind }, name) = (self.plan.loops[number].clone(), self.axis(number));
        if factor <= step {
            let message = format!("a step of {factor} leaves nothing to a loop over `{name}` with step {step}");
            return reject(message, "choose a larger factor");
        }
        if let Some(left) = self.left(number).filter(|left| factor > *left) {
            let message = format!("there are {left} values of `{name}` here, fewer than a step of {factor}");
            return reject(message, "choose a smaller factor");
        }
        self.loops_of[number] = Some(self.now);
        let kind = match kind {
            LoopKind::Parallel(grain) => {
                self.plan.loops[number].kind = LoopKind::Serial;
                LoopKind::Parallel(scaled(grain, step, factor))
            }
            _ => LoopKind::Serial,
        };
        self.insert(number, Loop { axis, step: factor, kind });
        Ok(())
    }

    pub(in crate::schedule) fn resplit(&mut self, number: usize, step: i64) -> EditResult {
        let name = self.axis(number);
        let inner = self.over_axis_of(number).into_iter().find(|other| *other > number);
        let Some(inner) = inner else {
            let message = format!("the last loop over `{name}` has step 1");
            return reject(message, format!("`split {name} by {step}` puts a loop around it"));
        };
        let (min, max) = (self.plan.loops[inner].step, self.left(number).unwrap_or(i64::MAX));
        if step < min || step > max {
            let message =
                format!("a step of {step} is not between those of the loops inside and around: {min} and {max}");
            return reject(message, "choose another step, or change the other loops first");
        }
        let before = std::mem::replace(&mut self.plan.loops[number].step, step);
        match self.plan.loops[number].kind {
            LoopKind::Parallel(grain) => self.run(number, LoopKind::Parallel(scaled(grain, before, step))),
            kind => self.run(number, kind),
        }
    }

    pub(in crate::schedule) fn fuse(&mut self, loops: &[usize]) -> EditResult {
        let &[a, b] = loops else {
            return reject("two loops become one", "name two loops over one axis");
        };
        let (outer, inner) = (a.min(b), a.max(b));
        if self.plan.loops[outer].axis != self.plan.loops[inner].axis {
            let message = format!("`{}` and `{}` are different axes", self.axis(outer), self.axis(inner));
            let help = "axes that are contiguous in every access are collapsed already; others cannot be fused";
            return reject(message, help);
        }
        let over = self.over_axis_of(outer);
        if outer == inner || !over.windows(2).any(|pair| pair == [outer, inner]) {
            let message = format!("these are not consecutive loops over `{}`", self.axis(outer));
            return reject(message, "name a loop, and the next one over its axis inside of it");
        }
        let steps = [outer, inner].map(|number| self.plan.loops[number].step);
        let kind = match self.plan.loops[outer].kind {
            LoopKind::Parallel(grain) => LoopKind::Parallel(scaled(grain, steps[0], steps[1])),
            kind => kind,
        };
        if matches!(self.plan.loops[inner].kind, LoopKind::Serial | LoopKind::Dot) {
            self.plan.loops[inner].kind = kind;
        }
        self.loops_of[inner] = Some(self.now);
        self.plan.loops.remove(outer);
        self.loops_of.remove(outer);
        self.plan.staged.iter_mut().filter(|staged| staged.inside > outer).for_each(|staged| staged.inside -= 1);
        Ok(())
    }

    pub(in crate::schedule) fn reorder(&mut self, order: &[usize]) -> EditResult {
        let mut positions = order.to_vec();
        positions.sort_unstable();
        if let Some(twice) = positions.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("a loop over `{}` is named twice", self.axis(twice[0]));
            return reject(message, "name each loop once");
        }
        let mut from: Vec<usize> = (0..self.plan.loops.len()).collect();
        positions.iter().zip(order).for_each(|(position, number)| from[*position] = *number);
        self.plan.loops = from.iter().map(|number| self.plan.loops[*number].clone()).collect();
        self.loops_of = from.iter().map(|number| self.loops_of[*number]).collect();
        let moved = (0..from.len()).filter(|position| from[*position] != *position);
        moved.for_each(|position| self.loops_of[position] = Some(self.now));
        for (staged, copy) in self.plan.staged.iter_mut().zip(&mut self.copies) {
            // A copy outside all loops stays there.
            let around = staged.inside.checked_sub(1);
            staged.inside = around.map_or(0, |around| 1 + from.iter().position(|n| *n == around).unwrap_or(around));
            if positions.first().is_some_and(|first| *first < staged.inside) {
                copy.change = Some(self.now);
            }
        }
        Ok(())
    }

    fn run(&mut self, number: usize, kind: LoopKind) -> EditResult {
        self.plan.loops[number].kind = kind;
        self.loops_of[number] = Some(self.now);
        Ok(())
    }

    /// Checks that a loop has step 1.
    fn check_step(&self, number: usize, what: &str) -> EditResult {
        let (step, name) = (self.plan.loops[number].step, self.axis(number));
        match step {
            1 => Ok(()),
            _ => reject(
                format!("{what} loops have step 1, and this loop over `{name}` has step {step}"),
                format!("name the inner loop: `{name}`"),
            ),
        }
    }

    pub(in crate::schedule) fn vectorize(&mut self, number: usize) -> EditResult {
        self.check_step(number, "vector")?;
        if self.is_reduced(number) && self.ctx.strict_order {
            let message = "a horizontal reduction is not in program order";
            return reject(message, "leave out --strict-order, or vectorize an axis of the result");
        }
        self.run(number, LoopKind::Vector)
    }

    pub(in crate::schedule) fn unroll(&mut self, number: usize) -> EditResult {
        self.check_step(number, "unrolled")?;
        self.run(number, LoopKind::Unrolled)
    }

    pub(in crate::schedule) fn parallel(&mut self, number: usize, grain: i64) -> EditResult {
        if self.is_reduced(number) {
            let message = format!("`{}` is a reduction axis", self.axis(number));
            return reject(message, "parallelize a loop over results");
        }
        if let Some(other) = self.plan.loops.iter().position(Loop::is_parallel) {
            self.plan.loops[other].kind = LoopKind::Serial;
        }
        self.run(number, LoopKind::Parallel(grain))
    }

    pub(in crate::schedule) fn serial(&mut self, number: usize) -> EditResult {
        if self.plan.loops[number].kind == LoopKind::Dot {
            return reject("this is a `dot` loop", "`fuse` it with the loop around it");
        }
        self.run(number, LoopKind::Serial)
    }

    pub(in crate::schedule) fn rfactor(&mut self, number: usize, lanes: i64) -> EditResult {
        if !self.is_reduced(number) {
            let message = format!("`{}` is not a reduction axis", self.axis(number));
            return reject(message, "`vectorize` it instead");
        }
        if self.ctx.strict_order {
            let message = "a horizontal reduction is not in program order";
            return reject(message, "leave out --strict-order");
        }
        self.check_step(number, "vector")?;
        self.last(number, lanes, LoopKind::Vector)
    }

    pub(in crate::schedule) fn tensorize(&mut self, number: usize) -> EditResult {
        let Some(dot) = dots::dot(self.stage).filter(|_| self.is_reduced(number)) else {
            let message = format!("no dot instruction computes the reduction over `{}`", self.axis(number));
            return reject(message, "dot instructions multiply 8-bit integers into int32, or bfloat16 into float32");
        };
        if !dots::is_supported(dot, self.ctx.target, self.ctx.strict_order) {
            return match self.ctx.strict_order {
                true => reject("`dot` rounds in another order than the program", "leave out --strict-order"),
                false => reject("the target has no bfloat16 dot instruction", "`hammock targets` shows which have"),
            };
        }
        self.check_step(number, "dot")?;
        self.last(number, dot.group_size(), LoopKind::Dot)
    }

    /// Splits a reduction loop, and moves the inner part last.
    fn last(&mut self, number: usize, factor: i64, kind: LoopKind) -> EditResult {
        if self.plan.loops[number].kind == LoopKind::Unrolled {
            self.plan.loops[number].kind = LoopKind::Serial;
        }
        self.split(number, factor)?;
        let mut order: Vec<usize> = (number + 2..self.plan.loops.len()).collect();
        order.push(number + 1);
        // Permutes the loops from the given one on.
        self.reorder(&order)?;
        self.run(self.plan.loops.len() - 1, kind)
    }

    pub(in crate::schedule) fn cache_write(&mut self) -> EditResult {
        let tile = self.plan.tile(self.stage);
        let Some(parts) = (0..tile).find(|number| self.is_reduced(*number)) else {
            let message = "results are stored once already: no split reduction is outside the loops over results";
            return reject(message, "leave it out");
        };
        let over = self.over_axis_of(parts);
        self.fuse(&over[..over.len().min(2)])
    }

    pub(in crate::schedule) fn hoist_reciprocal(&mut self) -> EditResult {
        self.plan.hoists_reciprocal = !self.plan.hoists_reciprocal;
        Ok(())
    }
}

/// Scales a minimum number of iterations from one step to another.
fn scaled(grain: i64, before: i64, step: i64) -> i64 {
    (grain.saturating_mul(before) / step).max(1)
}
