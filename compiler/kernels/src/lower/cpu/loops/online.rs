//! Loops of an online softmax: over tiles of the elements of a block of rows, around the loops of each stage.

use super::nest::{self, Nest};
use crate::schedule::{OnlinePlan, ScheduleContext, StagePlan, cpu::inner_plan};
use hammock_ir::{
    Attrs, PrimExpr,
    prim::{Substitution, Var},
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    row_tiling::{Online, OnlineTile, Rows, TilePosition},
};

/// An online softmax with its schedule.
pub struct OnlineLoops<'a> {
    /// Stages that can run as one.
    pub rows: &'a Rows,
    /// Their parts.
    pub online: &'a Online,
    /// How it takes the elements of a row.
    pub how: OnlinePlan,
    /// The target, and whether reductions keep their source order.
    pub choice: ScheduleContext<'a>,
}

impl OnlineLoops<'_> {
    /// Returns the loops for a block of rows.
    pub fn tile(&self, position: &[PrimExpr], row_count: i64, plans: &[StagePlan]) -> Stmt {
        let element = Var::int64("element");
        let (at, element_count) = (element.expr(), self.how.elements);
        let at = TilePosition { rows: position, row_count, element: &at, element_count, clamps: false };
        let tile = self.rows.online_tile(self.online, &at);
        let extent = self.rows.online_extent(self.online);
        let step = PrimExpr::int64(element_count);
        let (whole, start) = match extent.as_int() {
            Some(extent) => {
                (PrimExpr::int64(extent / element_count), PrimExpr::int64(extent / element_count * element_count))
            }
            None => {
                let whole = extent.clone().floordiv(step.clone());
                (whole.clone(), whole * step)
            }
        };
        let body = self.stages(&tile.body, plans);
        let each = |at: PrimExpr| substituted(body, &element, at);
        let tiles = nest::strided_loop(&"element_tile".into(), &PrimExpr::int64(0), whole, element_count, each);
        let left = match (extent.as_int(), start.as_int()) {
            (Some(extent), Some(start)) => PrimExpr::int64(extent - start),
            _ => extent.clone() - start.clone(),
        };
        let tail = (left.as_int() != Some(0)).then(|| {
            let body = self.stages(&self.shortened(&tile, row_count, &left), plans);
            let body = substituted(body, &element, start.clone());
            match left.as_int() {
                Some(_) => body,
                None => Stmt::new(StmtKind::If(start.lt(extent), Box::new(body), None)),
            }
        });
        let buffers = tile.buffers.iter().map(|buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Attrs::new())));
        let (before, after) = (self.stages(&tile.before, plans), self.stages(&tile.after, plans));
        let stmts = buffers.chain([before, tiles]).chain(tail).chain([after]);
        Stmt::new(StmtKind::Seq(stmts.collect()))
    }

    /// Returns the stages of a tile of `count` elements.
    fn shortened(&self, tile: &OnlineTile, row_count: i64, count: &PrimExpr) -> Vec<(Option<usize>, Stage)> {
        let mut body = tile.body.clone();
        for (number, stage) in &mut body {
            let axis = number.and_then(|number| self.rows.online_axis(self.online, number, row_count));
            if let Some(axis) = axis {
                stage.axes[axis].extent = count.clone();
            }
        }
        body
    }

    /// Returns the loops of stages, with plans of those that belong to row-tiled stages.
    fn stages(&self, stages: &[(Option<usize>, Stage)], plans: &[StagePlan]) -> Stmt {
        let loops = |(number, stage): &(Option<usize>, Stage)| match number {
            Some(number) => Nest::loops(stage, &plans[*number], self.choice),
            None => Nest::loops(stage, &inner_plan(stage, self.choice), self.choice),
        };
        Stmt::new(StmtKind::Seq(stages.iter().map(loops).collect()))
    }
}

fn substituted(mut stmt: Stmt, var: &Var, value: PrimExpr) -> Stmt {
    stmt.substitute(&Substitution::from_iter([(var.clone(), value)]));
    stmt
}
