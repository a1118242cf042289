//! Register tiles of contractions: the rows and lanes of results that are accumulated in registers.

use super::{even_block, lanes::register_lanes};
use crate::schedule::ScheduleContext;
use hammock_ir::{PrimExpr, prim::PrimKind};
use hammock_loopnest::{
    Axis, Stage,
    access::{self, contraction_operands},
};

/// Loads that the rows and vectors of a register tile share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Rows share each loaded vector, and vectors each broadcast element.
    Rows,
    /// The same, of a convolution: vectors are loaded from several places, one for each element of the window, and rows
    /// are those of an image.
    Convolution,
    /// Adjacent rows of a sliding window share most vectors, which stay in registers.
    SlidingWindow,
}

/// Rows up to which the tile of a convolution is that of a matmul.
const FEW_ROWS: i64 = 8;
/// Rows of a convolution's tile of one vector, and accumulators of one of two. A tile of 14 x 2 instead of 4 x 4
/// accumulators loads half as many vectors for each row, and rows of 21 results have two tiles instead of six:
/// convolutions of 3x3 to 7x7 and 3x3x3 elements take 0.71 to 0.95 of the time.
const CONVOLUTION_ROWS: i64 = 16;
const CONVOLUTION_ACCUMULATORS: i64 = 28;

/// Returns the register tile, rows and lanes: as many accumulators as registers hold, to hide latency, in blocks of
/// nearly equal size. Windows leave registers for their taps. `None` if a row has one result.
pub fn register_tile(
    stage: &Stage,
    axis: usize,
    rows: Option<usize>,
    ctx: &ScheduleContext,
    reuse: Reuse,
) -> Option<(i64, i64)> {
    let has_many_registers = ctx.target.vector_registers >= 32;
    let count = rows.map_or(Some(1), |at| stage.axes[at].extent.as_int());
    let long = reuse == Reuse::Convolution && has_many_registers && count.is_some_and(|count| count > FEW_ROWS);
    let (registers, most_rows, wide) = match (has_many_registers, reuse) {
        (true, _) if long => (CONVOLUTION_ACCUMULATORS, CONVOLUTION_ROWS, 2),
        (true, Reuse::SlidingWindow) => (8, 4, 2),
        (true, _) => (16, 8, 4),
        (false, Reuse::SlidingWindow) => (4, 4, 1),
        (false, _) => (12, 6, 2),
    };
    let one = register_lanes(stage, ctx.target);
    let few = count.filter(|count| *count <= most_rows && !long).map(|count| count.max(1));
    let width = few.map_or(wide, |count| registers / count);
    let columns = stage.axes[axis].extent.as_int();
    let width = columns.map_or(width, |columns| even_block((columns + one - 1) / one, width));
    let side = (registers / width).min(most_rows);
    let lanes = columns.unwrap_or(i64::MAX).min(width * one).max(1);
    let side = few.unwrap_or_else(|| count.map_or(side, |count| even_block(count, side)));
    (lanes > 1).then_some((side, lanes))
}

/// Returns true if a window slides over an operand of a contraction: an index of a load is of a reduction axis and of a
/// spatial axis of that operand alone. Axes of both operands, as groups are, select the channels that are reduced.
pub fn is_convolution(stage: &Stage) -> bool {
    let Some((a, b)) = contraction_operands(stage) else { return false };
    let of_one = |axis: &Axis| !axis.reduce && a.uses(&axis.var) != b.uses(&axis.var);
    let slides = |index: &PrimExpr| {
        let uses = |axis: &&Axis| index.uses(&axis.var);
        stage.axes.iter().filter(uses).any(|axis| axis.reduce) && stage.axes.iter().filter(uses).any(of_one)
    };
    access::loads(stage).into_iter().any(|load| match load.kind() {
        PrimKind::Load(_, indices, _) => indices.iter().any(slides),
        _ => false,
    })
}
