//! Editing of a plan.

use super::EditResult;
use crate::schedule::{
    Loop, ScheduleContext, StagePlan, Staged,
    check::{Item, check},
    cpu::inner_plan,
    text::loop_text,
};
use hammock_ir::PrimExpr;
use hammock_loopnest::{Stage, index::same_expr};

/// Rejection of a primitive.
#[derive(Debug)]
pub struct Rejection {
    /// The violated condition.
    pub message: String,
    /// Suggested fix.
    pub help: String,
}

impl Rejection {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Rejection {
        Rejection { message: message.into(), help: help.into() }
    }
}

pub(super) fn reject(message: impl Into<String>, help: impl Into<String>) -> EditResult {
    Err(Rejection::new(message, help))
}

/// Violation found after all primitives.
pub struct Fault {
    /// The violated condition.
    pub message: String,
    /// Suggested fix.
    pub help: String,
    /// Index of the responsible primitive, if there is one.
    pub change: Option<usize>,
    /// The resulting loops.
    pub loops: String,
}

/// Editor of a stage's plan.
pub struct Edit<'a> {
    /// The current plan.
    pub plan: StagePlan,
    /// Names of the stage's axes.
    pub axes: Vec<String>,
    /// Names of the copy candidates.
    pub parts: Vec<String>,
    /// Index of the current primitive.
    pub now: usize,
    pub(super) stage: &'a Stage,
    pub(super) ctx: ScheduleContext<'a>,
    /// Index of the primitive that changed each loop.
    pub(super) loops_of: Vec<Option<usize>>,
    pub(super) copies: Vec<Copy>,
}

/// Origin of a copy.
pub(super) struct Copy {
    /// Index of the primitive that created or moved it.
    pub change: Option<usize>,
    /// Sizes that it is scheduled for, if it is.
    pub sizes: Option<Vec<PrimExpr>>,
}

impl<'a> Edit<'a> {
    /// Starts to edit a plan, given the names of axes and copy candidates.
    pub(in crate::schedule) fn new(
        plan: StagePlan,
        stage: &'a Stage,
        ctx: ScheduleContext<'a>,
        axes: Vec<String>,
        parts: Vec<String>,
    ) -> Edit<'a> {
        let loops_of = vec![None; plan.loops.len()];
        let copies = plan.staged.iter().map(|staged| Copy { change: None, sizes: Some(sizes(&plan, stage, staged)) });
        let copies = copies.collect();
        Edit { plan, axes, parts, now: 0, stage, ctx, loops_of, copies }
    }

    /// Checks the plan, and schedules copies that are new or have changed size. `inner`: true if enclosing loops may be
    /// parallel.
    ///
    /// # Errors
    /// If the plan is invalid.
    pub(in crate::schedule) fn finish(mut self, inner: bool) -> Result<StagePlan, Box<Fault>> {
        check(self.stage, &self.plan, &self.axes, self.ctx, inner).map_err(|violation| {
            let (change, item) = match violation.at {
                Item::Loop(number) => (self.loops_of[number], Some(loop_text(&self.plan.loops[number], &self.axes))),
                Item::Copy(number) => (self.copies[number].change, None),
                Item::Plan | Item::Reciprocal => (None, None),
            };
            let message = match item {
                Some(item) => format!("`{item}`: {}", violation.message),
                None => violation.message,
            };
            let loops: Vec<String> = self.plan.loops.iter().map(|l| loop_text(l, &self.axes)).collect();
            Box::new(Fault { message, help: violation.help, change, loops: loops.join(", ") })
        })?;
        for number in 0..self.plan.staged.len() {
            let (staged, before) = (&self.plan.staged[number], &self.copies[number].sizes);
            let now = sizes(&self.plan, self.stage, staged);
            let same = |before: &Vec<PrimExpr>| before.iter().zip(&now).all(|(a, b)| same_expr(a, b));
            if !before.as_ref().is_some_and(same) {
                self.plan.staged[number].copy = inner_plan(&self.plan.copy_of(self.stage, staged), self.ctx);
            }
        }
        Ok(self.plan)
    }

    pub(super) fn axis(&self, number: usize) -> String {
        self.axes[self.plan.loops[number].axis].clone()
    }

    pub(super) fn is_reduced(&self, number: usize) -> bool {
        self.stage.axes[self.plan.loops[number].axis].reduce
    }

    /// Returns the loops over the axis of a loop, outermost first.
    pub(super) fn over_axis_of(&self, number: usize) -> Vec<usize> {
        let axis = self.plan.loops[number].axis;
        (0..self.plan.loops.len()).filter(|at| self.plan.loops[*at].axis == axis).collect()
    }

    /// Returns the extent of a loop, if it is known.
    pub(super) fn left(&self, number: usize) -> Option<i64> {
        let axis = self.plan.loops[number].axis;
        self.plan.range(axis, number).or(self.stage.axes[axis].extent.as_int())
    }

    /// Inserts a loop around the one at an index.
    pub(super) fn insert(&mut self, at: usize, new: Loop) {
        self.plan.loops.insert(at, new);
        self.loops_of.insert(at, Some(self.now));
        self.plan.staged.iter_mut().filter(|staged| staged.inside > at).for_each(|staged| staged.inside += 1);
    }
}

/// Returns the sizes of a copy.
fn sizes(plan: &StagePlan, stage: &Stage, staged: &Staged) -> Vec<PrimExpr> {
    plan.copy_of(stage, staged).axes.into_iter().map(|axis| axis.extent).collect()
}
