//! Transposes: element-wise stages that store along one axis and load along another.

use super::{Loops, Rule, lanes::register_lanes};
use crate::schedule::{Loop, ScheduleContext, StagePlan, Staged};
use hammock_ir::PrimExpr;
use hammock_loopnest::{
    Stage,
    access::{self, can_be_copied, is_contiguous, is_vectorizable, spatial, store_axis},
};

/// Transposes square tiles in registers.
pub static RULE: Rule = Rule {
    name: "transpose",
    class: "transpose",
    why: "results and loads are contiguous along different axes: in-register transposes",
    doc: "An element-wise stage whose loads are contiguous along another axis than the result: square tiles of one \
          register's lanes are loaded contiguously and transposed in registers. A value of several loads is computed \
          before the transpose.",
    plan,
};

/// Minimum extent of a side, and maximum lanes of a tile: more, of small elements, would be much code.
const MIN_EXTENT: i64 = 2;
const MAX_SIDE: i64 = 16;

fn plan(stage: &Stage, ctx: &ScheduleContext) -> Option<Loops> {
    let along = store_axis(stage).filter(|_| !stage.reduces())?;
    let loads = access::loads(stage);
    let along_var = &stage.axes[along].var;
    let crossing = |load: &&PrimExpr| !is_contiguous(load, along_var);
    let first = loads.iter().copied().find(crossing)?;
    let across = spatial(stage)
        .find(|at| *at != along && first.uses(&stage.axes[*at].var) && is_contiguous(first, &stage.axes[*at].var))?;
    if [along, across].iter().any(|at| stage.axes[*at].extent.as_int().is_some_and(|extent| extent < MIN_EXTENT)) {
        return None;
    }
    let fits = |load: &PrimExpr| can_be_copied(stage, load) && is_contiguous(load, &stage.axes[across].var);
    if !is_vectorizable(&stage.value) || !loads.iter().filter(|load| crossing(load)).all(|load| fits(load)) {
        return None;
    }
    let side = register_lanes(stage, ctx.target).min(MAX_SIDE);
    let outer: Vec<Loop> = spatial(stage)
        .map(|at| if at == along || at == across { Loop::with_step(at, side) } else { Loop::serial(at) })
        .collect();
    let staged = |(load, _): (usize, &PrimExpr)| Staged {
        copy: StagePlan::new("elementwise", vec![Loop::serial(0), Loop::with_step(1, side), Loop::vector(1)]),
        ..Staged::new(load, outer.len(), vec![along, across])
    };
    let several = loads.iter().filter(|load| crossing(load)).count() > 1;
    let across_all = loads.iter().all(|load| is_contiguous(load, &stage.axes[across].var));
    let computed = access::parts(stage).into_iter().enumerate().nth(loads.len());
    let staged = computed.filter(|(_, value)| several && across_all && can_be_copied(stage, value)).map(staged);
    let loops = outer.iter().cloned().chain([Loop::unrolled(across), Loop::vector(along)]).collect();
    Some(Loops { loops, staged: staged.into_iter().collect() })
}
