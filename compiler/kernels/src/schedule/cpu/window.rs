//! Sliding windows: depthwise convolutions and pooling.

use super::reduced;
use crate::schedule::{Loop, ScheduleContext};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
};
use hammock_loopnest::{
    Stage,
    access::{self, MAX_STRIDE, contraction_operands, spatial},
    index::{Simplifier, same_expr},
};

/// A window that slides over the loaded data: adjacent rows of results share most loads.
pub struct Window {
    /// The axis of the rows.
    pub rows: usize,
    /// Unrolled axes of the window, so that loads shared by rows are recognized: all of them, or for a large window
    /// only the axis that slides over the rows.
    pub taps: Vec<usize>,
}

/// Maximum number of unrolled taps.
const MAX_TAPS: i64 = 25;

impl Window {
    /// Finds the window of a load that is contiguous along `axis`.
    pub fn of(stage: &Stage, axis: usize, load: &PrimExpr, strict_order: bool) -> Option<Window> {
        // Ignores an upcast, and padding.
        let load = if let PrimKind::Cast(narrow) = load.kind() { narrow } else { load };
        let load = access::guarded(load).map_or(load, |(_, load, _)| load);
        let PrimKind::Load(_, indices, _) = load.kind() else { return None };
        let tap = |at: usize, index: &PrimExpr| {
            let mut reduced = reduced(stage).map(|l| l.axis);
            reduced.find(|tap| slides(index, &stage.axes[at].var, &stage.axes[*tap].var))
        };
        let slide = |at: usize| {
            let mut along = indices.iter().filter(|index| index.uses(&stage.axes[at].var));
            along.next().and_then(|index| tap(at, index)).filter(|_| along.next().is_none())
        };
        let others = spatial(stage).rev().filter(|at| *at != axis);
        let (rows, own) = others.filter_map(|at| Some((at, slide(at)?))).next()?;
        // Axes after the first one are inside of it: all are unrolled.
        let taps: Vec<usize> = reduced(stage).map(|l| l.axis).filter(|tap| *tap >= own).collect();
        let few = |taps: &Vec<usize>| {
            let count = taps.iter().try_fold(1i64, |count, tap| count.checked_mul(stage.axes[*tap].extent.as_int()?));
            count.is_some_and(|count| (1..=MAX_TAPS).contains(&count))
        };
        // Unrolling only one axis reorders the reduction.
        let only = || Some(vec![own]).filter(|own| !strict_order && few(own));
        let taps = Some(taps).filter(few).or_else(only)?;
        Some(Window { rows, taps })
    }
}

/// Returns true if an index is affine in two variables with small positive coefficients.
fn slides(index: &PrimExpr, a: &Var, b: &Var) -> bool {
    let poly = Simplifier::default().poly(index);
    let few = |var: &Var| {
        let times = poly.coefficient(var).and_then(|times| times.as_constant());
        times.is_some_and(|times| (1..=MAX_STRIDE).contains(&times))
    };
    few(a) && few(b)
}

/// Returns loops over the reduction axes, the unrolled ones of a window last.
pub fn reduction_loops(stage: &Stage, window: Option<&Window>) -> impl Iterator<Item = Loop> {
    let is_tap = move |l: &Loop| window.is_some_and(|window| window.taps.contains(&l.axis));
    let taps = reduced(stage).filter(move |l| is_tap(l)).map(|l| Loop::unrolled(l.axis));
    reduced(stage).filter(move |l| !is_tap(l)).chain(taps)
}

/// Minimum tiles of rows that read the same vectors for loops in the order of memory. Few tiles wait for weights to come
/// from memory, which is faster in another order, with a sequential stream for each element of the window: 3x3
/// convolutions with 512 channels of 7x7 elements, which have 7 tiles, take 0.6 of the time.
const MIN_TILES_IN_ORDER: i64 = 32;
/// Maximum steps of the innermost loop if the other operand is not contiguous along it: each may be on another page, and
/// the TLB has entries for about as many. With 110 channels of 25x22x24 elements, a convolution took 1.5 times as long.
const MAX_PAGES: i64 = 96;

/// Returns serial loops over the reduction axes in the order of the vector operand's dimensions, if several tiles of
/// `side` rows, inside loops `outer`, read its vectors from a cache: they are read sequentially. Convolutions of 7x7
/// with 64 channels of 28x28 elements take 0.8 of the time.
pub fn in_memory_order(
    stage: &Stage,
    operand: &PrimExpr,
    side: i64,
    outer: &[Loop],
    ctx: &ScheduleContext,
) -> Option<Vec<Loop>> {
    let PrimKind::Load(_, indices, None) = operand.kind() else { return None };
    let rows = spatial(stage).filter(|at| !operand.uses(&stage.axes[*at].var));
    let count =
        rows.map(|at| stage.axes[at].extent.as_int()).try_fold(ctx.repeats, |all, extent| all.checked_mul(extent?))?;
    let dimension = |l: &Loop| indices.iter().position(|index| index.uses(&stage.axes[l.axis].var));
    let mut loops: Vec<Loop> = reduced(stage).collect();
    let is_known = loops.len() > 1 && loops.iter().all(|l| dimension(l).is_some());
    loops.sort_by_key(dimension);
    let last = loops.last()?.axis;
    let part = outer.iter().rev().find(|l| l.axis == last).map(|l| l.step);
    let steps = part.or_else(|| stage.axes[last].extent.as_int())?;
    let (a, b) = contraction_operands(stage)?;
    let other = if same_expr(a, operand) { b } else { a };
    let is_near = steps <= MAX_PAGES || access::all_contiguous(other, &stage.axes[last].var);
    (is_known && is_near && count / side >= MIN_TILES_IN_ORDER).then_some(loops)
}

/// Returns loops over the reduction axes, the innermost ones unrolled while these have few elements.
pub fn unrolled_loops(stage: &Stage) -> impl Iterator<Item = Loop> {
    let mut count = 1i64;
    let mut loops: Vec<Loop> = reduced(stage).collect();
    for l in loops.iter_mut().rev() {
        count = stage.axes[l.axis].extent.as_int().map_or(i64::MAX, |extent| count.saturating_mul(extent));
        if count > MAX_TAPS {
            break;
        }
        *l = Loop::unrolled(l.axis);
    }
    loops.into_iter()
}
