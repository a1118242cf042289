//! Plans to loops.
//!
//! A stage becomes loops over its spatial axes, the planned ones split into blocks of rows and vectors of lanes, each
//! with a smaller block for the remainder. Innermost is a *tile*: for a reduction, accumulators in a local
//! buffer, the reduce loops, then the stores; otherwise the store alone. The result is scheduled TIR without blocks;
//! lanes are loops of kind `vectorized`, rows loops of kind `unrolled`.

use super::{
    Class, Kernel, Part, PartPlan, Plan, Stage, StagePlan,
    recover::{replace_loads, substitution},
    rows,
    rules::register_lanes,
};
use crate::Target;
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var},
    tir::{Buffer, ForKind, Stmt, StmtKind},
};

/// The statements of a kernel with the loops of a plan.
pub fn apply(kernel: Kernel, plan: &Plan, target: &Target) -> Vec<Stmt> {
    let parts = kernel.parts.into_iter().zip(&plan.parts);
    parts
        .map(|(part, plan)| match (part, plan) {
            (Part::Stage(stage), PartPlan::Stage(plan)) => loops(&stage, plan, target),
            (Part::Rows(rows), PartPlan::Rows(plan)) => rows::loops(&rows, plan, target),
            (Part::Other(stmt), _) => stmt,
            _ => unreachable!("a plan has the parts of its kernel"),
        })
        .collect()
}

/// The loops of one stage.
pub fn loops(stage: &Stage, plan: &StagePlan, target: &Target) -> Stmt {
    let mut position = vec![PrimExpr::int64(0); stage.axes.len()];
    Scheduler { stage, plan, target }.axis(0, &mut position, 1, 1)
}

struct Scheduler<'a> {
    stage: &'a Stage,
    plan: &'a StagePlan,
    target: &'a Target,
}

impl Scheduler<'_> {
    /// Loops over the spatial axes from number `axis` on, around a tile of so many rows and lanes.
    fn axis(&self, axis: usize, position: &mut Vec<PrimExpr>, rows: i64, lanes: i64) -> Stmt {
        let Some(a) = self.stage.axes.get(axis) else { return self.tile(position, rows, lanes) };
        if a.reduce {
            return self.axis(axis + 1, position, rows, lanes);
        }
        let block = match (self.plan.rows, self.plan.vector) {
            (Some((r, n)), _) if r == axis => n,
            (_, Some((v, n))) if v == axis => n,
            _ => 1,
        };
        let is_rows = self.plan.rows.is_some_and(|(r, _)| r == axis);
        let sized = |n: i64| if is_rows { (n, lanes) } else { (rows, if block > 1 { n } else { lanes }) };
        let zero = PrimExpr::int64(0);
        match a.extent.as_int() {
            Some(extent) => {
                let (whole, rest) = (extent / block, extent % block);
                let mut parts = Vec::new();
                if whole > 0 {
                    parts.push(self.block_loop(axis, position, zero, PrimExpr::int64(whole), block, sized(block)));
                }
                let mut start = whole * block;
                for n in if is_rows {
                    vec![rest; usize::from(rest > 0)]
                } else {
                    pieces(rest, register_lanes(self.stage, self.target))
                } {
                    position[axis] = PrimExpr::int64(start);
                    let (rows, lanes) = sized(n);
                    parts.push(self.axis(axis + 1, position, rows, lanes));
                    start += n;
                }
                Stmt::seq(parts)
            }
            None if block == 1 => self.block_loop(axis, position, zero, a.extent.clone(), 1, sized(1)),
            None => {
                let (mut parts, mut start) = (Vec::new(), zero);
                // Vectors of one register each follow those of several.
                let smaller = (!is_rows && block >= 32).then_some(block / 4);
                for n in [Some(block), smaller, Some(1)].into_iter().flatten() {
                    let step = PrimExpr::int64(n);
                    let count = (a.extent.clone() - &start).floordiv(step.clone());
                    parts.push(self.block_loop(axis, position, start.clone(), count, n, sized(n)));
                    start = a.extent.clone().floordiv(step.clone()) * &step;
                }
                Stmt::seq(parts)
            }
        }
    }

    /// `for i in range(count)`: position `start + i * block`.
    fn block_loop(
        &self,
        axis: usize,
        position: &mut Vec<PrimExpr>,
        start: PrimExpr,
        count: PrimExpr,
        block: i64,
        (rows, lanes): (i64, i64),
    ) -> Stmt {
        let var = Var::int64(self.stage.axes[axis].var.name().clone());
        let step = if block == 1 { var.expr() } else { var.expr() * PrimExpr::int64(block) };
        position[axis] = if start.as_int() == Some(0) { step } else { start + step };
        let body = self.axis(axis + 1, position, rows, lanes);
        let parallel = self.plan.parallel.filter(|(a, _)| *a == axis);
        let kind = if parallel.is_some() { ForKind::Parallel } else { ForKind::Serial };
        let mut stmt = Stmt::for_kind(var, count, kind, body);
        if let (StmtKind::For(l), Some((_, grain))) = (&mut stmt.kind, parallel) {
            l.annotations.set("grain", (grain / block).max(1));
        }
        stmt
    }

    fn tile(&self, position: &[PrimExpr], rows: i64, lanes: i64) -> Stmt {
        let reduces = self.stage.axes.iter().any(|a| a.reduce);
        if reduces {
            return self.reduction(position, rows, lanes);
        }
        self.each(rows, lanes, |row, lane| {
            let at = self.moved(position, row, lane);
            let values = substitution(&self.stage.axes, &at);
            self.store(&at, self.stage.value.substitute(&values))
        })
    }

    fn reduction(&self, position: &[PrimExpr], rows: i64, lanes: i64) -> Stmt {
        let stage = self.stage;
        let size = PrimExpr::int64(rows * lanes);
        let sums = Buffer::scoped(format!("{}_sum", stage.buffer.name), vec![size], stage.buffer.dtype, "local");
        let slot = |row: &PrimExpr, lane: &PrimExpr| match (row.as_int(), rows) {
            (Some(0), _) | (_, 1) => lane.clone(),
            _ => row * PrimExpr::int64(lanes) + lane,
        };
        let init = self.each(rows, lanes, |row, lane| {
            let at = self.moved(position, row, lane);
            let values = substitution(&stage.axes, &at);
            let value = match &stage.init {
                Some(init) => init.substitute(&values),
                None => PrimExpr::load(&stage.buffer, self.indices(&at)),
            };
            Stmt::store(&sums, vec![slot(row, lane)], value)
        });
        let mut at = position.to_vec();
        let mut reduce = Vec::new();
        for (i, axis) in stage.axes.iter().enumerate().filter(|(_, a)| a.reduce) {
            let var = Var::int64(axis.var.name().clone());
            at[i] = var.expr();
            reduce.push((var, axis.extent.clone()));
        }
        let update = self.each(rows, lanes, |row, lane| {
            let at = self.moved(&at, row, lane);
            let sum = PrimExpr::load(&sums, vec![slot(row, lane)]);
            let value = replace_loads(&stage.value, &stage.buffer, &sum);
            let value = self.fused(&value, &sum).substitute(&substitution(&stage.axes, &at));
            Stmt::store(&sums, vec![slot(row, lane)], value)
        });
        let update = reduce.into_iter().rev().fold(update, |body, (var, extent)| Stmt::serial(var, extent, body));
        let finish = self.each(rows, lanes, |row, lane| {
            let at = self.moved(position, row, lane);
            let sum = PrimExpr::load(&sums, vec![slot(row, lane)]);
            match &stage.epilogue {
                None => self.store(&at, sum),
                Some(epilogue) => {
                    let values = substitution(&stage.axes, &at);
                    let value = replace_loads(&epilogue.value.substitute(&values), &stage.buffer, &sum);
                    let indices = epilogue.indices.iter().map(|i| i.substitute(&values)).collect();
                    Stmt::store(&epilogue.buffer, indices, value)
                }
            }
        });
        let alloc = Stmt::new(StmtKind::Alloc(sums.clone(), Default::default()));
        Stmt::new(StmtKind::Seq(vec![alloc, init, update, finish]))
    }

    /// Calls `f` for every row and, inside, every lane.
    fn each(&self, rows: i64, lanes: i64, f: impl Fn(&PrimExpr, &PrimExpr) -> Stmt) -> Stmt {
        let zero = PrimExpr::int64(0);
        let in_row = |row: &PrimExpr| {
            if lanes == 1 {
                return f(row, &zero);
            }
            let lane = Var::int64("lane");
            let body = f(row, &lane.expr());
            Stmt::for_kind(lane, PrimExpr::int64(lanes), ForKind::Vectorized, body)
        };
        if rows == 1 {
            return in_row(&zero);
        }
        Stmt::seq((0..rows).map(|row| in_row(&PrimExpr::int64(row))))
    }

    /// A position moved to a row and lane of its tile.
    fn moved(&self, position: &[PrimExpr], row: &PrimExpr, lane: &PrimExpr) -> Vec<PrimExpr> {
        let mut at = position.to_vec();
        let mut add = |axis: usize, by: &PrimExpr| {
            if by.as_int() != Some(0) {
                at[axis] = &at[axis] + by;
            }
        };
        if let Some((axis, _)) = self.plan.rows {
            add(axis, row);
        }
        if let Some((axis, _)) = self.plan.vector {
            add(axis, lane);
        }
        at
    }

    fn indices(&self, at: &[PrimExpr]) -> Vec<PrimExpr> {
        let values = substitution(&self.stage.axes, at);
        self.stage.indices.iter().map(|i| i.substitute(&values)).collect()
    }

    fn store(&self, at: &[PrimExpr], value: PrimExpr) -> Stmt {
        Stmt::store(&self.stage.buffer, self.indices(at), value)
    }

    /// A sum of a product as one fused operation, where the target has it: rounds once instead of twice.
    fn fused(&self, value: &PrimExpr, sum: &PrimExpr) -> PrimExpr {
        let float = matches!(value.dtype().bits, 32 | 64) && value.dtype().is_float();
        if self.plan.class != Class::Contraction || !self.target.fma || !float {
            return value.clone();
        }
        match value.kind() {
            PrimKind::Binary(BinaryOp::Add, s, product) if s.same_node(sum) => match product.kind() {
                PrimKind::Binary(BinaryOp::Mul, a, b) => {
                    PrimExpr::intrin("fma", vec![a.clone(), b.clone(), s.clone()], value.dtype())
                }
                _ => value.clone(),
            },
            _ => value.clone(),
        }
    }
}

/// The lengths of vectors that cover so many elements: powers of two as long as they fill registers, then what is left.
/// Vectors of other lengths over several registers would become code lane by lane.
fn pieces(mut elements: i64, register: i64) -> Vec<i64> {
    let mut lengths = Vec::new();
    while elements > 0 {
        let length = if elements > register { 1 << elements.ilog2() } else { elements };
        lengths.push(length);
        elements -= length;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn vectors_cover_what_is_left() {
        assert!(pieces(0, 16).is_empty());
        assert_eq!(pieces(7, 16), [7]);
        assert_eq!(pieces(16, 16), [16]);
        assert_eq!(pieces(40, 16), [32, 8]);
        assert_eq!(pieces(63, 16), [32, 16, 15]);
        assert_eq!(pieces(63, 4), [32, 16, 8, 4, 3]);
    }
}
