//! Prefetches of a tile: a few cache lines in each step of its reduction.

use super::{Tile, shifted};
use crate::schedule::Prefetch;
use hammock_ir::{
    DType, PrimExpr,
    prim::flat::PREFETCH,
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::substitution;

impl Tile<'_> {
    /// Returns the prefetches for one step of the reduction at a position, if the plan has any.
    pub(super) fn prefetch_next_part(&self, at: &[PrimExpr]) -> Option<Stmt> {
        let stage = self.nest.stage;
        let Prefetch { rows: (rows, step), axis, load, distance, line, lines, shares } =
            self.nest.plan.prefetch(stage)?;
        // Few rows wait for memory only, which is fastest when read sequentially.
        if self.at.extents[rows].as_int() != Some(step) {
            return None;
        }
        let tile = self.at.position[rows].clone().floordiv(PrimExpr::int64(step));
        let first = match shares {
            1 => PrimExpr::int64(0),
            _ => tile.floormod(PrimExpr::int64(shares)) * PrimExpr::int64(lines * line),
        };
        let of_line = |number: i64| {
            let at = shifted(at, axis, first.clone() + PrimExpr::int64(number * line));
            let element = load.substitute(&substitution(&stage.axes, &at));
            let call =
                PrimExpr::intrin(PREFETCH, vec![element, PrimExpr::int64(distance), PrimExpr::int64(2)], DType::VOID);
            Stmt::new(StmtKind::Evaluate(call))
        };
        Some(Stmt::seq((0..lines).map(of_line)))
    }
}
