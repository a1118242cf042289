//! Precomputes lookup tables of floating-point expressions and of clamped indices that depend on few axes only.
//!
//! Resizing an image computes, for each position along an axis, source coordinates and interpolation weights in
//! floating point. They are the same for all rows and channels, so a stage computes them once, and the original stage
//! loads them.
//!
//! A gather along the contiguous axis clamps the same indices in every row: these are loaded from parameters that the
//! kernel does not write.
//!
//! The other expressions are scalar, not boolean, and neither load, call functions, check, nor divide integers by an unknown
//! divisor; purely integer ones are recomputed, and so are all in arg-reductions. A table has a dimension for each axis
//! that its expression uses, even if only their sum matters; dynamic axes count with an assumed extent. Tables are
//! computed in each call.

use crate::{
    Axis, Cost, Kernel, Part, Stage,
    access::{size, store_axis},
    consumers::is_pure,
    index::same_expr,
    raise::Indices,
    substitution,
    transforms::Transform,
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var, check},
    tir::{Buffer, PrimFunc},
};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "precompute-tables",
    doc: "Computes floating-point functions of the axes, and clamped indices, once, into lookup tables",
    may_alias: true,
    suits_gpus: false,
    run: |kernel, scope| {
        let inputs = unwritten_inputs(kernel, scope.func);
        let added = apply(kernel, &inputs);
        scope.own.extend(added);
    },
};

/// Minimum operations of an expression; less is recomputed.
const MIN_OPS: u32 = 8;
/// Minimum uses of each entry.
const MIN_USES: i64 = 8;
/// Maximum number of entries.
const MAX_ENTRIES: i64 = 1 << 16;

/// Returns the parameters that no stage writes, not even by another name.
fn unwritten_inputs(kernel: &Kernel, func: &PrimFunc) -> Vec<Var> {
    let is_plain = func.is_noalias() && kernel.parts.iter().all(|part| !matches!(part, Part::Opaque(_)));
    let params = func.params.iter().filter_map(|param| Some(param.buffer.as_ref()?.data.clone()));
    let is_written = |data: &Var| {
        let mut stages = kernel.parts.iter().flat_map(Part::stages);
        stages.any(|stage| stage.targets().any(|target| target.data == *data))
    };
    params.filter(|data| is_plain && !is_written(data)).collect()
}

/// Inserts stages that compute tables before their consumers. Returns the tables.
fn apply(kernel: &mut Kernel, inputs: &[Var]) -> Vec<Buffer> {
    let mut made = Vec::new();
    let mut parts = Vec::new();
    for mut part in std::mem::take(&mut kernel.parts) {
        let tables: Vec<Stage> = part.stages_mut().iter_mut().flat_map(|stage| extract_tables(stage, inputs)).collect();
        made.extend(tables.iter().map(|table| table.buffer.clone()));
        parts.extend(tables.into_iter().map(Part::Stage));
        parts.push(part);
    }
    kernel.parts = parts;
    made
}

/// Replaces expressions of a stage by loads from tables. Returns the stages that compute these.
fn extract_tables(stage: &mut Stage, inputs: &[Var]) -> Vec<Stage> {
    if stage.arg_result.is_some() || !is_pure(stage) {
        return Vec::new();
    }
    let mut found: Vec<PrimExpr> = Vec::new();
    for value in stage.values() {
        find_candidates(stage, inputs, value, &mut found);
    }
    let tables: Vec<Stage> = found.iter().map(|e| table_stage(stage, e)).collect();
    let put = |e: &PrimExpr| {
        found.iter().zip(&tables).fold(e.clone(), |e, (number, table)| {
            let own = stage.axes.iter().filter(|axis| number.uses(&axis.var)).map(|axis| axis.var.expr());
            crate::replaced(&e, number, &PrimExpr::load(&table.buffer, own.collect()))
        })
    };
    *stage = stage.map_values(put);
    tables
}

/// Finds the maximal subexpressions that are worth a table.
fn find_candidates(stage: &Stage, inputs: &[Var], e: &PrimExpr, found: &mut Vec<PrimExpr>) {
    if found.iter().any(|known| same_expr(known, e)) {
        return;
    }
    if is_costly(e) && is_reused(stage, e) {
        return found.push(e.clone());
    }
    if let PrimKind::Load(_, indices, _) = e.kind() {
        for index in indices.iter().filter(|index| is_clamped_input(stage, inputs, index) && is_reused(stage, index)) {
            if !found.iter().any(|known| same_expr(known, index)) {
                found.push(index.clone());
            }
        }
    }
    e.each_child(&mut |child| find_candidates(stage, inputs, child, found));
}

/// Returns true for a floating-point expression that costs more than a load.
fn is_costly(e: &PrimExpr) -> bool {
    let is_scalar = e.dtype().is_scalar() && !e.dtype().is_bool();
    is_scalar && Cost::of(e).operations >= MIN_OPS && e.any(&mut |e| e.dtype().is_float()) && !check::may_fail(e)
}

/// Returns true for an index that changes along the contiguous axis and is computed from elements of parameters.
fn is_clamped_input(stage: &Stage, inputs: &[Var], index: &PrimExpr) -> bool {
    let is_along = |axis: usize| index.uses(&stage.axes[axis].var);
    let is_computed = Cost::of(index).operations >= 2 && index.dtype().is_scalar();
    is_computed && store_axis(stage).is_some_and(is_along) && is_safe_of_inputs(stage, inputs, index)
}

/// Returns true for a sum, product, minimum or maximum of elements of parameters, which are read in order: that is safe for
/// all values of the axes, whatever condition the expression is under.
fn is_safe_of_inputs(stage: &Stage, inputs: &[Var], e: &PrimExpr) -> bool {
    use BinaryOp::{Add, Max, Min, Mul, Sub};
    let is_whole = |index: &PrimExpr, size: &PrimExpr| {
        stage.axes.iter().any(|axis| index.as_var() == Some(&axis.var) && same_expr(&axis.extent, size))
    };
    match e.kind() {
        PrimKind::Int(_) => true,
        PrimKind::Load(buffer, indices, None) => {
            inputs.contains(&buffer.data)
                && indices.iter().zip(&buffer.shape).all(|(index, size)| is_whole(index, size))
        }
        PrimKind::Binary(Add | Sub | Mul | Min | Max, a, b) => {
            [a, b].into_iter().all(|e| is_safe_of_inputs(stage, inputs, e))
        }
        PrimKind::Cast(e) => is_safe_of_inputs(stage, inputs, e),
        _ => false,
    }
}

/// Returns true if each entry of a table of an expression is used often.
fn is_reused(stage: &Stage, e: &PrimExpr) -> bool {
    let count = |uses: bool| {
        let axes = stage.axes.iter().filter(|axis| e.uses(&axis.var) == uses);
        axes.map(|axis| size(&axis.extent)).fold(1, i64::saturating_mul)
    };
    count(false) >= MIN_USES && (2..=MAX_ENTRIES).contains(&count(true))
}

/// Returns the stage that computes an expression for each position of the axes that it depends on.
fn table_stage(stage: &Stage, number: &PrimExpr) -> Stage {
    let own: Vec<&Axis> = stage.axes.iter().filter(|axis| number.uses(&axis.var)).collect();
    let mut axes: Vec<Axis> = own.iter().map(|axis| Axis::spatial(axis.var.fresh(), axis.extent.clone())).collect();
    let at: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
    let of: Vec<Axis> = own.into_iter().cloned().collect();
    let buffer = Buffer::new("table", of.iter().map(|axis| axis.extent.clone()).collect(), number.dtype());
    let value = number.substitute(&substitution(&of, &at));
    let simple = Indices::new(&mut axes);
    let (indices, value) = (simple.simple(&at), simple.value(&value));
    Stage::new(format!("{}_table", stage.name), axes, buffer, indices, value)
}
