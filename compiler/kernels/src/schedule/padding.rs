//! Zero padding of packed copies up to a multiple of a size.
//!
//! Padding also sets the row stride of a copy. If all operands that vary along the vector axis are padded copies, no
//! tail vectors are needed: zeros do not change a sum, and results past the end are not stored.

use super::{StagePlan, Staged, cpu::register_lanes};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, check},
};
use hammock_loopnest::{
    Stage,
    access::{combiner, parts},
    index::same_expr,
    replaced, steps,
};
use hammock_target::Target;

impl Staged {
    /// Returns the padded size of an axis.
    pub fn padded_size(&self, axis: usize, count: &PrimExpr) -> PrimExpr {
        match (self.padded.get(&axis), count.as_int()) {
            (None, _) => count.clone(),
            (Some(to), Some(count)) => PrimExpr::int64((count + to - 1) / to * to),
            (Some(to), None) => steps(count, *to) * PrimExpr::int64(*to),
        }
    }
}

impl StagePlan {
    /// Returns true if full vectors may run past the end of their axis: every operand that varies along it is a padded
    /// copy.
    pub fn fills_vectors(&self, stage: &Stage, target: &Target) -> bool {
        let Some((axis, (_, term))) = self.vector().map(|l| l.axis).zip(combiner(stage)) else { return false };
        let own = &stage.axes[axis];
        let lanes = if own.reduce { self.reduction_step(axis) } else { register_lanes(stage, target) };
        let is_whole = self.loops.iter().filter(|l| l.axis == axis && l.step != 1).all(|l| l.step % lanes == 0);
        let mut copies = self.staged.iter().filter(|staged| staged.axes.contains(&axis));
        let have_room = copies.all(|staged| staged.padded.get(&axis).is_some_and(|to| to % lanes == 0));
        let zero = |term, part: &PrimExpr| replaced(&term, part, &PrimExpr::constant(0.0, part.dtype()));
        let rest = self.padded(stage, axis).fold(term.clone(), zero);
        let harmless = match own.reduce {
            true => self.preserves_sum(stage, axis),
            false => own.extent.as_int().is_some() && check::count(&rest) == 0,
        };
        is_whole && have_room && harmless && !rest.uses(&own.var)
    }

    /// Returns true if reduced elements are zero wherever operands along an axis are zero, so that padding does not
    /// change the sum.
    pub fn preserves_sum(&self, stage: &Stage, axis: usize) -> bool {
        let var = &stage.axes[axis].var;
        let is_read = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(..)) && e.uses(var);
        let zero = |e: &PrimExpr| is_read(e) || self.padded(stage, axis).any(|part| same_expr(part, e));
        combiner(stage).is_some_and(|(op, term)| op == BinaryOp::Add && is_zero(term, &zero))
    }

    /// Returns the operands whose copies are padded along an axis.
    fn padded<'a>(&'a self, stage: &'a Stage, axis: usize) -> impl Iterator<Item = &'a PrimExpr> {
        let parts = parts(stage);
        let copies = self.staged.iter().filter(move |staged| staged.padded.contains_key(&axis));
        copies.map(move |staged| parts[staged.load])
    }
}

/// Returns true if an expression is zero if all subexpressions that satisfy `zero` are.
fn is_zero(e: &PrimExpr, zero: &dyn Fn(&PrimExpr) -> bool) -> bool {
    match e.kind() {
        _ if zero(e) => true,
        PrimKind::Cast(a) => is_zero(a, zero),
        PrimKind::Binary(BinaryOp::Mul | BinaryOp::Add, a, b) => is_zero(a, zero) && is_zero(b, zero),
        _ => false,
    }
}
