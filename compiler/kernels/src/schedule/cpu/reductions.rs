//! Reductions other than contractions.

use super::{
    Loops, Rule,
    lanes::{MAX_LANES, lanes, register_lanes},
    reduced,
    window::{self, Window},
};
use crate::schedule::{Loop, ScheduleContext};
use hammock_loopnest::{
    Stage,
    access::{loads, reduction_vector_axis, spatial, strided_axis, vector_axis},
};

/// Vectors of independent accumulators, to hide latency.
const VECTORS: i64 = 4;
/// The same for each row of results of a sliding window, and the number of rows.
const WINDOW_VECTORS: i64 = 2;
const ROWS: i64 = 4;
/// Maximum number of taps of a sliding window that is not reduced horizontally, if the taps of a row fill vectors, and
/// otherwise. Measured for strides of 2 and 3: a window of 8 x 8 takes 4 cycles horizontally and 5 vertically, one of
/// 12 x 12 takes 16 and 11.
const MAX_FULL_WINDOW_TAPS: i64 = 48;
const MAX_WINDOW_TAPS: i64 = 240;
/// Maximum number of results that are reduced from the same loads at once.
const MAX_SHARING: i64 = 4;
/// Scalar accumulators of an unrolled reduction.
const SCALAR_ACCUMULATORS: i64 = 8;

/// Vectorizes along the results.
pub static VERTICAL: Rule = Rule {
    name: "vertical-reduction",
    class: "reduction",
    why: "results are contiguous, so lanes are results",
    doc: "A reduction over outer axes, vectorized along the contiguous results with four vector accumulators. For a \
          sliding window, two accumulators for each of four rows, which share loads.",
    plan: vertical,
};

/// Vectorizes along the output axis with strided loads (stride 2 to 4), e.g. strided pooling.
pub static STRIDED: Rule = Rule {
    name: "strided-reduction",
    class: "reduction",
    why: "results are contiguous, and loads have a small stride",
    doc: "A reduction whose loads have stride 2 to 4 along the contiguous results, such as strided pooling: vectorized \
          along the results with four accumulators, one for a dynamic size, by contiguous loads and shuffles.",
    plan: strided,
};

/// Vectorizes along the reduction.
pub static HORIZONTAL: Rule = Rule {
    name: "horizontal-reduction",
    class: "reduction",
    why: "the reduction axis is contiguous, so it is vectorized",
    doc: "A reduction along a contiguous axis, vectorized along it with four accumulators, whose lanes are combined at \
          the end. Up to four results that reduce the same data are unrolled, which share its loads. Not with --strict-order, nor for a sliding window with a small stride and few taps.",
    plan: horizontal,
};

/// Unrolls independent scalar accumulators.
pub static UNROLLED: Rule = Rule {
    name: "unrolled-reduction",
    class: "reduction",
    why: "no contiguous axis, so independent accumulators hide latency",
    doc: "Any other reduction: eight independent scalar accumulators, to hide latency.",
    plan: unrolled,
};

fn vertical(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let axis = vector_axis(stage).filter(|_| stage.reduces())?;
    if shares_loads_horizontally(stage, axis, ctx) {
        return None;
    }
    let window = loads(stage).into_iter().find_map(|load| Window::of(stage, axis, load, ctx.strict_order));
    let lanes = lanes(stage, axis, if window.is_some() { WINDOW_VECTORS } else { VECTORS }, ctx.target)?;
    let rows = window.as_ref().map(|window| window.rows);
    let outer = spatial(stage).map(|at| match at {
        _ if at == axis => Loop::with_step(axis, lanes),
        _ if Some(at) == rows => Loop::with_step(at, ROWS),
        _ => Loop::serial(at),
    });
    let terms = window::reduction_loops(stage, window.as_ref());
    let tile = rows.map(Loop::unrolled).into_iter().chain([Loop::vector(axis)]);
    Some(outer.chain(terms).chain(tile).collect::<Vec<_>>().into())
}

/// Vectorizes all of a short axis at once, and unrolls the reduction: which lanes are padding is then known at compile
/// time.
fn strided(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let axis = strided_axis(stage).filter(|_| stage.reduces())?;
    let window = loads(stage).into_iter().find_map(|load| Window::of(stage, axis, load, ctx.strict_order));
    let vectors = match stage.axes[axis].extent.as_int() {
        // Masked strided loads of a tail load all lanes.
        None if window.is_none() => 1,
        _ if window.is_some() => WINDOW_VECTORS,
        _ => VECTORS,
    };
    let lanes = lanes(stage, axis, vectors, ctx.target)?;
    let rows = window.map(|window| window.rows);
    let outer = spatial(stage).map(|at| match at {
        _ if at == axis => Loop::with_step(axis, lanes),
        _ if Some(at) == rows => Loop::with_step(at, ROWS),
        _ => Loop::serial(at),
    });
    let tile = rows.map(Loop::unrolled).into_iter().chain([Loop::vector(axis)]);
    Some(outer.chain(window::unrolled_loops(stage)).chain(tile).collect::<Vec<_>>().into())
}

fn horizontal(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let axis = reduction_vector_axis(stage).filter(|_| !ctx.strict_order)?;
    let lanes = horizontal_lanes(stage, axis, VECTORS, ctx)?;
    if strided_axis(stage).is_some() && is_short_window(stage, axis, lanes) {
        return None;
    }
    let sharing = sharing_axis(stage, axis);
    let outer = spatial(stage).map(|at| match sharing {
        Some((sharing, extent)) if sharing == at => Loop::with_step(at, extent),
        _ => Loop::serial(at),
    });
    let tile = sharing.map(|(sharing, _)| Loop::unrolled(sharing)).into_iter().chain([Loop::vector(axis)]);
    Some(outer.chain(reduction_loops(stage, axis, lanes)).chain(tile).collect::<Vec<_>>().into())
}

/// Returns true if a horizontal reduction fills vectors, while the few results along `axis` do not.
fn shares_loads_horizontally(stage: &Stage, axis: usize, ctx: &ScheduleContext) -> bool {
    let reduced = reduction_vector_axis(stage).filter(|_| !ctx.strict_order);
    reduced.is_some_and(|reduced| {
        let lanes = horizontal_lanes(stage, reduced, 1, ctx);
        let sharing = sharing_axis(stage, reduced).filter(|(sharing, _)| *sharing == axis);
        lanes.zip(sharing).is_some_and(|(lanes, (_, results))| lanes > results)
    })
}

/// Returns a short axis of results that are reduced from the same contiguous loads along `axis`, and its extent.
fn sharing_axis(stage: &Stage, axis: usize) -> Option<(usize, i64)> {
    let loads = loads(stage);
    let is_shared =
        |at: usize| loads.iter().any(|load| load.uses(&stage.axes[axis].var) && !load.uses(&stage.axes[at].var));
    let extent = |at: usize| stage.axes[at].extent.as_int().filter(|extent| (2..=MAX_SHARING).contains(extent));
    let plain = stage.arg_result.is_none();
    spatial(stage).rev().filter(|at| plain && is_shared(*at)).find_map(|at| Some((at, extent(at)?)))
}

/// Returns true if a sliding window has too few taps to pay for a horizontal reduction of each result. It pays earlier if
/// the taps of a row fill vectors.
fn is_short_window(stage: &Stage, axis: usize, lanes: i64) -> bool {
    let mut extents = reduced(stage).map(|l| stage.axes[l.axis].extent.as_int());
    let taps = extents.try_fold(1i64, |taps, extent| taps.checked_mul(extent?));
    let fills = stage.axes[axis].extent.as_int().is_some_and(|extent| extent % lanes == 0);
    taps.is_some_and(|taps| taps <= if fills { MAX_FULL_WINDOW_TAPS } else { MAX_WINDOW_TAPS })
}

/// Returns the lanes of a horizontal reduction: a power of two, so that halves can be combined; at least half a
/// register.
pub fn horizontal_lanes(stage: &Stage, axis: usize, registers: i64, ctx: &ScheduleContext) -> Option<i64> {
    let one = register_lanes(stage, ctx.target);
    let most = stage.axes[axis].extent.as_int().unwrap_or(MAX_LANES).max(1);
    let lanes = 1 << (one * registers).min(MAX_LANES).min(most).ilog2();
    (lanes >= 2 && lanes * 2 >= one).then_some(lanes)
}

/// Returns loops over the reduction axes, with step `lanes` along one of them.
pub fn reduction_loops(stage: &Stage, axis: usize, lanes: i64) -> impl Iterator<Item = Loop> {
    reduced(stage).map(move |l| if l.axis == axis { Loop::with_step(axis, lanes) } else { l })
}

fn unrolled(stage: &Stage, _: &ScheduleContext) -> Option<Loops> {
    if !stage.reduces() {
        return None;
    }
    let rows = spatial(stage).next_back();
    let outer = spatial(stage)
        .map(|at| if Some(at) == rows { Loop::with_step(at, SCALAR_ACCUMULATORS) } else { Loop::serial(at) });
    Some(outer.chain(reduced(stage)).chain(rows.map(Loop::unrolled)).collect::<Vec<_>>().into())
}
