//! Masked tails: the last vector along an axis of dynamic extent, in which only the first lanes are active.
//!
//! Inactive lanes neither read nor write memory, and leave accumulators unchanged. Needs a target with masked loads and
//! stores.

use super::{nest::Nest, tile::Accumulators};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var, check},
    tir::{Stmt, StmtKind},
};

/// Returns true if a nest may use masked tails. Checks rule them out, because inactive lanes load zero, which a check
/// may reject; so do packed groups, which are not loaded element by element.
pub fn supports_tail_mask(nest: &Nest) -> bool {
    let plain = |e: &PrimExpr| check::count(e) == 0;
    nest.choice.target.masks && nest.dot.is_none() && nest.stage.values().all(plain)
}

/// Predicates the stores of a statement. Accumulators (`sums`) are in registers, and keep their value in inactive
/// lanes.
pub fn mask_lanes(stmt: Stmt, lane: &Var, is_active: &PrimExpr, sums: Option<&Accumulators>) -> Stmt {
    let kind = match stmt.kind {
        StmtKind::Seq(stmts) => {
            StmtKind::Seq(stmts.into_iter().map(|stmt| mask_lanes(stmt, lane, is_active, sums)).collect())
        }
        StmtKind::Bind(var, value) => StmtKind::Bind(var, mask_loads(&value, lane, is_active, sums)),
        StmtKind::Store { buffer, indices, value, predicate: None } => {
            let value = mask_loads(&value, lane, is_active, sums);
            if sums.is_some_and(|sums| sums.has(&buffer)) {
                let before = PrimExpr::load(&buffer, indices.clone());
                StmtKind::Store { value: is_active.clone().select(value, before), buffer, indices, predicate: None }
            } else {
                StmtKind::Store { buffer, indices, value, predicate: Some(is_active.clone()) }
            }
        }
        kind => kind,
    };
    Stmt { kind, span: stmt.span }
}

/// Masks the loads of a value.
fn mask_loads(e: &PrimExpr, lane: &Var, is_active: &PrimExpr, sums: Option<&Accumulators>) -> PrimExpr {
    match e.kind() {
        PrimKind::Load(buffer, indices, mask) if e.uses(lane) && !sums.is_some_and(|sums| sums.has(buffer)) => {
            let indices = indices.iter().map(|index| mask_loads(index, lane, is_active, sums)).collect();
            let mask = mask.as_ref().map_or_else(|| is_active.clone(), |own| own.clone().and(is_active.clone()));
            PrimExpr::load_masked(buffer, indices, Some(mask))
        }
        _ => e.map_children(&mut |child| mask_loads(child, lane, is_active, sums)),
    }
}
