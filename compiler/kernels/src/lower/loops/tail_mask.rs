//! Vectors of which only the first lanes are there: at the end of an axis whose size is not known when code is written.
//!
//! Lanes beyond neither read nor write memory, and change no sum. Only for processors whose loads and stores take masks.

use super::{nest::Nest, tile::Sums};
use crate::check;
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Stmt, StmtKind},
};

/// Returns true if the last vectors of a nest may be such: in lanes beyond, loads give zero, which a check might not
/// like, and words are not loaded one by one.
pub fn takes_masks(nest: &Nest) -> bool {
    let plain = |e: &PrimExpr| check::count(e) == 0;
    nest.choice.target.masks && nest.dot.is_none() && nest.stage.values().all(plain)
}

/// A store for one lane, or several, where only so many are there. `sums` are in registers, and hold something in each lane.
pub fn limited(stmt: Stmt, lane: &Var, is_there: &PrimExpr, sums: Option<&Sums>) -> Stmt {
    let kind = match stmt.kind {
        StmtKind::Seq(stmts) => {
            StmtKind::Seq(stmts.into_iter().map(|stmt| limited(stmt, lane, is_there, sums)).collect())
        }
        StmtKind::Bind(var, value) => StmtKind::Bind(var, masked(&value, lane, is_there, sums)),
        StmtKind::Store { buffer, indices, value, predicate: None } => {
            let value = masked(&value, lane, is_there, sums);
            if sums.is_some_and(|sums| sums.has(&buffer)) {
                let before = PrimExpr::load(&buffer, indices.clone());
                StmtKind::Store { value: is_there.clone().select(value, before), buffer, indices, predicate: None }
            } else {
                StmtKind::Store { buffer, indices, value, predicate: Some(is_there.clone()) }
            }
        }
        kind => kind,
    };
    Stmt { kind, span: stmt.span }
}

/// A value whose loads are made only where a lane is there.
fn masked(e: &PrimExpr, lane: &Var, is_there: &PrimExpr, sums: Option<&Sums>) -> PrimExpr {
    match e.kind() {
        PrimKind::Load(buffer, indices, mask) if e.uses(lane) && !sums.is_some_and(|sums| sums.has(buffer)) => {
            let indices = indices.iter().map(|index| masked(index, lane, is_there, sums)).collect();
            let mask = mask.as_ref().map_or_else(|| is_there.clone(), |own| own.clone().and(is_there.clone()));
            PrimExpr::load_masked(buffer, indices, Some(mask))
        }
        _ => e.map_children(&mut |child| masked(child, lane, is_there, sums)),
    }
}
