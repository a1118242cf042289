//! Stages whose elements combine many values, with no more structure than that.

use super::{
    Choice, Loops, MAX_LANES, Rule, lanes, reduced, register_lanes, spatial,
    window::{self, Window},
};
use crate::{
    plan::Loop,
    stage::{
        Stage,
        access::{loads, reduced_vector_axis, spaced_axis, vector_axis},
    },
};

/// Vectors side by side, so that additions do not wait for each other.
const VECTORS: i64 = 4;
/// The same for each row of results that a window slides over, and the rows.
const WINDOW_VECTORS: i64 = 2;
const ROWS: i64 = 4;
/// Results without vectors that are computed side by side.
const CHAINS: i64 = 8;

/// Neighbouring results as lanes.
pub static LANES_OF_RESULTS: Rule = Rule {
    name: "lanes-of-results",
    class: "reduction",
    why: "results lie side by side, so they are lanes",
    doc: "A reduction over outer axes: neighbouring results are lanes of four registers, which every step of the \
          reduction loads as they lie in memory; where a window slides, of two registers for each of four rows, which \
          share what they load.",
    plan: lanes_of_results,
};

/// Results as lanes that load a few elements apart.
pub static SPACED: Rule = Rule {
    name: "spaced",
    class: "reduction",
    why: "results lie side by side, and what they load a few elements apart",
    doc: "A reduction whose neighbouring results load two to four elements apart, such as pooling in steps: results are \
          lanes of four registers, and vectors of all that lies between are shuffled.",
    plan: spaced,
};

/// Neighbouring terms as lanes.
pub static LANES_OF_TERMS: Rule = Rule {
    name: "lanes-of-terms",
    class: "reduction",
    why: "terms lie side by side, so they are lanes",
    doc: "A reduction along memory: neighbouring terms are lanes of four registers, which are combined in the end. Not \
          with --strict-order.",
    plan: lanes_of_terms,
};

/// Several results side by side.
pub static SIDE_BY_SIDE: Rule = Rule {
    name: "chains",
    class: "reduction",
    why: "nothing lies side by side, so several results are computed at a time",
    doc: "Any other reduction: eight results side by side, so that operations do not wait for each other.",
    plan: chains,
};

fn lanes_of_results(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let axis = vector_axis(stage).filter(|_| stage.reduces())?;
    let window = loads(stage).into_iter().find_map(|load| Window::of(stage, axis, load, choice.strict_order));
    let lanes = lanes(stage, axis, if window.is_some() { WINDOW_VECTORS } else { VECTORS }, choice.target)?;
    let rows = window.as_ref().map(|window| window.rows);
    let outer = spatial(stage).map(|at| match at {
        _ if at == axis => Loop::by(axis, lanes),
        _ if Some(at) == rows => Loop::by(at, ROWS),
        _ => Loop::serial(at),
    });
    let terms = window::terms(stage, window.as_ref());
    let tile = rows.map(Loop::unrolled).into_iter().chain([Loop::vector(axis)]);
    Some(outer.chain(terms).chain(tile).collect::<Vec<_>>().into())
}

/// Lanes of results that load a few elements apart: all of a short axis at once, and terms written out, so that which lanes
/// lie in a padding is known when code is written.
fn spaced(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let axis = spaced_axis(stage).filter(|_| stage.reduces())?;
    let window = loads(stage).into_iter().find_map(|load| Window::of(stage, axis, load, choice.strict_order));
    let lanes = lanes(stage, axis, if window.is_some() { WINDOW_VECTORS } else { VECTORS }, choice.target)?;
    let rows = window.map(|window| window.rows);
    let outer = spatial(stage).map(|at| match at {
        _ if at == axis => Loop::by(axis, lanes),
        _ if Some(at) == rows => Loop::by(at, ROWS),
        _ => Loop::serial(at),
    });
    let tile = rows.map(Loop::unrolled).into_iter().chain([Loop::vector(axis)]);
    Some(outer.chain(window::written_out(stage)).chain(tile).collect::<Vec<_>>().into())
}

fn lanes_of_terms(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let axis = reduced_vector_axis(stage).filter(|_| !choice.strict_order)?;
    let lanes = term_lanes(stage, axis, VECTORS, choice)?;
    Some(
        spatial(stage)
            .map(Loop::serial)
            .chain(terms(stage, axis, lanes))
            .chain([Loop::vector(axis)])
            .collect::<Vec<_>>()
            .into(),
    )
}

/// How many terms of an axis are lanes: a power of two, so that halves can be combined; at least half a register.
pub fn term_lanes(stage: &Stage, axis: usize, registers: i64, choice: &Choice) -> Option<i64> {
    let one = register_lanes(stage, choice.target);
    let most = stage.axes[axis].extent.as_int().unwrap_or(MAX_LANES).max(1);
    let lanes = 1 << (one * registers).min(MAX_LANES).min(most).ilog2();
    (lanes >= 2 && lanes * 2 >= one).then_some(lanes)
}

/// Loops over the reduce axes, so many values of one of them at a time.
pub fn terms(stage: &Stage, axis: usize, lanes: i64) -> impl Iterator<Item = Loop> {
    reduced(stage).map(move |l| if l.axis == axis { Loop::by(axis, lanes) } else { l })
}

fn chains(stage: &Stage, _: &Choice) -> Option<Loops> {
    if !stage.reduces() {
        return None;
    }
    let rows = spatial(stage).next_back();
    let outer = spatial(stage).map(|at| if Some(at) == rows { Loop::by(at, CHAINS) } else { Loop::serial(at) });
    Some(outer.chain(reduced(stage)).chain(rows.map(Loop::unrolled)).collect::<Vec<_>>().into())
}
