//! Elements of rows in the registers of the threads of a warp, as `mma.sync` has its results.
//!
//! A warp has 16 rows. Of each tile of 8 columns, a thread has two rows, `lane / 4` and 8 more, and two consecutive
//! columns from `lane % 4 * 2` on.

use super::super::{
    guarded,
    stage::{BlockThreads, combine_lanes, scaled, sum},
};
use crate::{
    lower::reductions::identity,
    schedule::gpu::{
        online::fragments::{ROW_THREADS, held_axes},
        tensor_cores::MMA_TILE,
    },
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var, binary, intrinsics::WARP_THREADS},
    tir::{Buffer, ForKind, Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    access::{combiner, is_vectorizable},
    substitution,
};
use rustc_hash::FxHashMap;

/// Results of a thread in each tile, along rows and along columns.
const RESULTS: i64 = 2;
/// The same in a tile.
const TILE_RESULTS: i64 = RESULTS * RESULTS;

/// The threads of a block, and what they have in registers.
pub struct Fragments {
    thread: Var,
    row_count: i64,
    /// Registers of buffers: two rows, or tiles of columns.
    registers: FxHashMap<Buffer, Buffer>,
}

/// Position of an element of a thread: index of its row, and for columns also the tile and the index in there.
#[derive(Clone)]
struct Element {
    row: Var,
    column: Option<(Var, Var)>,
}

impl Fragments {
    /// Puts buffers of rows into registers.
    pub fn new<'a>(buffers: impl IntoIterator<Item = &'a Buffer>, row_count: i64) -> Fragments {
        let mut fragments = Fragments { thread: Var::int64("thread"), row_count, registers: FxHashMap::default() };
        for buffer in buffers {
            let mut sizes = buffer.shape.iter().filter_map(PrimExpr::as_int).filter(|size| *size != 1);
            fragments.add(buffer, sizes.nth(1));
        }
        fragments
    }

    /// Puts a buffer of rows, or of rows and a number of columns, into registers.
    pub fn add(&mut self, buffer: &Buffer, columns: Option<i64>) {
        let size = columns.map_or(RESULTS, |columns| columns / MMA_TILE[1] * TILE_RESULTS);
        let shape = vec![PrimExpr::int64(size)];
        self.registers.insert(buffer.clone(), Buffer::scoped(buffer.name.clone(), shape, buffer.dtype, "local"));
    }

    /// Returns the index of a thread in its block.
    pub fn thread(&self) -> &Var {
        &self.thread
    }

    /// Returns the number of threads of a block.
    pub fn threads(&self) -> i64 {
        self.row_count / MMA_TILE[0] * WARP_THREADS
    }

    /// Returns the index of the thread in its warp.
    pub fn lane(&self) -> PrimExpr {
        self.thread.expr().floormod(PrimExpr::int64(WARP_THREADS))
    }

    /// Returns the first row of the thread's warp.
    pub fn warp_row(&self) -> PrimExpr {
        scaled(self.thread.expr().floordiv(PrimExpr::int64(WARP_THREADS)), MMA_TILE[0])
    }

    /// Returns the registers of a buffer.
    pub fn of(&self, buffer: &Buffer) -> Option<&Buffer> {
        self.registers.get(buffer)
    }

    /// Returns the allocations of registers.
    pub fn allocations(&self, buffers: &[Buffer]) -> Vec<Stmt> {
        let own = buffers.iter().filter_map(|buffer| self.of(buffer));
        own.map(|buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default()))).collect()
    }

    /// Returns the code of a stage that is no matmul.
    pub fn stage(&self, stage: &Stage) -> Stmt {
        let Some(axes) = held_axes(stage) else { return Stmt::nop() };
        if stage.reduces() {
            self.reduction(stage, &axes)
        } else {
            self.elements(stage, &axes, &stage.value, stage.target())
        }
    }

    /// Stores a value to a buffer at the elements of a stage along some axes: rows, and possibly columns.
    pub fn elements(&self, stage: &Stage, axes: &[usize], value: &PrimExpr, target: &Buffer) -> Stmt {
        let element = Element::new(axes.len() > 1);
        let value = self.value(stage, axes, value, &element);
        let row = &stage.axes[axes[0]];
        let store = match self.of(target) {
            Some(registers) => Stmt::store(registers, vec![element.slot()], value.clone()),
            None => {
                let indices = stage.target_indices().iter().map(|index| self.value(stage, axes, index, &element));
                let store = Stmt::store(target, indices.collect(), value.clone());
                if axes.len() > 1 { store } else { guarded(self.first_of_row(), store) }
            }
        };
        let is_vector = self.of(target).is_none() && is_vectorizable(&value);
        let count = |axis: usize| stage.axes[axis].extent.as_int().unwrap_or(0) / MMA_TILE[1];
        let columns = axes.get(1).map(|axis| (count(*axis), is_vector));
        let body = element.columns(store, columns);
        let is_open = row.extent.as_int() != Some(self.row_count);
        let body = if is_open { guarded(self.row(&element.row).lt(row.extent.clone()), body) } else { body };
        element.rows(body)
    }

    /// Returns the code of a reduction along the columns of each row. Maxima may count the initial value several times.
    fn reduction(&self, stage: &Stage, axes: &[usize]) -> Stmt {
        let (Some((op, term)), Some(result)) = (combiner(stage), self.of(&stage.buffer)) else { return Stmt::nop() };
        let size = vec![PrimExpr::int64(RESULTS)];
        let sums = Buffer::scoped(format!("{}_sum", stage.buffer.name), size, stage.buffer.dtype, "local");
        let element = Element::new(true);
        let at = element.row.expr();
        let own = PrimExpr::load(&sums, vec![at.clone()]);
        let row = Element { row: element.row.clone(), column: None };
        let zero = PrimExpr::constant(0.0, stage.buffer.dtype);
        let init = self.value(stage, &axes[..1], stage.init.as_ref().unwrap_or(&zero), &row);
        let (start, end) = match identity(op, stage.buffer.dtype) {
            Some(identity) => (identity, binary(op, init, own.clone())),
            None => (init, own.clone()),
        };
        let value = self.value(stage, axes, term, &element);
        let add = Stmt::store(&sums, vec![at.clone()], binary(op, own, value));
        let tiles = stage.axes[axes[1]].extent.as_int().unwrap_or(0) / MMA_TILE[1];
        let (index, count) = (self.thread.expr(), self.threads());
        let threads = BlockThreads { index, count, reducers: ROW_THREADS, stride: 1 };
        let body = Stmt::new(StmtKind::Seq(vec![
            Stmt::store(&sums, vec![at.clone()], start),
            element.columns(add, Some((tiles, false))),
            combine_lanes(op, &sums, &at, &threads),
            Stmt::store(result, vec![at.clone()], end),
        ]));
        let allocation = Stmt::new(StmtKind::Alloc(sums, Default::default()));
        Stmt::new(StmtKind::Seq(vec![allocation, element.rows(body)]))
    }

    /// Returns a value of a stage at an element.
    fn value(&self, stage: &Stage, axes: &[usize], value: &PrimExpr, element: &Element) -> PrimExpr {
        let mut at = vec![PrimExpr::int64(0); stage.axes.len()];
        at[axes[0]] = self.row(&element.row);
        if let (Some(axis), Some((tile, index))) = (axes.get(1), &element.column) {
            let first = scaled(self.lane().floormod(PrimExpr::int64(ROW_THREADS)), RESULTS);
            at[*axis] = sum(&sum(&scaled(tile.expr(), MMA_TILE[1]), &first), &index.expr());
        }
        self.in_registers(value, element).substitute(&substitution(&stage.axes, &at))
    }

    /// Replaces the loads of what is in registers.
    fn in_registers(&self, e: &PrimExpr, element: &Element) -> PrimExpr {
        match e.kind() {
            PrimKind::Load(buffer, ..) if self.registers.contains_key(buffer) => {
                let registers = &self.registers[buffer];
                let has_columns = registers.shape[0].as_int() != Some(RESULTS);
                let slot = if has_columns { element.slot() } else { element.row.expr() };
                PrimExpr::load(registers, vec![slot])
            }
            _ => e.map_children(&mut |child| self.in_registers(child, element)),
        }
    }

    /// Returns true for the first of the threads that have a row.
    fn first_of_row(&self) -> PrimExpr {
        self.lane().floormod(PrimExpr::int64(ROW_THREADS)).eq(PrimExpr::int64(0))
    }

    /// Returns the row of an index.
    fn row(&self, index: &Var) -> PrimExpr {
        let first = self.warp_row() + self.lane().floordiv(PrimExpr::int64(ROW_THREADS));
        first + scaled(index.expr(), MMA_TILE[0] / RESULTS)
    }
}

impl Element {
    fn new(has_columns: bool) -> Element {
        let column = has_columns.then(|| (Var::int64("column_tile"), Var::int64("column")));
        Element { row: Var::int64("row"), column }
    }

    /// Returns the index of its register.
    fn slot(&self) -> PrimExpr {
        match &self.column {
            None => self.row.expr(),
            Some((tile, index)) => {
                sum(&sum(&scaled(tile.expr(), TILE_RESULTS), &scaled(self.row.expr(), RESULTS)), &index.expr())
            }
        }
    }

    /// Returns the loop over rows.
    fn rows(&self, body: Stmt) -> Stmt {
        Stmt::for_kind(self.row.clone(), PrimExpr::int64(RESULTS), ForKind::Unrolled, body)
    }

    /// Returns the loops over a number of tiles of columns; the columns of a thread may be vectors.
    fn columns(&self, body: Stmt, columns: Option<(i64, bool)>) -> Stmt {
        let Some(((tile, index), (count, is_vector))) = self.column.as_ref().zip(columns) else { return body };
        let kind = if is_vector { ForKind::Vectorized } else { ForKind::Unrolled };
        let inner = Stmt::for_kind(index.clone(), PrimExpr::int64(RESULTS), kind, body);
        Stmt::for_kind(tile.clone(), PrimExpr::int64(count), ForKind::Unrolled, inner)
    }
}
