//! The loops of stages that share rows: over the rows, and inside of them those of each stage.

use super::nest;
use crate::{
    Target,
    plan::{RowsPlan, StagePlan},
    stage::rows::Rows,
};
use hammock_ir::{
    Attrs, PrimExpr,
    tir::{Stmt, StmtKind},
};

/// The loops of a plan.
pub fn loops(rows: &Rows, plan: &RowsPlan, target: &Target) -> Stmt {
    Loops { rows, plan, target }.axis(&mut Vec::new())
}

struct Loops<'a> {
    rows: &'a Rows,
    plan: &'a RowsPlan,
    target: &'a Target,
}

impl Loops<'_> {
    /// Loops over the axes after those that have a position.
    fn axis(&self, position: &mut Vec<PrimExpr>) -> Stmt {
        let number = position.len();
        let extents: Vec<&PrimExpr> = self.rows.extents().collect();
        if number + 1 < extents.len() {
            return self.each(number, position, PrimExpr::int64(0), extents[number].clone(), 1, |position| {
                self.axis(position)
            });
        }
        let (rows, copies) = self.rows.with_copies(self.plan.copied.iter().map(|(copied, _)| copied), position);
        let mut parts = Vec::new();
        for (copy, (_, plan)) in copies.iter().zip(&self.plan.copied) {
            parts.push(Stmt::new(StmtKind::Alloc(copy.buffer.clone(), Attrs::new())));
            parts.push(nest::loops(copy, plan, self.target));
        }
        parts.push(Loops { rows: &rows, ..*self }.tiles(position));
        Stmt::new(StmtKind::Seq(parts))
    }

    /// The loops over the last axis.
    fn tiles(&self, position: &mut Vec<PrimExpr>) -> Stmt {
        let number = position.len();
        let extents: Vec<&PrimExpr> = self.rows.extents().collect();
        let (mut start, mut parts) = (PrimExpr::int64(0), Vec::new());
        for (rows, stages) in &self.plan.tiles {
            let (count, next) = match extents[number].as_int() {
                Some(extent) => {
                    let (from, count) = (start.as_int().unwrap_or(0), PrimExpr::int64);
                    let whole = (extent - from) / rows;
                    (count(whole), count(from + whole * rows))
                }
                None => {
                    let step = PrimExpr::int64(*rows);
                    let whole = extents[number].clone().floordiv(step.clone()) * step.clone();
                    ((extents[number].clone() - &start).floordiv(step), whole)
                }
            };
            parts.push(self.each(number, position, start, count, *rows, |at| self.tile(at, *rows, stages)));
            start = next;
        }
        Stmt::seq(parts)
    }

    /// `for i in range(count)`: position `start + i * step` on an axis.
    fn each(
        &self,
        number: usize,
        position: &mut Vec<PrimExpr>,
        start: PrimExpr,
        count: PrimExpr,
        step: i64,
        body: impl FnOnce(&mut Vec<PrimExpr>) -> Stmt,
    ) -> Stmt {
        let name = self.rows.vars().nth(number).map(|var| var.name().clone()).unwrap_or_else(|| "row".into());
        let grain = self.plan.parallel.filter(|(axis, _)| *axis == number).map(|(_, grain)| grain);
        nest::repeated(&name, &start, count, step, grain, |at| {
            position.push(at);
            let body = body(position);
            position.pop();
            body
        })
    }

    /// All stages for some rows.
    fn tile(&self, position: &[PrimExpr], rows: i64, plans: &[StagePlan]) -> Stmt {
        let tile = self.rows.tile(position, rows);
        let room = tile.buffers.into_iter().map(|buffer| Stmt::new(StmtKind::Alloc(buffer, Attrs::new())));
        let stages = tile.stages.iter().zip(plans).map(|(stage, plan)| nest::loops(stage, plan, self.target));
        Stmt::new(StmtKind::Seq(room.chain(stages).collect()))
    }
}
