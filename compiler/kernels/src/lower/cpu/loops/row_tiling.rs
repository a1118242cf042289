//! Loops of a row-tiled chain of stages: an outer loop over blocks of rows, around the loops of each stage.

use super::{
    collapse_parallel::{self, ParallelLoop},
    fuse_loops,
    nest::{self, Nest},
    online::OnlineLoops,
};
use crate::schedule::{RowsPlan, ScheduleContext, StagePlan};
use hammock_ir::{
    Attrs, Name, PrimExpr,
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::row_tiling::Rows;

/// Returns the loops of a row-tiling plan.
pub fn loops(rows: &Rows, plan: &RowsPlan, choice: ScheduleContext) -> Stmt {
    match plan.online.zip(rows.online_form()) {
        Some((how, (rows, online))) => {
            let online = OnlineLoops { rows: &rows, online: &online, how, choice };
            RowLoops { rows: &rows, plan, choice, online: Some(&online) }.all()
        }
        None => RowLoops { rows, plan, choice, online: None }.all(),
    }
}

struct RowLoops<'a> {
    rows: &'a Rows,
    plan: &'a RowsPlan,
    choice: ScheduleContext<'a>,
    online: Option<&'a OnlineLoops<'a>>,
}

/// Tiles of the last row axis that have the same height.
struct Tiles<'a> {
    start: PrimExpr,
    count: PrimExpr,
    rows: i64,
    stages: &'a [StagePlan],
}

impl RowLoops<'_> {
    /// Returns all loops.
    fn all(&self) -> Stmt {
        let last = self.rows.extents().len() - 1;
        match self.plan.parallel {
            // Copies are made between the last loop and those around it.
            Some((axis, grain)) if axis < last || self.plan.copied.is_empty() => self.parallel_tiles(axis, grain),
            _ => self.axis(&mut Vec::new()),
        }
    }

    /// Collapses the axes up to this one into one parallel range.
    fn parallel_tiles(&self, axis: usize, grain: i64) -> Stmt {
        let tiles = self.tiles();
        let count = |(number, extent): (usize, &PrimExpr)| ParallelLoop {
            name: self.name(number),
            count: if number + 1 < self.rows.extents().len() { extent.clone() } else { count(&tiles) },
        };
        let loops: Vec<ParallelLoop> = self.rows.extents().take(axis + 1).enumerate().map(count).collect();
        collapse_parallel::parallel_nest(&loops, grain, |indices| {
            let mut position = indices.to_vec();
            if axis + 1 < self.rows.extents().len() {
                return self.axis(&mut position);
            }
            let index = position.pop().unwrap_or_else(|| PrimExpr::int64(0));
            self.select_tile(&position, &index, &tiles)
        })
    }

    /// Selects a tile by its index.
    fn select_tile(&self, position: &[PrimExpr], index: &PrimExpr, tiles: &[Tiles]) -> Stmt {
        let [first, others @ ..] = tiles else { return Stmt::nop() };
        let tile = if first.count.as_int() == Some(1) { PrimExpr::int64(0) } else { index.clone() };
        let at = nest::offset_by(&first.start, nest::scale(tile, first.rows));
        let tile = self.tile(&[position, &[at]].concat(), first);
        if others.is_empty() {
            return tile;
        }
        let others = self.select_tile(position, &(index - &first.count), others);
        Stmt::new(StmtKind::If(index.clone().lt(&first.count), Box::new(tile), Some(Box::new(others))))
    }

    /// Returns the loops over the axes that have no position yet.
    fn axis(&self, position: &mut Vec<PrimExpr>) -> Stmt {
        let number = position.len();
        let extents: Vec<&PrimExpr> = self.rows.extents().collect();
        if number + 1 < extents.len() {
            return nest::strided_loop(&self.name(number), &PrimExpr::int64(0), extents[number].clone(), 1, |at| {
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
            parts.push(Nest::loops(copy, plan, self.choice));
        }
        parts.push(RowLoops { rows: &rows, ..*self }.last(position));
        Stmt::new(StmtKind::Seq(parts))
    }

    /// Returns the loops over the last axis.
    fn last(&self, position: &[PrimExpr]) -> Stmt {
        let (number, tiles) = (position.len(), self.tiles());
        if let Some((_, grain)) = self.plan.parallel.filter(|(axis, _)| *axis == number) {
            let loops = [ParallelLoop { name: self.name(number), count: count(&tiles) }];
            return collapse_parallel::parallel_nest(&loops, grain, |index| {
                self.select_tile(position, &index[0], &tiles)
            });
        }
        let each = |tiles: &Tiles| {
            let tile = |at: PrimExpr| self.tile(&[position, &[at]].concat(), tiles);
            nest::strided_loop(&self.name(number), &tiles.start, tiles.count.clone(), tiles.rows, tile)
        };
        Stmt::seq(tiles.iter().map(each))
    }

    /// Returns the tiles of the last axis.
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

    /// Returns all stages for one tile of rows.
    fn tile(&self, position: &[PrimExpr], tiles: &Tiles) -> Stmt {
        if let Some(online) = self.online {
            return online.tile(position, tiles.rows, tiles.stages);
        }
        let tile = self.rows.tile(position, tiles.rows);
        let room = tile.buffers.into_iter().map(|buffer| Stmt::new(StmtKind::Alloc(buffer, Attrs::new())));
        let mut stmts: Vec<Stmt> = room.collect();
        let mut before = None;
        for (stage, plan) in tile.stages.iter().zip(tiles.stages) {
            let loops = Nest::loops(stage, plan, self.choice);
            match before.replace((stage, plan)).zip(stmts.pop_if(|stmt| !matches!(stmt.kind, StmtKind::Alloc(..)))) {
                Some((elements, first)) => {
                    stmts.extend(fuse_loops::fuse_reduction(elements, (stage, plan), [first, loops]))
                }
                None => stmts.push(loops),
            }
        }
        Stmt::new(StmtKind::Seq(stmts))
    }
}

/// Total number of tiles.
fn count(tiles: &[Tiles]) -> PrimExpr {
    let sum = |a: PrimExpr, b: PrimExpr| match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => PrimExpr::int64(a + b),
        _ => a + b,
    };
    tiles.iter().map(|tiles| tiles.count.clone()).reduce(sum).unwrap_or_else(|| PrimExpr::int64(0))
}
