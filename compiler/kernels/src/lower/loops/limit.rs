//! Vectors of which only the first lanes are there: at the end of an axis whose size is not known when code is written.
//!
//! Lanes beyond neither read nor write memory, and change no sum. Only for processors whose loads and stores take masks.

use super::nest::Nest;
use crate::check;
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, Stmt, StmtKind},
};

/// Whether the last vectors of a nest may be such: in lanes beyond, loads give zero, which a check might not like, and
/// words are not loaded one by one.
pub fn takes_masks(nest: &Nest) -> bool {
    let plain = |e: &PrimExpr| check::count(e) == 0;
    nest.target.masks && nest.dot.is_none() && nest.stage.values().all(plain)
}

/// A store for one lane, where only so many are there. `sums` are in registers, and hold something in each lane.
pub fn limited(stmt: Stmt, lane: &Var, is_there: &PrimExpr, sums: Option<&Buffer>) -> Stmt {
    let StmtKind::Store { buffer, indices, value, predicate: None } = stmt.kind else { return stmt };
    let value = masked(&value, lane, is_there, sums);
    let kind = match sums.filter(|sums| **sums == buffer) {
        Some(sums) => {
            let before = PrimExpr::load(sums, indices.clone());
            StmtKind::Store { value: is_there.clone().select(value, before), buffer, indices, predicate: None }
        }
        None => StmtKind::Store { buffer, indices, value, predicate: Some(is_there.clone()) },
    };
    Stmt { kind, span: stmt.span }
}

/// A value whose loads are made only where a lane is there.
fn masked(e: &PrimExpr, lane: &Var, is_there: &PrimExpr, sums: Option<&Buffer>) -> PrimExpr {
    match e.kind() {
        PrimKind::Load(buffer, indices, mask) if e.uses(lane) && sums != Some(buffer) => {
            let indices = indices.iter().map(|index| masked(index, lane, is_there, sums)).collect();
            let mask = mask.as_ref().map_or_else(|| is_there.clone(), |own| own.clone().and(is_there.clone()));
            PrimExpr::load_masked(buffer, indices, Some(mask))
        }
        _ => e.map_children(&mut |child| masked(child, lane, is_there, sums)),
    }
}
