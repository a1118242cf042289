//! Selects the stages that are tiled together.

use super::accesses::Accesses;
use crate::{
    Part, Stage,
    access::{contraction_operands, reduction_vector_axis, store_axis, vector_axis},
    contraction::contraction_columns,
    row_axes::{SharedAxis, StageAccesses, share_all_axes, unvectorized_axes},
    transforms::collapse_axes::AxisPair,
};
use hammock_ir::tir::Buffer;
use std::collections::BinaryHeap;

/// Minimum reduction extent for a horizontal reduction.
const MIN_LANE_EXTENT: i64 = 8;

/// Maximum extent of a vectorized axis that fills few lanes.
const MAX_SHORT_EXTENT: i64 = 8;

/// The same of a contraction's register tile. A transposed convolution of 128 channels of 16 x 16 elements takes two
/// thirds of the time.
const MAX_SHORT_ROW: i64 = 32;

/// Stages of a kernel with common row axes.
pub struct Members {
    /// Their indices, in order.
    pub parts: Vec<usize>,
    /// Their common row axes.
    pub axes: Vec<SharedAxis<Buffer>>,
}

impl Members {
    /// Returns the stages that can be row-tiled with a given one, the last of them; `None` if there are no others.
    /// Parts in between that cannot run before all of them. Such stages are connected by a buffer that one of them
    /// stores, so only these are tried.
    pub fn before(parts: &[Part], accesses: &Accesses, last: usize) -> Option<Members> {
        let mut candidates = vec![Candidate::new(&parts[last])?];
        let mut found: Option<Members> = None;
        let mut numbers = vec![last];
        let earliest = accesses.after_opaque(last);
        let connected = |stage: &Stage, before: usize| {
            accesses.connected(stage).filter(move |part| (earliest..before).contains(part)).collect::<Vec<_>>()
        };
        let mut open = BinaryHeap::from(connected(candidates[0].stage, last));
        while let Some(at) = open.pop() {
            while open.peek() == Some(&at) {
                open.pop();
            }
            let is_between = |part: usize| part > at && part < last && !numbers.contains(&part);
            let candidate =
                Candidate::new(&parts[at]).filter(|candidate| !accesses.conflict(candidate.stage, is_between));
            let Some(candidate) = candidate else { continue };
            let stage = candidate.stage;
            candidates.insert(0, candidate);
            match row_axes(&candidates) {
                Some(axes) => {
                    numbers.insert(0, at);
                    found = Some(Members { parts: numbers.clone(), axes });
                    open.extend(connected(stage, at));
                }
                // A stage before these may have axes of its own.
                None if share_all_axes(&accesses_of(&candidates), |number| candidates[number].lanes) => {
                    numbers.insert(0, at);
                    open.extend(connected(stage, at));
                }
                None => _ = candidates.remove(0),
            }
        }
        found
    }

    /// Returns true if all stages are vectorized along a short axis that collapses with the last row axis, which
    /// [`collapse_axes`](crate::transforms::collapse_axes) does to stages that are not tiled; or a contraction with
    /// another axis of its results, which fills register tiles.
    pub fn lengthen_vectors(&self, parts: &[Part]) -> bool {
        let contraction = |part: &usize| match &parts[*part] {
            Part::Stage(stage) => contraction_operands(stage).is_some() && fills_register_tiles(stage),
            _ => false,
        };
        if self.parts.iter().any(contraction) {
            return true;
        }
        let Some(row) = self.axes.last() else { return false };
        self.parts.iter().zip(&row.axes).all(|(part, row)| {
            let Part::Stage(stage) = &parts[*part] else { return false };
            vector_axis(stage).is_some_and(|lanes| {
                let pair = AxisPair { outer: stage.axes[*row].clone(), inner: stage.axes[lanes].clone() };
                pair.inner.extent.as_int().is_some_and(|extent| extent <= MAX_SHORT_EXTENT) && pair.fits(stage)
            })
        })
    }
}

/// Returns true if a contraction is vectorized along a short axis that collapses with another one.
fn fills_register_tiles(stage: &Stage) -> bool {
    let Some(lanes) = vector_axis(stage) else { return false };
    let is_short = stage.axes[lanes].extent.as_int().is_some_and(|extent| extent <= MAX_SHORT_ROW);
    is_short
        && (0..stage.axes.len()).filter(|axis| *axis != lanes && !stage.axes[*axis].reduce).any(|axis| {
            let pair = AxisPair { outer: stage.axes[axis].clone(), inner: stage.axes[lanes].clone() };
            pair.fits(stage)
        })
}

struct Candidate<'a> {
    stage: &'a Stage,
    accesses: StageAccesses<Buffer>,
    /// The axis that can be vectorized, possibly after packing.
    lanes: Option<usize>,
}

impl Candidate<'_> {
    fn new(part: &Part) -> Option<Candidate<'_>> {
        match part {
            Part::Stage(stage) => {
                let accesses = StageAccesses::of(stage)?;
                let extent = |axis: usize| stage.axes[axis].extent.as_int();
                let terms =
                    reduction_vector_axis(stage).filter(|axis| extent(*axis).is_none_or(|n| n >= MIN_LANE_EXTENT));
                let copied = || store_axis(stage).filter(|_| terms.is_none());
                let lanes = vector_axis(stage).or_else(copied).or_else(|| contraction_columns(stage));
                Some(Candidate { stage, accesses, lanes })
            }
            _ => None,
        }
    }
}

/// Returns the common axes that no stage needs for vectorization.
fn row_axes(candidates: &[Candidate]) -> Option<Vec<SharedAxis<Buffer>>> {
    let target_of = |buffer: &Buffer| {
        let mut targets = candidates.iter().map(|c| c.stage.target());
        targets.find(|target| target.data == buffer.data)
    };
    let is_known = |buffer: &Buffer| target_of(buffer).is_none_or(|target| target == buffer);
    let as_stored = |c: &Candidate| c.accesses.loads.iter().all(|load| is_known(&load.buffer));
    if !candidates.iter().all(|c| as_stored(c) && is_known(c.stage.target())) {
        return None;
    }
    unvectorized_axes(&accesses_of(candidates), |number| candidates[number].lanes)
}

fn accesses_of<'a>(candidates: &'a [Candidate]) -> Vec<&'a StageAccesses<Buffer>> {
    candidates.iter().map(|candidate| &candidate.accesses).collect()
}
