//! Copies of operands in shared memory, which the threads of a block make together.
//!
//! Threads take the elements of a copy in turn, in the order of the loops of its plan, so that consecutive threads read
//! consecutive elements. Elements outside of open axes are zero.

use super::{Position, scaled, sum, thread::ThreadCode};
use crate::{
    lower::gpu::loops::{barrier, guarded, unravel},
    schedule::{
        LoopKind, Staged,
        gpu::{copy_extents, copy_shape},
    },
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, ForKind, Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    access::{contraction_operands, parts},
    replaced, substitution,
};

/// Returns true if copies must be made inside of `number` loops.
pub fn is_due(code: &ThreadCode, number: usize) -> bool {
    code.plan.staged.iter().zip(&code.copied).any(|(staged, copied)| staged.inside == number && !copied)
}

/// Returns copies inside of `number` loops, and the code that reads them. Barriers separate both, and the next
/// iteration's copies from them.
pub fn stage_operands(code: &ThreadCode, number: usize, at: &Position, body: &dyn Fn(&ThreadCode) -> Stmt) -> Stmt {
    let mut reader = code.clone();
    let mut stmts = Vec::new();
    for (index, staged) in code.plan.staged.iter().enumerate().filter(|(_, staged)| staged.inside == number) {
        let part = parts(code.stage)[staged.load].clone();
        let copy = SharedCopy::new(code, staged, &part, at);
        reader.value = replaced(&reader.value, &part, &copy.element());
        reader.copied[index] = true;
        stmts.push(Stmt::new(StmtKind::Alloc(copy.buffer.clone(), Default::default())));
        stmts.push(copy.stmt());
    }
    stmts.extend([barrier(), body(&reader)]);
    let is_repeated = code.plan.loops[..number].iter().any(|l| l.kind == LoopKind::Serial);
    stmts.extend(is_repeated.then(barrier));
    Stmt::new(StmtKind::Seq(stmts))
}

/// Returns true if summands outside of reduction axes are zero, because both operands are read from copies.
pub fn have_zeros_outside(code: &ThreadCode) -> bool {
    let is_copy = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(buffer, ..) if *buffer.scope == *"shared");
    let stage = Stage { value: code.value.clone(), ..code.stage.clone() };
    contraction_operands(&stage).is_some_and(|(a, b)| is_copy(a) && is_copy(b))
}

/// A copy of an operand.
struct SharedCopy<'a> {
    code: &'a ThreadCode<'a>,
    staged: &'a Staged,
    part: &'a PrimExpr,
    /// Position of its first element.
    from: &'a Position,
    buffer: Buffer,
    /// Number of elements along each of its axes.
    extents: Vec<i64>,
}

impl<'a> SharedCopy<'a> {
    fn new(code: &'a ThreadCode, staged: &'a Staged, part: &'a PrimExpr, from: &'a Position) -> Self {
        let extents = copy_extents(code.stage, code.plan, staged).unwrap_or_default();
        let shape = copy_shape(staged, &extents).into_iter().map(PrimExpr::int64).collect();
        let name = match part.kind() {
            PrimKind::Load(buffer, ..) => format!("{}_shared", buffer.name),
            _ => "operand_shared".to_owned(),
        };
        let buffer = Buffer::scoped(name, shape, part.dtype(), "shared");
        SharedCopy { code, staged, part, from, buffer, extents }
    }

    /// Returns the load of an element, over the axes of the stage.
    fn element(&self) -> PrimExpr {
        let index = |axis: &usize| {
            let (var, first) = (self.code.stage.axes[*axis].var.expr(), &self.from.block[*axis]);
            if first.as_int() == Some(0) { var } else { var - first.clone() }
        };
        PrimExpr::load(&self.buffer, self.staged.axes.iter().map(index).collect())
    }

    /// Returns the code that makes the copy.
    fn stmt(&self) -> Stmt {
        let Some(threads) = &self.code.threads else { return Stmt::nop() };
        let lanes = self.lanes();
        let order = self.order();
        let counts: Vec<i64> = order.iter().map(|dim| self.chunks(*dim, lanes)).collect();
        let total: i64 = counts.iter().product();
        let counts: Vec<PrimExpr> = counts.into_iter().map(PrimExpr::int64).collect();
        let turn = Var::int64("turn");
        let number = sum(&scaled(turn.expr(), threads.count), &threads.index);
        let mut local = vec![PrimExpr::int64(0); self.extents.len()];
        for (dim, index) in order.iter().zip(unravel(&number, &counts)) {
            local[*dim] = match lanes {
                Some((vector, count)) if vector == *dim => scaled(index, count),
                _ => index,
            };
        }
        let store = |is_zero: bool| match lanes {
            Some((dim, count)) => {
                let lane = Var::int64("lane");
                let mut at = local.clone();
                at[dim] = sum(&local[dim], &lane.expr());
                Stmt::for_kind(lane, PrimExpr::int64(count), ForKind::Vectorized, self.store(&at, is_zero))
            }
            None => self.store(&local, is_zero),
        };
        let body = self.or_zero(&local, store);
        let is_whole = total % threads.count == 0;
        let body = if is_whole { body } else { guarded(number.lt(PrimExpr::int64(total)), body) };
        let turns = (total + threads.count - 1) / threads.count;
        Stmt::for_kind(turn, PrimExpr::int64(turns), ForKind::Unrolled, body)
    }

    /// Stores an element, or zero.
    fn store(&self, local: &[PrimExpr], is_zero: bool) -> Stmt {
        let value = match is_zero {
            true => PrimExpr::constant(0.0, self.part.dtype()),
            false => self.part.substitute(&substitution(&self.code.stage.axes, &self.position(local))),
        };
        Stmt::store(&self.buffer, local.to_vec(), value)
    }

    /// Returns the store of an element, or of zero if it is outside of an open axis. `store`: of zero, if true.
    fn or_zero(&self, local: &[PrimExpr], store: impl Fn(bool) -> Stmt) -> Stmt {
        let at = self.position(local);
        match self.code.inside(&at, &|axis| self.staged.axes.contains(&axis)) {
            None => store(false),
            Some(inside) => Stmt::new(StmtKind::If(inside, Box::new(store(false)), Some(Box::new(store(true))))),
        }
    }

    /// Returns the position of an element on the stage's axes.
    fn position(&self, local: &[PrimExpr]) -> Vec<PrimExpr> {
        let mut at = self.from.block.clone();
        for (axis, index) in self.staged.axes.iter().zip(local) {
            at[*axis] = sum(&at[*axis], index);
        }
        at
    }

    /// Returns the dimension that is copied in vectors, and their number of elements.
    fn lanes(&self) -> Option<(usize, i64)> {
        let vector = self.staged.copy.loops.iter().position(|l| l.kind == LoopKind::Vector)?;
        let dim = self.staged.copy.loops[vector].axis;
        Some((dim, self.staged.copy.range(dim, vector)?))
    }

    /// Returns the dimensions in the order of the plan's loops.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        for l in &self.staged.copy.loops {
            if !order.contains(&l.axis) {
                order.push(l.axis);
            }
        }
        order.extend((0..self.extents.len()).filter(|dim| !self.staged.copy.loops.iter().any(|l| l.axis == *dim)));
        order
    }

    /// Returns the number of elements or vectors along a dimension.
    fn chunks(&self, dim: usize, lanes: Option<(usize, i64)>) -> i64 {
        let lanes = lanes.filter(|(own, _)| *own == dim).map_or(1, |(_, lanes)| lanes);
        (self.extents[dim] + lanes - 1) / lanes
    }
}
