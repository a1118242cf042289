//! Selects the stages that are tiled together.

use super::accesses::Accesses;
use crate::{
    Part, Stage,
    access::{reduction_vector_axis, store_axis, vector_axis},
    contraction::contraction_columns,
};
use hammock_ir::{
    PrimExpr,
    prim::PrimKind,
    tir::{
        Buffer,
        rows::{Nest, NestAxis, Shared, rows},
    },
};
use std::collections::BinaryHeap;

/// Minimum reduction extent for a horizontal reduction.
const MIN_LANE_EXTENT: i64 = 8;

/// Stages of a kernel with common row axes.
pub struct Members {
    /// Their indices, in order.
    pub parts: Vec<usize>,
    /// Their common row axes.
    pub axes: Vec<Shared<Buffer>>,
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
                None => _ = candidates.remove(0),
            }
        }
        found
    }
}

struct Candidate<'a> {
    stage: &'a Stage,
    nest: Nest<Buffer>,
    /// The axis that can be vectorized, possibly after packing.
    lanes: Option<usize>,
}

impl Candidate<'_> {
    fn new(part: &Part) -> Option<Candidate<'_>> {
        match part {
            Part::Stage(stage) if is_plain(stage) && stage.arg_result.is_none() => {
                let extent = |axis: usize| stage.axes[axis].extent.as_int();
                let terms =
                    reduction_vector_axis(stage).filter(|axis| extent(*axis).is_none_or(|n| n >= MIN_LANE_EXTENT));
                let copied = || store_axis(stage).filter(|_| terms.is_none());
                let lanes = vector_axis(stage).or_else(copied).or_else(|| contraction_columns(stage));
                Some(Candidate { stage, nest: nest(stage), lanes })
            }
            _ => None,
        }
    }
}

/// Returns the common axes that no stage needs for vectorization.
fn row_axes(candidates: &[Candidate]) -> Option<Vec<Shared<Buffer>>> {
    let target_of = |buffer: &Buffer| {
        let mut targets = candidates.iter().map(|c| c.stage.target());
        targets.find(|target| target.data == buffer.data)
    };
    let is_known = |buffer: &Buffer| target_of(buffer).is_none_or(|target| target == buffer);
    let as_stored = |c: &Candidate| c.nest.loads.iter().all(|load| is_known(&load.buffer));
    if !candidates.iter().all(|c| as_stored(c) && is_known(c.stage.target())) {
        return None;
    }
    let nests: Vec<&Nest<Buffer>> = candidates.iter().map(|c| &c.nest).collect();
    rows(&nests, |number| candidates[number].lanes)
}

/// Returns true if a stage's values have no side effects, and access memory by plain loads only.
fn is_plain(stage: &Stage) -> bool {
    let acts = |e: &PrimExpr| match e.kind() {
        PrimKind::Let(..) | PrimKind::Reduce(_) | PrimKind::Load(_, _, Some(_)) => true,
        PrimKind::Var(var) => var.dtype().is_handle(),
        PrimKind::Call(call) => call.runs_function(),
        _ => false,
    };
    !stage.values().any(|e| e.any(&mut |e| acts(e)))
}

fn nest(stage: &Stage) -> Nest<Buffer> {
    let axes = stage.axes.iter();
    let axis = |a: &super::Axis| NestAxis { var: a.var.clone(), extent: a.extent.clone(), reduce: a.reduce };
    let indices = stage.epilogue.as_ref().map_or(&stage.indices, |epilogue| &epilogue.indices);
    let mut loads = Vec::new();
    for value in stage.values() {
        value.walk(&mut |e| {
            if let PrimKind::Load(buffer, indices, _) = e.kind()
                && (stage.epilogue.is_none() || *buffer != stage.buffer)
            {
                loads.push((buffer.clone(), buffer, indices.as_slice()));
            }
        });
    }
    let target = stage.target();
    Nest::new(axes.map(axis).collect(), (target.clone(), target, indices), loads)
}
