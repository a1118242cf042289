//! Checks of packed copies and their padding.

use super::{Check, Checked, Item, violation};
use crate::schedule::{Staged, names};
use hammock_ir::PrimExpr;
use hammock_loopnest::{
    access::{can_be_copied, parts},
    index::same_expr,
};

/// Maximum bytes of a copy.
const MAX_COPY_BYTES: i64 = 256 << 20;
/// Maximum multiple to pad to: an axis of dynamic size may grow by as much.
const MAX_PADDING: i64 = 4096;

impl Check<'_> {
    pub(super) fn check_copy(&self, number: usize) -> Checked {
        let staged = &self.plan.staged[number];
        let parts = parts(self.stage);
        let load = parts[staged.load];
        let buffer = &names::parts(self.stage)[staged.load];
        let fail = |message: String, help: String| violation(Item::Copy(number), message, help);
        if self.plan.staged[..number].iter().any(|other| other.load == staged.load) {
            return fail(format!("`{buffer}` is copied already"), "leave out one of the copies".to_owned());
        }
        let within = |other: &Staged| {
            other.inside > staged.inside && parts[staged.load].any(&mut |e| same_expr(e, parts[other.load]))
                || other.inside < staged.inside && parts[other.load].any(&mut |e| same_expr(e, load))
        };
        if self.plan.staged[..number].iter().any(within) {
            let message = "a copy of the computed value leaves nothing of this to copy inside".to_owned();
            return fail(message, "leave out one of the two copies".to_owned());
        }
        if staged.stages != 1 {
            return fail("copies in stages are for GPUs".to_owned(), "leave out `in N stages`".to_owned());
        }
        if staged.inside > self.tile {
            let message = format!("this copy of `{buffer}` is inside the register tile");
            return fail(message, "put it before the reduction, `unrolled` and `vector` loops".to_owned());
        }
        if !can_be_copied(self.stage, load) {
            let message = format!("loads of `{buffer}` are conditional, or their indices are not affine");
            return fail(message, "leave out the copy".to_owned());
        }
        for (at, axis) in staged.axes.iter().enumerate() {
            let name = &self.names[*axis];
            if staged.axes[..at].contains(axis) {
                return fail(format!("`{name}` is repeated among the copy's axes"), "leave out one".to_owned());
            }
            if !load.uses(&self.stage.axes[*axis].var) {
                let message = format!("`{buffer}` is invariant along `{name}`");
                return fail(message, format!("leave `{name}` out of the copy's axes"));
            }
        }
        let single = |axis: usize| {
            self.stage.axes[axis].extent.as_int() == Some(1) || self.plan.range(axis, staged.inside) == Some(1)
        };
        let missing = (0..self.stage.axes.len())
            .find(|axis| load.uses(&self.stage.axes[*axis].var) && !staged.axes.contains(axis) && !single(*axis));
        let room = |axis: &usize| {
            let size = self.plan.range(*axis, staged.inside).or(self.stage.axes[*axis].extent.as_int());
            let room = staged.padded_size(*axis, &PrimExpr::int64(size.unwrap_or(1)));
            room.as_int().unwrap_or(i64::MAX)
        };
        let bytes = staged.axes.iter().map(room).fold(load.dtype().bytes() as i64, i64::saturating_mul);
        if bytes > MAX_COPY_BYTES {
            let message = format!("this copy of `{buffer}` takes {bytes} bytes, more than {MAX_COPY_BYTES}");
            return fail(message, "put it inside loops with smaller steps".to_owned());
        }
        if let Some(name) = missing.map(|axis| &self.names[axis]) {
            let message = format!("`{buffer}` varies along `{name}`, which has several values where the copy is made");
            return fail(message, format!("add `{name}` to the copy's axes"));
        }
        staged.padded.iter().try_for_each(|(axis, to)| self.check_padding(number, *axis, *to))
    }

    /// Checks the padding of an axis.
    fn check_padding(&self, number: usize, axis: usize, to: i64) -> Checked {
        let (staged, name) = (&self.plan.staged[number], &self.names[axis]);
        let buffer = &names::parts(self.stage)[staged.load];
        let fail = |message: String, help: &str| violation(Item::Copy(number), message, help);
        if to > MAX_PADDING {
            let message = format!("padding `{name}` to a multiple of {to} exceeds the limit of {MAX_PADDING}");
            return fail(message, "choose the vector length, or slightly more than a cache line");
        }
        if self.plan.packed_axis(self.stage, staged).is_some_and(|(terms, _)| terms == axis) {
            let message =
                format!("this copy of `{buffer}` is packed along `{name}`, and its last group is padded already");
            return fail(message, "leave it out, or choose another axis");
        }
        let of_terms = self.plan.vector().is_some_and(|l| l.axis == axis) && self.stage.axes[axis].reduce;
        if of_terms && !self.plan.preserves_sum(self.stage, axis) {
            let message = format!("zero padding of `{name}` would change the result");
            return fail(message, "leave it out");
        }
        Ok(())
    }
}
