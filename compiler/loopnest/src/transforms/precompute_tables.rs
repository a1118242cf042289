//! Precomputes lookup tables of floating-point expressions that depend on few axes only.
//!
//! Resizing an image computes, for each position along an axis, source coordinates and interpolation weights in
//! floating point. They are the same for all rows and channels, so a stage computes them once, and the original stage
//! loads them.
//!
//! The expressions are scalar, not boolean, and neither load, call functions, check, nor divide integers by an unknown
//! divisor; purely integer ones are recomputed, and so are all in arg-reductions. A table has a dimension for each axis
//! that its expression uses, even if only their sum matters; dynamic axes count with an assumed extent. Tables are
//! computed in each call.

use crate::{
    Axis, Cost, Kernel, Part, Stage, access::size, consumers::is_pure, index::same_expr, raise::Indices, substitution,
    transforms::Transform,
};
use hammock_ir::{PrimExpr, prim::check, tir::Buffer};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "precompute-tables",
    doc: "Computes floating-point functions of the axes once, into lookup tables",
    may_alias: true,
    suits_gpus: false,
    run: |kernel, scope| {
        let added = apply(kernel);
        scope.own.extend(added);
    },
};

/// Minimum operations of an expression; less is recomputed.
const MIN_OPS: u32 = 8;
/// Minimum uses of each entry.
const MIN_USES: i64 = 8;
/// Maximum number of entries.
const MAX_ENTRIES: i64 = 1 << 16;

/// Inserts stages that compute tables before their consumers. Returns the tables.
fn apply(kernel: &mut Kernel) -> Vec<Buffer> {
    let mut made = Vec::new();
    let mut parts = Vec::new();
    for mut part in std::mem::take(&mut kernel.parts) {
        let tables: Vec<Stage> = part.stages_mut().iter_mut().flat_map(extract_tables).collect();
        made.extend(tables.iter().map(|table| table.buffer.clone()));
        parts.extend(tables.into_iter().map(Part::Stage));
        parts.push(part);
    }
    kernel.parts = parts;
    made
}

/// Replaces expressions of a stage by loads from tables. Returns the stages that compute these.
fn extract_tables(stage: &mut Stage) -> Vec<Stage> {
    if stage.arg_result.is_some() || !is_pure(stage) {
        return Vec::new();
    }
    let mut found: Vec<PrimExpr> = Vec::new();
    for value in stage.values() {
        find_candidates(stage, value, &mut found);
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
fn find_candidates(stage: &Stage, e: &PrimExpr, found: &mut Vec<PrimExpr>) {
    if found.iter().any(|known| same_expr(known, e)) {
        return;
    }
    match is_worthwhile(stage, e) {
        true => found.push(e.clone()),
        false => e.each_child(&mut |child| find_candidates(stage, child, found)),
    }
}

fn is_worthwhile(stage: &Stage, e: &PrimExpr) -> bool {
    let dtype = e.dtype();
    if !dtype.is_scalar() || dtype.is_bool() || Cost::of(e).operations < MIN_OPS {
        return false;
    }
    let count = |uses: bool| {
        let axes = stage.axes.iter().filter(|axis| e.uses(&axis.var) == uses);
        axes.map(|axis| size(&axis.extent)).fold(1, i64::saturating_mul)
    };
    let few = count(false) >= MIN_USES && (2..=MAX_ENTRIES).contains(&count(true));
    few && e.any(&mut |e| e.dtype().is_float()) && !check::may_fail(e)
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
