//! The loops of stages that share rows: over the rows, and inside of them those of each stage.

use super::{
    collapse_parallel::{self, Counted},
    fuse_loops, nest,
};
use crate::{
    plan::{RowsPlan, StagePlan},
    rules::Choice,
    stage::rows::Rows,
};
use hammock_ir::{
    Attrs, Name, PrimExpr,
    tir::{Stmt, StmtKind},
};

/// The loops of a plan.
pub fn loops(rows: &Rows, plan: &RowsPlan, choice: Choice) -> Stmt {
    Loops { rows, plan, choice }.all()
}

struct Loops<'a> {
    rows: &'a Rows,
    plan: &'a RowsPlan,
    choice: Choice<'a>,
}

/// Tiles of the last axis that have the same number of rows: from where on, and how many.
struct Tiles<'a> {
    start: PrimExpr,
    count: PrimExpr,
    rows: i64,
    stages: &'a [StagePlan],
}

impl Loops<'_> {
    /// All loops.
    fn all(&self) -> Stmt {
        let last = self.rows.extents().len() - 1;
        match self.plan.parallel {
            // What is copied is between the last loop and those around it.
            Some((axis, grain)) if axis < last || self.plan.copied.is_empty() => self.together(axis, grain),
            _ => self.axis(&mut Vec::new()),
        }
    }

    /// The axes up to this one are spread over threads together.
    fn together(&self, axis: usize, grain: i64) -> Stmt {
        let tiles = self.tiles();
        let count = |(number, extent): (usize, &PrimExpr)| Counted {
            name: self.name(number),
            count: if number + 1 < self.rows.extents().len() { extent.clone() } else { count(&tiles) },
        };
        let loops: Vec<Counted> = self.rows.extents().take(axis + 1).enumerate().map(count).collect();
        collapse_parallel::region(&loops, grain, |indices| {
            let mut position = indices.to_vec();
            if axis + 1 < self.rows.extents().len() {
                return self.axis(&mut position);
            }
            let index = position.pop().unwrap_or_else(|| PrimExpr::int64(0));
            self.choice(&position, &index, &tiles)
        })
    }

    /// One of these tiles.
    fn choice(&self, position: &[PrimExpr], index: &PrimExpr, tiles: &[Tiles]) -> Stmt {
        let [first, others @ ..] = tiles else { return Stmt::nop() };
        let tile = if first.count.as_int() == Some(1) { PrimExpr::int64(0) } else { index.clone() };
        let at = nest::moved(&first.start, nest::scaled(tile, first.rows));
        let tile = self.tile(&[position, &[at]].concat(), first);
        if others.is_empty() {
            return tile;
        }
        let others = self.choice(position, &(index - &first.count), others);
        Stmt::new(StmtKind::If(index.clone().lt(&first.count), Box::new(tile), Some(Box::new(others))))
    }

    /// Loops over the axes after those that have a position.
    fn axis(&self, position: &mut Vec<PrimExpr>) -> Stmt {
        let number = position.len();
        let extents: Vec<&PrimExpr> = self.rows.extents().collect();
        if number + 1 < extents.len() {
            return nest::repeated(&self.name(number), &PrimExpr::int64(0), extents[number].clone(), 1, |at| {
                position.push(at);
                let body = self.axis(position);
                position.pop();
                body
            });
        }
        let (rows, copies) = self.rows.with_copies(self.plan.copied.iter().map(|(copied, _)| copied), position);
        let mut parts = Vec::new();
        for (copy, (_, plan)) in copies.iter().zip(&self.plan.copied) {
            parts.push(Stmt::new(StmtKind::Alloc(copy.buffer.clone(), Attrs::new())));
            parts.push(nest::loops(copy, plan, self.choice));
        }
        parts.push(Loops { rows: &rows, ..*self }.last(position));
        Stmt::new(StmtKind::Seq(parts))
    }

    /// The loops over the last axis.
    fn last(&self, position: &[PrimExpr]) -> Stmt {
        let (number, tiles) = (position.len(), self.tiles());
        if let Some((_, grain)) = self.plan.parallel.filter(|(axis, _)| *axis == number) {
            let loops = [Counted { name: self.name(number), count: count(&tiles) }];
            return collapse_parallel::region(&loops, grain, |index| self.choice(position, &index[0], &tiles));
        }
        let each = |tiles: &Tiles| {
            let tile = |at: PrimExpr| self.tile(&[position, &[at]].concat(), tiles);
            nest::repeated(&self.name(number), &tiles.start, tiles.count.clone(), tiles.rows, tile)
        };
        Stmt::seq(tiles.iter().map(each))
    }

    /// The tiles of the last axis.
    fn tiles(&self) -> Vec<Tiles<'_>> {
        let Some(extent) = self.rows.extents().next_back() else { return Vec::new() };
        let mut start = PrimExpr::int64(0);
        let tiles = self.plan.tiles.iter().map(|(rows, stages)| {
            let (count, next) = match extent.as_int() {
                Some(extent) => {
                    let from = start.as_int().unwrap_or(0);
                    let whole = (extent - from) / rows;
                    (PrimExpr::int64(whole), PrimExpr::int64(from + whole * rows))
                }
                None => {
                    let step = PrimExpr::int64(*rows);
                    let whole = extent.clone().floordiv(step.clone()) * step.clone();
                    ((extent.clone() - &start).floordiv(step), whole)
                }
            };
            Tiles { start: std::mem::replace(&mut start, next), count, rows: *rows, stages }
        });
        tiles.filter(|tiles| tiles.count.as_int() != Some(0)).collect()
    }

    fn name(&self, number: usize) -> Name {
        self.rows.vars().nth(number).map(|var| var.name().clone()).unwrap_or_else(|| "row".into())
    }

    /// All stages for some rows.
    fn tile(&self, position: &[PrimExpr], tiles: &Tiles) -> Stmt {
        let tile = self.rows.tile(position, tiles.rows);
        let room = tile.buffers.into_iter().map(|buffer| Stmt::new(StmtKind::Alloc(buffer, Attrs::new())));
        let mut stmts: Vec<Stmt> = room.collect();
        let mut before = None;
        for (stage, plan) in tile.stages.iter().zip(tiles.stages) {
            let loops = nest::loops(stage, plan, self.choice);
            match before.replace((stage, plan)).zip(stmts.pop_if(|stmt| !matches!(stmt.kind, StmtKind::Alloc(..)))) {
                Some((elements, first)) => stmts.extend(fuse_loops::merged(elements, (stage, plan), [first, loops])),
                None => stmts.push(loops),
            }
        }
        Stmt::new(StmtKind::Seq(stmts))
    }
}

/// How many there are in all.
fn count(tiles: &[Tiles]) -> PrimExpr {
    let sum = |a: PrimExpr, b: PrimExpr| match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => PrimExpr::int64(a + b),
        _ => a + b,
    };
    tiles.iter().map(|tiles| tiles.count.clone()).reduce(sum).unwrap_or_else(|| PrimExpr::int64(0))
}
