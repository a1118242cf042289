//! Splits long reductions with few results between the blocks of a GPU.
//!
//! A reduction to one value, the sums of a few columns, or a matmul with a small result and a long reduction would
//! run on a few blocks, while the rest of the GPU is idle. Instead, a first stage reduces parts of the reduction axis,
//! into a workspace, and a second one reduces these partial results:
//!
//! ```text
//! y = Σ x[k]       k: 1048576          y_part[p] = Σ x[p * 4096 + k]       p: 256, k: 4096
//!                                      y = Σ y_part[p]                     p: 256
//! ```
//!
//! Both are stages like others: each has a plan of its own. A part is consecutive, so that results do not depend on the
//! order in which blocks run, and the first of equal elements is still the first. The second stage of an arg-reduction
//! finds the part, and a third one the element.
//!
//! Where the number of parts does not divide the extent, or that is dynamic, elements beyond its end are not read. The
//! number of parts is bounded by what the GPU runs at once; for a dynamic extent it grows with that. Not for reductions
//! in program order, and not where the number of results is large, or assumed to be.

mod stages;

use super::{Scope, Transform};
use crate::{
    Kernel, Machine, Part, Stage,
    access::{combiner, contraction_operands, is_unit, size, spatial, store_axis},
    consumers::is_pure,
};
use hammock_ir::{PrimExpr, prim::PrimKind};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "split-reductions",
    doc: "Splits long reductions with few results between the blocks of a GPU",
    may_alias: false,
    suits_gpus: true,
    run: apply,
};

/// Results of a block where threads share rows of a tile.
const TILE_RESULTS: i64 = 32 * 32;
/// Columns of a block where threads read along results.
const TILE_COLUMNS: i64 = 32;
/// Minimum extent of the rows and columns of a tile.
const MIN_TILE_EXTENT: i64 = 8;
/// Minimum elements of a part for each block.
const MIN_PART_ELEMENTS: i64 = 4096;
/// The same for the sums of a tile.
const MIN_TILE_ELEMENTS: i64 = 512 * TILE_RESULTS;
/// Smallest number of such parts that is worth a second launch.
const MIN_PARTS: i64 = 8;
/// Multiple of the length of parts of a dynamic number of contiguous elements.
const ALIGNED_ELEMENTS: i64 = 32;

fn apply(kernel: &mut Kernel, scope: &mut Scope<'_>) {
    let Machine::Gpu { parts: Some(blocks) } = scope.machine else { return };
    let mut parts = Vec::with_capacity(kernel.parts.len());
    for part in std::mem::take(&mut kernel.parts) {
        match part {
            Part::Stage(stage) => match Split::of(&stage, blocks) {
                Some(split) => {
                    let (stages, buffers) = split.stages();
                    scope.own.extend(buffers);
                    parts.extend(stages.into_iter().map(Part::Stage));
                }
                None => parts.push(Part::Stage(stage)),
            },
            other => parts.push(other),
        }
    }
    kernel.parts = parts;
}

/// A reduction that is split.
struct Split<'a> {
    stage: &'a Stage,
    /// The axis that is split.
    axis: usize,
    pattern: Pattern,
    /// Number of parts, and elements of each.
    count: PrimExpr,
    length: PrimExpr,
}

/// How the threads of a block share a reduction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// A block reduces a row to one result.
    Row,
    /// Threads read along the results.
    Column,
    /// A block computes a tile of a matmul.
    Tile,
}

impl<'a> Split<'a> {
    /// Returns the split of a stage, if it leaves most of `blocks` blocks idle.
    fn of(stage: &'a Stage, blocks: i64) -> Option<Split<'a>> {
        let (_, term) = combiner(stage).filter(|_| stage.init.is_some() && stage.buffer.dtype.is_scalar())?;
        let reads_memory = term.has_loads();
        let fits = reads_memory && !stage.regions && is_pure(stage);
        let pattern = Pattern::of(stage, term);
        let results = spatial(stage).map(|axis| size(&stage.axes[axis].extent)).fold(1, i64::saturating_mul);
        let own_blocks = (results + pattern.results() - 1) / pattern.results();
        let elements = stage.axes.iter().map(|axis| size(&axis.extent)).fold(1, i64::saturating_mul);
        let most = (blocks / own_blocks).min(elements / own_blocks / pattern.part_elements());
        let reduced: Vec<usize> = (0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce).collect();
        let is_dynamic = reduced.iter().any(|axis| stage.axes[*axis].extent.as_int().is_none());
        // Of a dynamic extent, any number of parts may turn out to be useful.
        let most = if is_dynamic { blocks / own_blocks } else { most };
        // Positions in an arg-reduction count along all axes, the first one slowest.
        let candidates = if stage.arg_result.is_some() { &reduced[..1] } else { &reduced[..] };
        (fits && most >= MIN_PARTS).then(|| Split::along(stage, candidates, most, pattern)).flatten()
    }

    /// Returns the split of one of some reduction axes into `most` parts or a few more.
    fn along(stage: &'a Stage, candidates: &[usize], most: i64, pattern: Pattern) -> Option<Split<'a>> {
        let extent = |axis: usize| &stage.axes[axis].extent;
        let even = |axis: &usize| {
            let extent = extent(*axis).as_int()?;
            let parts = (most..=most.saturating_mul(2)).find(|parts| extent % parts == 0 && extent > *parts)?;
            Some((*axis, parts))
        };
        if let Some((axis, parts)) = candidates.iter().find_map(even) {
            let length = extent(axis).as_int()? / parts;
            let of_axis = |n: i64| PrimExpr::int(n, stage.axes[axis].var.dtype());
            return Some(Split { stage, axis, pattern, count: of_axis(parts), length: of_axis(length) });
        }
        if pattern == Pattern::Tile {
            // A condition on elements would keep them from tiles in shared memory.
            return None;
        }
        let axis = *candidates.iter().rev().max_by_key(|axis| size(extent(**axis)))?;
        let dtype = stage.axes[axis].var.dtype();
        let of_axis = |n: i64| PrimExpr::int(n, dtype);
        let others = candidates.iter().filter(|other| **other != axis).map(|axis| size(extent(*axis)));
        let row = others.fold(pattern.results(), i64::saturating_mul);
        let shortest = (MIN_PART_ELEMENTS / row.max(1)).max(1);
        let all = extent(axis).clone().cast(dtype);
        // Parts of contiguous elements start at whole sectors of memory.
        let multiple = if pattern == Pattern::Row && candidates.len() == 1 { ALIGNED_ELEMENTS } else { 1 };
        let count = match all.as_int() {
            Some(all) => of_axis(most.min((all + shortest - 1) / shortest)),
            None => rounded_up(&all, &of_axis(shortest)).min(of_axis(most)).max(of_axis(1)),
        };
        let length = rounded_up(&all, &times(&count, multiple));
        (count.as_int() != Some(1)).then(|| Split { stage, axis, pattern, count, length: times(&length, multiple) })
    }
}

impl Pattern {
    /// Returns the pattern of a reduction of a term.
    fn of(stage: &Stage, term: &PrimExpr) -> Pattern {
        let long = |own: &PrimExpr, other: &PrimExpr| {
            spatial(stage).any(|axis| {
                let axis = &stage.axes[axis];
                own.uses(&axis.var) && !other.uses(&axis.var) && size(&axis.extent) >= MIN_TILE_EXTENT
            })
        };
        if contraction_operands(stage).is_some_and(|(a, b)| long(a, b) && long(b, a)) {
            return Pattern::Tile;
        }
        let along_results = store_axis(stage).map(|axis| &stage.axes[axis].var);
        let is_column = |e: &PrimExpr| match (e.kind(), along_results) {
            (PrimKind::Load(_, indices, _), Some(var)) => indices.last().is_some_and(|last| is_unit(last, var)),
            _ => false,
        };
        let is_own = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(buffer, ..) if *buffer == stage.buffer);
        if term.any(&mut |e| is_column(e) && !is_own(e)) { Pattern::Column } else { Pattern::Row }
    }

    /// Returns the minimum elements of a part for each block.
    fn part_elements(self) -> i64 {
        match self {
            Pattern::Row | Pattern::Column => MIN_PART_ELEMENTS,
            Pattern::Tile => MIN_TILE_ELEMENTS,
        }
    }

    /// Returns the number of results of a block.
    fn results(self) -> i64 {
        match self {
            Pattern::Row => 1,
            Pattern::Column => TILE_COLUMNS,
            Pattern::Tile => TILE_RESULTS,
        }
    }
}

/// Returns `a / b`, rounded up.
fn rounded_up(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) => PrimExpr::int((x + y - 1) / y, a.dtype()),
        (_, Some(y)) => (a + PrimExpr::int(y - 1, a.dtype())).floordiv(b.clone()),
        _ => (a + (b - PrimExpr::int(1, b.dtype()))).floordiv(b.clone()),
    }
}

/// Returns a multiple of a size.
fn times(size: &PrimExpr, by: i64) -> PrimExpr {
    match size.as_int() {
        Some(count) => PrimExpr::int(count.saturating_mul(by), size.dtype()),
        None if by == 1 => size.clone(),
        None => size * PrimExpr::int(by, size.dtype()),
    }
}
