//! What stages that share rows read for every row, copied once in the order in which they use it.

use super::Rows;
use crate::{
    plan::RowsPlan,
    stage::{Stage, access, replaced},
};
use hammock_ir::{PrimExpr, prim::Var, tir::Buffer};

/// A copy of what a load reads, for all rows of the last axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Copied {
    /// The number of the stage.
    pub stage: usize,
    /// Which of the different loads of the stage's value, in order.
    pub load: usize,
    /// The stage's axes that the load changes along, in the order of the copy's dimensions; none of them a row axis.
    pub axes: Vec<usize>,
}

impl Rows {
    /// The rows of a plan, reading its copies; and the stages that copy, for any position.
    pub fn copies(&self, plan: &RowsPlan) -> (Rows, Vec<Stage>) {
        let mut position: Vec<PrimExpr> = self.vars().map(Var::expr).collect();
        position.pop();
        self.with_copies(plan.copied.iter().map(|(copied, _)| copied), &position)
    }

    /// The same rows, reading copies; and the stages that copy, for a position on all row axes but the last.
    pub fn with_copies<'a>(
        &self,
        copies: impl IntoIterator<Item = &'a Copied>,
        position: &[PrimExpr],
    ) -> (Rows, Vec<Stage>) {
        let mut rows = self.clone();
        let mut made = Vec::new();
        for copied in copies {
            // Loads keep their numbers in the stage as it was.
            let stage = &self.stages[copied.stage];
            let load = access::loads(stage)[copied.load];
            let counts: Vec<PrimExpr> = copied.axes.iter().map(|axis| stage.axes[*axis].extent.clone()).collect();
            let mut at = vec![PrimExpr::int64(0); stage.axes.len()];
            for (shared, position) in self.axes.iter().zip(position) {
                at[shared.axes[copied.stage]] = position.clone();
            }
            let to = Buffer::new("copy", counts.clone(), load.dtype());
            let indices = copied.axes.iter().map(|axis| stage.axes[*axis].var.expr()).collect();
            let own = &mut rows.stages[copied.stage];
            own.value = replaced(&own.value, load, &PrimExpr::load(&to, indices));
            made.push(stage.copy_of(load, &copied.axes, counts, &at, to, None));
        }
        (rows, made)
    }

    /// Returns true if a load of a stage reads the same for all rows of the last axis, from memory that is there
    /// before.
    pub fn is_same_for_rows(&self, number: usize, load: &PrimExpr) -> bool {
        let last = self.axes.len() - 1;
        let row = &self.stages[number].axes[self.axes[last].axes[number]].var;
        let computed = |stage: &Stage| load.any(&mut |e| access::is_load_of(e, stage.target()));
        !load.uses(row) && !self.stages.iter().any(computed)
    }
}
