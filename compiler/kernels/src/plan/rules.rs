//! Chooses the loops for each stage.

use super::{Class, Kernel, Part, PartPlan, Plan, RowsPlan, Stage, StagePlan, rows::Rows};
use crate::{Target, index::Simplifier};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var},
};

/// Element operations below which a thread is not worth waking: a region costs about 0.2 µs, an operation about 0.1 ns.
const GRAIN: i64 = 32_768;
/// What a symbolic extent is taken for when work is estimated.
const TYPICAL: i64 = 64;
/// Rows of a contraction that are computed side by side: 4 rows of 4 vectors leave half of 32 registers to operands.
const ROWS: i64 = 4;
/// Results of a reduction without vectors that are computed side by side, so that operations do not wait for each other.
const CHAINS: i64 = 8;
/// Vectors side by side, so that additions do not wait for each other.
const VECTORS: i64 = 4;
/// Rows of stages that share rows, where several at a time help.
const TILE_ROWS: i64 = 8;
/// What rows that are worked on together may take, in bytes: it stays in a core's own cache.
pub(super) const CACHE: i64 = 256 << 10;
/// The most lanes of a vector in the lowering.
const MAX_LANES: i64 = 64;

/// A plan for every stage of a kernel.
pub fn choose(kernel: &Kernel, target: &Target) -> Plan {
    let part = |part: &Part| match part {
        Part::Stage(stage) => PartPlan::Stage(stage_plan(stage, target)),
        Part::Rows(rows) => PartPlan::Rows(rows_plan(rows, target)),
        Part::Other(_) => PartPlan::AsWritten,
    };
    Plan { parts: kernel.parts.iter().map(part).collect() }
}

fn rows_plan(rows: &Rows, target: &Target) -> RowsPlan {
    let count = rows.extents().last().and_then(PrimExpr::as_int);
    let position: Vec<PrimExpr> = rows.vars().map(Var::expr).collect();
    let plans = |n: i64| {
        let plan = |stage: &Stage| StagePlan { parallel: None, ..stage_plan(stage, target) };
        rows.tile(&position, n).stages.iter().map(plan).collect::<Vec<_>>()
    };
    let alone = plans(1);
    // Rows side by side let additions of several rows overlap, and products use what they load for all of them.
    let many = alone
        .iter()
        .any(|plan| plan.class == Class::Contraction || (plan.class == Class::Reduction && plan.vector.is_none()));
    let sizes = [TILE_ROWS, TILE_ROWS / 2, 1].into_iter().filter(|n| (*n == 1 || many) && rows.bytes(*n) <= CACHE);
    let tile = sizes.map(|n| n.min(count.unwrap_or(n))).next().unwrap_or(1).max(1);
    let rest = count.map_or(tile.min(2) - 1, |count| count % tile);
    let tiles = [tile, rest].into_iter().filter(|n| *n > 0).map(|n| (n, plans(n))).collect();
    RowsPlan { parallel: parallel_rows(rows, tile), tiles }
}

fn parallel_rows(rows: &Rows, tile: i64) -> Option<(usize, i64)> {
    let extents: Vec<Option<i64>> = rows.extents().map(PrimExpr::as_int).collect();
    let size = |e: &PrimExpr| e.as_int().unwrap_or(TYPICAL).max(1);
    let stage_work = |stage: &Stage| stage.axes.iter().map(|a| size(&a.extent)).fold(1, i64::saturating_mul);
    let work = rows.stages.iter().map(stage_work).fold(0, i64::saturating_add);
    let last = extents.len() - 1;
    let count = |n: usize| extents[n].map(|extent| if n == last { extent / tile } else { extent });
    let axis = (0..=last).find(|n| count(*n).is_none_or(|count| count > 1))?;
    let each = (work / count(axis).unwrap_or(TYPICAL)).max(1);
    let symbolic = rows.stages.iter().any(|stage| stage.axes.iter().any(|a| a.extent.as_int().is_none()));
    (symbolic || work >= 2 * GRAIN).then_some((axis, (GRAIN / each).max(1)))
}

pub(super) fn stage_plan(stage: &Stage, target: &Target) -> StagePlan {
    let vector = vector_axis(stage);
    let reduces = stage.axes.iter().any(|a| a.reduce);
    let class = match (reduces, vector) {
        (false, _) => Class::Elementwise,
        (true, Some(v)) if is_contraction(stage, &stage.axes[v].var) => Class::Contraction,
        _ => Class::Reduction,
    };
    let vector = vector.and_then(|v| lanes(stage, v, class, target).map(|lanes| (v, lanes)));
    let rows = match (class, vector) {
        (Class::Contraction, _) => row_axis(stage, vector.map(|(axis, _)| axis)).map(|axis| (axis, ROWS)),
        (Class::Reduction, None) => stage.axes.iter().rposition(|a| !a.reduce).map(|axis| (axis, CHAINS)),
        _ => None,
    };
    StagePlan { class, vector, rows, parallel: parallel_axis(stage) }
}

/// The axis of a product of which several values are computed side by side.
pub(super) fn product_rows(stage: &Stage) -> Option<usize> {
    let vector = vector_axis(stage)?;
    let product = stage.axes.iter().any(|a| a.reduce) && is_contraction(stage, &stage.axes[vector].var);
    product.then(|| row_axis(stage, Some(vector)))?
}

/// The axis along which the store is contiguous, when every load is contiguous or constant along it.
pub(super) fn vector_axis(stage: &Stage) -> Option<usize> {
    let indices = stage.epilogue.as_ref().map_or(&stage.indices, |epilogue| &epilogue.indices);
    let var = indices.last()?.as_var()?;
    let axis = stage.axes.iter().position(|a| a.var == *var && !a.reduce)?;
    let alone = indices[..indices.len() - 1].iter().all(|i| !i.uses(var));
    let mut fits = alone && stage.target().strides.is_empty() && stage.target().dtype.is_scalar();
    let epilogue = stage.epilogue.as_ref().map(|epilogue| &epilogue.value);
    for value in [&stage.value].into_iter().chain(epilogue) {
        value.walk(&mut |e| match e.kind() {
            PrimKind::Load(buffer, ..) if *buffer == stage.buffer && stage.epilogue.is_some() => {}
            PrimKind::Load(buffer, indices, _) if indices.iter().any(|i| i.uses(var)) => {
                let (last, rest) = indices.split_last().unwrap_or_else(|| unreachable!("an index uses the variable"));
                fits &= buffer.strides.is_empty() && rest.iter().all(|i| !i.uses(var)) && is_unit(last, var);
            }
            // A call whose effect or order matters stays scalar.
            PrimKind::Call(call) => fits &= !call.runs_function(),
            PrimKind::Let(..) | PrimKind::Reduce(_) => fits = false,
            _ => {}
        });
    }
    fits.then_some(axis)
}

/// Whether an index is the variable plus something without it.
fn is_unit(index: &PrimExpr, var: &Var) -> bool {
    let coefficient = Simplifier::default().poly(index).coefficient(var);
    coefficient.is_some_and(|c| c.as_constant() == Some(1))
}

/// `y + a * b`, one factor constant along the vector axis.
fn is_contraction(stage: &Stage, var: &Var) -> bool {
    let PrimKind::Binary(BinaryOp::Add, _, product) = stage.value.kind() else { return false };
    match product.kind() {
        PrimKind::Binary(BinaryOp::Mul, a, b) => a.uses(var) != b.uses(var),
        _ => false,
    }
}

/// The spatial axis before the vector axis that the vector operand does not use.
fn row_axis(stage: &Stage, vector: Option<usize>) -> Option<usize> {
    let vector = vector?;
    let var = &stage.axes[vector].var;
    let PrimKind::Binary(_, _, product) = stage.value.kind() else { return None };
    let PrimKind::Binary(_, a, b) = product.kind() else { return None };
    let shared = if a.uses(var) { a } else { b };
    let candidates = stage.axes.iter().enumerate().rev().filter(|(i, a)| *i != vector && !a.reduce);
    candidates.filter(|(_, a)| !shared.uses(&a.var)).map(|(i, _)| i).next()
}

/// How many lanes: as many as fill the registers that the class uses, no more than the axis has.
fn lanes(stage: &Stage, axis: usize, class: Class, target: &Target) -> Option<i64> {
    let one = register_lanes(stage, target);
    let many = match class {
        Class::Elementwise => one * 2,
        Class::Reduction => one * VECTORS,
        Class::Contraction if target.vector_registers >= 32 => one * VECTORS,
        Class::Contraction => one,
    };
    let most = stage.axes[axis].extent.as_int().unwrap_or(MAX_LANES);
    let lanes = many.min(MAX_LANES).min(most);
    // A part of one register may have any length; several registers are filled whole.
    let lanes = if lanes > one { 1 << lanes.ilog2() } else { lanes };
    (lanes >= 2).then_some(lanes)
}

/// How many elements one register holds. Masks and comparisons of small elements would fill a register many times over:
/// elements count four bytes at least.
pub(super) fn register_lanes(stage: &Stage, target: &Target) -> i64 {
    let bytes = stage.buffer.dtype.bytes().max(4) as i64;
    (i64::from(target.vector_bytes) / bytes).max(1)
}

/// The outermost spatial axis, when there is work for several threads.
fn parallel_axis(stage: &Stage) -> Option<(usize, i64)> {
    let size = |e: &PrimExpr| e.as_int().unwrap_or(TYPICAL).max(1);
    let axis = stage.axes.iter().position(|a| !a.reduce && a.extent.as_int() != Some(1))?;
    let work: i64 = stage.axes.iter().map(|a| size(&a.extent)).fold(1, i64::saturating_mul);
    let symbolic = stage.axes.iter().any(|a| a.extent.as_int().is_none());
    let each = (work / size(&stage.axes[axis].extent)).max(1);
    let grain = (GRAIN / each).max(1);
    (symbolic || work >= 2 * GRAIN).then_some((axis, grain))
}
