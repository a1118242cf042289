//! Copies of data that row-tiled stages read for every row, made once in the order in which they are used.

use super::Rows;
use crate::{Stage, access, replaced};
use hammock_ir::{PrimExpr, tir::Buffer};

/// A copy of what a load reads, shared by all rows of the last row axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedCopy {
    /// Index of the stage.
    pub stage: usize,
    /// Index among the distinct loads of the stage's value.
    pub load: usize,
    /// Axes of the stage that the load varies along, in the order of the copy's dimensions; none is a row axis.
    pub axes: Vec<usize>,
}

impl Rows {
    /// Returns the row-tiled stages that read copies, and the stages that make these at a position of all row axes but
    /// the last.
    pub fn with_copies<'a>(
        &self,
        copies: impl IntoIterator<Item = &'a SharedCopy>,
        position: &[PrimExpr],
    ) -> (Rows, Vec<Stage>) {
        let mut rows = self.clone();
        let mut made = Vec::new();
        for copied in copies {
            // Indices of loads refer to the original stage.
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

    /// Returns true if a load is invariant along the last row axis, and none of the stages writes its memory.
    pub fn is_row_invariant(&self, number: usize, load: &PrimExpr) -> bool {
        let last = self.axes.len() - 1;
        let row = &self.stages[number].axes[self.axes[last].axes[number]].var;
        let computed = |stage: &Stage| load.any(&mut |e| access::is_load_of(e, stage.target()));
        !load.uses(row) && !self.stages.iter().any(computed)
    }
}
