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
    DType, PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, ForKind, Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    access::{contraction_operands, parts},
    replaced, substitution,
};

/// Sizes of asynchronous copies.
const ASYNC_BYTES: [i64; 3] = [4, 8, 16];

/// Returns true if copies must be made inside of `number` loops.
pub fn is_due(code: &ThreadCode, number: usize) -> bool {
    code.plan.staged.iter().zip(&code.copied).any(|(staged, copied)| staged.inside == number && !copied)
}

/// Returns copies inside of `number` loops, and the code that reads them. Barriers separate both, and the next
/// iteration's copies from them.
pub fn stage_operands(code: &ThreadCode, number: usize, at: &Position, body: &dyn Fn(&ThreadCode) -> Stmt) -> Stmt {
    let mut reader = code.clone();
    let mut stmts = Vec::new();
    for (index, copy) in due(code, number) {
        let tile = Tile { from: at, slot: None };
        copy.replace(&mut reader, index, &tile);
        stmts.extend([copy.allocation(), copy.stmt(&tile)]);
    }
    stmts.extend([barrier(), body(&reader)]);
    let is_repeated = code.plan.loops[..number].iter().any(|l| l.kind == LoopKind::Serial);
    stmts.extend(is_repeated.then(barrier));
    Stmt::new(StmtKind::Seq(stmts))
}

/// Returns the copies inside of `number` loops that are not made yet, with their indices in the plan.
pub fn due<'a>(code: &'a ThreadCode<'a>, number: usize) -> Vec<(usize, SharedCopy<'a>)> {
    let staged = code.plan.staged.iter().enumerate();
    let own = staged.filter(|(index, staged)| staged.inside == number && !code.copied[*index]);
    own.map(|(index, staged)| (index, SharedCopy::new(code, staged))).collect()
}

/// Returns true if summands outside of reduction axes are zero, because both operands are read from copies.
pub fn have_zeros_outside(code: &ThreadCode) -> bool {
    let is_copy = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(buffer, ..) if *buffer.scope == *"shared");
    let stage = Stage { value: code.value.clone(), ..code.stage.clone() };
    contraction_operands(&stage).is_some_and(|(a, b)| is_copy(a) && is_copy(b))
}

/// A copy of an operand.
pub struct SharedCopy<'a> {
    code: &'a ThreadCode<'a>,
    staged: &'a Staged,
    part: PrimExpr,
    buffer: Buffer,
    /// Number of elements along each of its axes.
    extents: Vec<i64>,
}

/// One tile of a copy.
pub struct Tile<'a> {
    /// Position of its first element.
    pub from: &'a Position,
    /// Its index among the tiles of several stages; these are copied asynchronously.
    pub slot: Option<PrimExpr>,
}

impl<'a> SharedCopy<'a> {
    fn new(code: &'a ThreadCode, staged: &'a Staged) -> Self {
        let part = parts(code.stage)[staged.load].clone();
        let extents = copy_extents(code.stage, code.plan, staged).unwrap_or_default();
        let shape = copy_shape(staged, &extents).into_iter().map(PrimExpr::int64).collect();
        let name = match part.kind() {
            PrimKind::Load(buffer, ..) => format!("{}_shared", buffer.name),
            _ => "operand_shared".to_owned(),
        };
        let buffer = Buffer::scoped(name, shape, part.dtype(), "shared");
        SharedCopy { code, staged, part, buffer, extents }
    }

    /// Adds room for tiles of several stages.
    pub fn add_stages(&mut self, stages: i64) {
        self.buffer = self.buffer.change(|buffer| buffer.shape.insert(0, PrimExpr::int64(stages)));
    }

    /// Returns the allocation of shared memory.
    pub fn allocation(&self) -> Stmt {
        Stmt::new(StmtKind::Alloc(self.buffer.clone(), Default::default()))
    }

    /// Replaces the operand in the code of a thread by the elements of a tile.
    pub fn replace(&self, reader: &mut ThreadCode, index: usize, tile: &Tile) {
        reader.value = replaced(&reader.value, &self.part, &self.element(tile));
        reader.copied[index] = true;
    }

    /// Returns the load of an element, over the axes of the stage.
    fn element(&self, tile: &Tile) -> PrimExpr {
        let index = |axis: &usize| {
            let (var, first) = (self.code.stage.axes[*axis].var.expr(), &tile.from.block[*axis]);
            if first.as_int() == Some(0) { var } else { var - first.clone() }
        };
        PrimExpr::load(&self.buffer, self.indices(tile, self.staged.axes.iter().map(index)))
    }

    /// Returns the indices of an element of a tile.
    fn indices(&self, tile: &Tile, local: impl IntoIterator<Item = PrimExpr>) -> Vec<PrimExpr> {
        tile.slot.clone().into_iter().chain(local).collect()
    }

    /// Returns the code that makes the copy of a tile.
    pub fn stmt(&self, tile: &Tile) -> Stmt {
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
                Stmt::for_kind(lane, PrimExpr::int64(count), ForKind::Vectorized, self.store(tile, &at, is_zero))
            }
            None => self.store(tile, &local, is_zero),
        };
        let body = match self.async_bytes(tile, lanes) {
            Some(bytes) => self.copy_async(tile, &local, bytes),
            None => self.or_zero(tile, &local, store),
        };
        let is_whole = total % threads.count == 0;
        let body = if is_whole { body } else { guarded(number.lt(PrimExpr::int64(total)), body) };
        let turns = (total + threads.count - 1) / threads.count;
        Stmt::for_kind(turn, PrimExpr::int64(turns), ForKind::Unrolled, body)
    }

    /// Stores an element, or zero.
    fn store(&self, tile: &Tile, local: &[PrimExpr], is_zero: bool) -> Stmt {
        let value = if is_zero { PrimExpr::constant(0.0, self.part.dtype()) } else { self.source(tile, local) };
        Stmt::store(&self.buffer, self.indices(tile, local.to_vec()), value)
    }

    /// Returns the operand's value at an element of a tile.
    fn source(&self, tile: &Tile, local: &[PrimExpr]) -> PrimExpr {
        self.part.substitute(&substitution(&self.code.stage.axes, &self.position(tile, local)))
    }

    /// Returns the bytes of an asynchronous copy; `None` if there is none of this size, or values are computed.
    fn async_bytes(&self, tile: &Tile, lanes: Option<(usize, i64)>) -> Option<i64> {
        let bytes = lanes.map_or(1, |(_, count)| count) * self.part.dtype().bytes() as i64;
        let is_load = matches!(self.part.kind(), PrimKind::Load(_, _, None));
        (tile.slot.is_some() && is_load && ASYNC_BYTES.contains(&bytes)).then_some(bytes)
    }

    /// Returns the asynchronous copy of some bytes from an element on, or of zeros if it is outside of an open axis.
    fn copy_async(&self, tile: &Tile, local: &[PrimExpr], bytes: i64) -> Stmt {
        let address = |element: PrimExpr| PrimExpr::intrin("address_of", vec![element], DType::HANDLE);
        let to = PrimExpr::load(&self.buffer, self.indices(tile, local.to_vec()));
        let zero = PrimExpr::int64(0);
        let args = vec![address(to), zero.clone(), address(self.source(tile, local)), zero, PrimExpr::int64(bytes)];
        let inside = self.code.inside(&self.position(tile, local), &|axis| self.staged.axes.contains(&axis));
        let args = args.into_iter().chain(inside).collect();
        Stmt::new(StmtKind::Evaluate(PrimExpr::intrin("ptx_cp_async", args, self.part.dtype())))
    }

    /// Returns the store of an element, or of zero if it is outside of an open axis. `store`: of zero, if true.
    fn or_zero(&self, tile: &Tile, local: &[PrimExpr], store: impl Fn(bool) -> Stmt) -> Stmt {
        let at = self.position(tile, local);
        match self.code.inside(&at, &|axis| self.staged.axes.contains(&axis)) {
            None => store(false),
            Some(inside) => Stmt::new(StmtKind::If(inside, Box::new(store(false)), Some(Box::new(store(true))))),
        }
    }

    /// Returns the position of an element on the stage's axes.
    fn position(&self, tile: &Tile, local: &[PrimExpr]) -> Vec<PrimExpr> {
        let mut at = tile.from.block.clone();
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
