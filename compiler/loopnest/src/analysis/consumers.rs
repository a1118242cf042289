//! Producers and their only consumers.

use crate::{Axis, Footprint, Part, Stage, index::is_same_extent};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, check},
    tir::Buffer,
};

/// Returns an element-wise stage that computes all of a local buffer, and its only consumer, a later stage, with its
/// index.
pub fn single_consumer<'a>(parts: &'a [Part], at: usize, own: &[Buffer]) -> Option<(&'a Stage, usize, &'a Stage)> {
    let Part::Stage(stage) = &parts[at] else { return None };
    let is_made = !stage.reduces() && stage.epilogue.is_none() && own.contains(&stage.buffer);
    if !is_made || !computes_whole_buffer(stage) || !is_pure(stage) {
        return None;
    }
    let mut users =
        (0..parts.len()).filter(|other| *other != at && Footprint::of_part(&parts[*other]).has(&stage.buffer));
    let (user, None) = (users.next().filter(|user| *user > at)?, users.next()) else { return None };
    let Part::Stage(by) = &parts[user] else { return None };
    Some((stage, user, by))
}

/// Returns true if a stage computes its whole buffer, one element at each position of its spatial axes.
pub fn computes_whole_buffer(stage: &Stage) -> bool {
    let spatial: Vec<&Axis> = stage.axes.iter().filter(|axis| !axis.reduce).collect();
    let axis_of = |index: &PrimExpr| spatial.iter().position(|axis| index.as_var() == Some(&axis.var));
    let mut taken = vec![false; spatial.len()];
    let fits = stage.indices.iter().zip(&stage.buffer.shape).all(|(index, size)| {
        is_unit_index(index, size)
            || axis_of(index)
                .is_some_and(|n| !std::mem::replace(&mut taken[n], true) && is_same_extent(&spatial[n].extent, size))
    });
    fits && taken.iter().all(|taken| *taken) && stage.buffer.strides.is_empty()
}

/// Returns true for the only index of a dimension of size 1.
pub fn is_unit_index(index: &PrimExpr, size: &PrimExpr) -> bool {
    index.as_int() == Some(0) && size.as_int() == Some(1)
}

/// Returns true if a stage has no side effects and makes no checks, which must run exactly as often as the program
/// says.
pub fn is_pure(stage: &Stage) -> bool {
    !has_side_effects(stage) && !makes_checks(stage)
}

/// Returns true if a stage binds values or calls functions.
pub fn has_side_effects(stage: &Stage) -> bool {
    let acts = |e: &PrimExpr| match e.kind() {
        PrimKind::Let(..) | PrimKind::Reduce(_) => true,
        PrimKind::Call(call) => call.runs_function(),
        _ => false,
    };
    stage.init.iter().chain([&stage.value]).any(|e| e.any(&mut |e| acts(e)))
}

/// Returns true if a stage makes checks.
pub fn makes_checks(stage: &Stage) -> bool {
    stage.init.iter().chain([&stage.value]).any(|e| check::count(e) > 0)
}
