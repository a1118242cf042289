//! Contractions on tensor cores: `ldmatrix` loads tiles of both operands from shared memory, and `mma.sync` multiplies
//! them.
//!
//! The PTX manual ("Matrix Fragments for mma") gives the elements of a thread. In a tile of 16 x 8 results, it has
//! two rows, `lane / 4` and 8 more, and two consecutive columns from `lane % 4 * 2` on. An operand whose rows in shared
//! memory are along the other axis than the instruction needs is transposed by `ldmatrix.trans`.

use super::{
    Position,
    nest::Cursor,
    scaled, sum,
    thread::{THREAD_RESULTS, ThreadCode},
};
use crate::{
    lower::gpu::loops::guarded,
    schedule::{
        Loop, LoopKind,
        gpu::tensor_cores::{MMA_TILE, matrix_row, mma_depth, stored},
    },
};
use hammock_ir::{
    DType, PrimExpr,
    prim::{PrimKind, Var, intrinsics::WARP_THREADS},
    tir::{Buffer, ForKind, Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    access::{all_contiguous, contraction_operands, is_vectorizable, stores_along},
    substitution,
};

/// Elements along the axis of results of the tiles that an `ldmatrix` of four matrices loads.
const LOADED_RESULTS: i64 = 16;

/// A tile of an operand, in registers.
struct Fragments<'a> {
    operand: &'a PrimExpr,
    registers: Buffer,
    /// Axis of results that it varies along, and the reduction axis.
    axis: usize,
    k: usize,
    /// True if a matrix in shared memory is the transpose of the operand of `mma.sync`.
    transposes: bool,
    /// Elements of a thread in the tiles that an `ldmatrix` of four matrices loads, 16 bytes.
    loaded: i64,
    /// True if the first two of the four matrices of an `ldmatrix` are one above the other in shared memory, otherwise
    /// side by side.
    is_tall: bool,
    /// True for the operand of rows.
    is_rows: bool,
}

impl ThreadCode<'_> {
    /// Returns the index of the thread in its warp.
    fn lane(&self) -> PrimExpr {
        let index = self.threads.as_ref().map_or_else(|| PrimExpr::int64(0), |threads| threads.index.clone());
        index.floormod(PrimExpr::int64(WARP_THREADS))
    }

    /// Returns the loop over the results of a thread in an `mma.sync` along rows or columns. `body` gets the position
    /// and the accumulator.
    pub fn mma_results(&self, from: &Cursor, body: &dyn Fn(&ThreadCode, Position, PrimExpr) -> Stmt) -> Stmt {
        let l = &self.plan.loops[from.number];
        let is_column = self.plan.mma_axes().is_some_and(|[_, n, _]| n == l.axis);
        let (quad, step) = match is_column {
            true => (scaled(self.lane().floormod(PrimExpr::int64(4)), THREAD_RESULTS), 1),
            false => (self.lane().floordiv(PrimExpr::int64(4)), MMA_TILE[0] / THREAD_RESULTS),
        };
        let first = Cursor { at: from.at.moved_in_thread(l.axis, quad), ..from.clone() };
        let var = Var::int64(self.stage.axes[l.axis].var.name().clone());
        let count = PrimExpr::int64(THREAD_RESULTS);
        let at = first.at.moved_in_thread(l.axis, scaled(var.expr(), step));
        let slot = sum(&from.slot, &scaled(var.expr(), self.slot_stride(from.number)));
        let inner = |code: &ThreadCode| body(code, at.clone(), slot.clone());
        if !(is_column && self.has_column_pairs) {
            return Stmt::for_kind(var, count, ForKind::Unrolled, inner(self));
        }
        let extent = &self.stage.axes[l.axis].extent;
        let is_even = extent.as_int().is_some_and(|extent| extent % THREAD_RESULTS == 0);
        match (self.open[l.axis], is_even) {
            (false, _) => Stmt::for_kind(var, count, ForKind::Vectorized, inner(self)),
            (true, true) => {
                let mut closed = self.clone();
                closed.open[l.axis] = false;
                let pair = Stmt::for_kind(var, count, ForKind::Vectorized, inner(&closed));
                guarded(first.at.all()[l.axis].clone().lt(extent.clone()), pair)
            }
            (true, false) => self.peeled_vector(l, &first, &var, &count, &inner),
        }
    }

    /// Returns true if two results in adjacent columns are stored as one vector.
    pub fn stores_column_pairs(&self) -> bool {
        let Some([_, n, _]) = self.plan.mma_axes() else { return false };
        let axis = &self.stage.axes[n];
        let branches = |value: &PrimExpr| value.any(&mut |e| e.as_intrin("if_then_else").is_some());
        let is_vector =
            |value: &PrimExpr| is_vectorizable(value) && !branches(value) && all_contiguous(value, &axis.var);
        let epilogue = self.stage.epilogue.as_ref().map(|epilogue| &epilogue.value);
        stores_along(self.stage, axis) && epilogue.is_none_or(is_vector)
    }

    /// Returns the loops over the reduction, around the instructions that load and multiply operands.
    pub fn mma_updates(&self, sums: &Buffer, [m, n, k]: [usize; 3], from: &Cursor) -> Stmt {
        let has = |l: &Loop| self.stage.axes[l.axis].reduce && l.kind != LoopKind::Mma;
        self.nest(from, &has, &|code, cursor| {
            let stage = Stage { value: code.value.clone(), ..code.stage.clone() };
            let Some((a, b)) = contraction_operands(&stage) else { return Stmt::nop() };
            let (a, b) = (stored(a), stored(b));
            let (rows, columns) = if a.uses(&stage.axes[m].var) { (a, b) } else { (b, a) };
            let tiles = code.plan.loops.len() - 5;
            let count = |number: usize| code.trip_count(number).as_int().unwrap_or(1);
            let (row_tiles, column_tiles) = (count(tiles), count(tiles + 1));
            let a = code.fragments(rows, [m, k], row_tiles, true);
            let b = code.fragments(columns, [n, k], column_tiles / 2, false);
            let alloc = |of: &Fragments| Stmt::new(StmtKind::Alloc(of.registers.clone(), Default::default()));
            Stmt::new(StmtKind::Seq(vec![
                alloc(&a),
                alloc(&b),
                code.load_fragments(&a, &cursor.at, row_tiles),
                code.load_fragments(&b, &cursor.at, column_tiles / 2),
                code.multiply(&a, &b, sums, tiles),
            ]))
        })
    }

    /// Returns the registers for `count` loads of an operand. `is_rows`: true for the operand of rows.
    fn fragments<'a>(&self, operand: &'a PrimExpr, [axis, k]: [usize; 2], count: i64, is_rows: bool) -> Fragments<'a> {
        let (mut name, mut along_k) = ("operand".to_owned(), true);
        if let PrimKind::Load(buffer, indices, _) = operand.kind() {
            name = buffer.name.to_string();
            along_k = indices.last().is_some_and(|last| last.uses(&self.stage.axes[k].var));
        }
        let loaded = matrix_row(operand.dtype());
        let size = vec![PrimExpr::int64(count * loaded)];
        let registers = Buffer::scoped(format!("{name}_fragments"), size, operand.dtype(), "local");
        // The instruction takes rows of A and columns of B along the reduction.
        Fragments { operand, registers, axis, k, loaded, transposes: !along_k, is_tall: is_rows == along_k, is_rows }
    }

    /// Returns the loads of `count` consecutive tiles of 16 x 16 elements at a position.
    fn load_fragments(&self, of: &Fragments, at: &Position, count: i64) -> Stmt {
        if of.transposes && of.registers.dtype.bits == 32 {
            return self.load_elements(of, at, count);
        }
        let lane = self.lane();
        let c = PrimExpr::int64;
        // Lanes give addresses of rows of 16 bytes: 8 for each of four matrices.
        let (row, column) = match of.is_tall {
            true => (lane.clone().floormod(c(16)), scaled(lane.floordiv(c(16)), of.loaded)),
            false => {
                let row = lane.clone().floormod(c(8)) + scaled(lane.clone().floordiv(c(16)), 8);
                (row, scaled(lane.floordiv(c(8)).floormod(c(2)), of.loaded))
            }
        };
        let tile = Var::int64("tile");
        let (along_axis, along_k) = if of.transposes { (column, row) } else { (row, column) };
        let at = at.moved_in_thread(of.axis, scaled(tile.expr(), LOADED_RESULTS)).moved_in_thread(of.axis, along_axis);
        let at = at.moved_in_thread(of.k, along_k).all();
        let element = of.operand.substitute(&substitution(&self.stage.axes, &at));
        let load = load_matrices(&of.registers, scaled(tile.expr(), of.loaded), element, of.transposes);
        Stmt::for_kind(tile, c(count), ForKind::Unrolled, load)
    }

    /// Returns the loads of `count` consecutive tiles of 16 x 8 elements of 32 bits, whose rows in shared memory are along
    /// results: four elements a thread, eight results or four elements of the reduction apart.
    fn load_elements(&self, of: &Fragments, at: &Position, count: i64) -> Stmt {
        let (lane, c) = (self.lane(), PrimExpr::int64);
        let (tile, register) = (Var::int64("tile"), Var::int64("register"));
        let (low, high) = (register.expr().floormod(c(2)), register.expr().floordiv(c(2)));
        let (along_axis, along_k) = if of.is_rows { (low, high) } else { (high, low) };
        let result = lane.clone().floordiv(c(4)) + scaled(along_axis, 8);
        let at = at.moved_in_thread(of.axis, scaled(tile.expr(), LOADED_RESULTS)).moved_in_thread(of.axis, result);
        let at = at.moved_in_thread(of.k, lane.floormod(c(4)) + scaled(along_k, 4)).all();
        let element = of.operand.substitute(&substitution(&self.stage.axes, &at));
        let slot = scaled(tile.expr(), of.loaded) + register.expr();
        let load = Stmt::store(&of.registers, vec![slot], element);
        let registers = Stmt::for_kind(register, c(of.loaded), ForKind::Unrolled, load);
        Stmt::for_kind(tile, c(count), ForKind::Unrolled, registers)
    }

    /// Returns the multiplications of all tiles of a warp, whose loops are from `tiles` on.
    fn multiply(&self, a: &Fragments, b: &Fragments, sums: &Buffer, tiles: usize) -> Stmt {
        let (row, column) = (Var::int64("row_tile"), Var::int64("column_tile"));
        let slot =
            sum(&scaled(row.expr(), self.slot_stride(tiles)), &scaled(column.expr(), self.slot_stride(tiles + 1)));
        let rows = (&a.registers, scaled(row.expr(), a.loaded));
        let columns = (&b.registers, scaled(column.expr(), b.loaded / 2));
        let mma = multiply(rows, columns, (sums, slot));
        let inner = Stmt::for_kind(column, self.trip_count(tiles + 1), ForKind::Unrolled, mma);
        Stmt::for_kind(row, self.trip_count(tiles), ForKind::Unrolled, inner)
    }
}

/// Returns an `ldmatrix` of four matrices to registers from an index on. Each lane gives the first element of a row of one.
pub fn load_matrices(to: &Buffer, at: PrimExpr, element: PrimExpr, transposes: bool) -> Stmt {
    let address = PrimExpr::intrin("address_of", vec![element], DType::HANDLE);
    let (data, count, words) = (to.data.expr(), PrimExpr::int32(4), PrimExpr::str(".b16"));
    let args = vec![PrimExpr::bool(transposes), count, words, data, at, address, PrimExpr::int64(0)];
    Stmt::new(StmtKind::Evaluate(PrimExpr::intrin("ptx_ldmatrix", args, to.dtype)))
}

/// Returns an `mma.sync` of registers, each from an index on: rows, columns, and the sums that it adds to.
pub fn multiply(rows: (&Buffer, PrimExpr), columns: (&Buffer, PrimExpr), sums: (&Buffer, PrimExpr)) -> Stmt {
    let (dtype, result) = (rows.0.dtype, sums.0.dtype);
    let [m, n] = MMA_TILE;
    let shape = format!("m{m}n{n}k{}", mma_depth(dtype));
    let (dtype, sum_dtype) = (if dtype == DType::FLOAT32 { "tf32" } else { mma_dtype(dtype) }, mma_dtype(result));
    let words = [&*shape, "row", "col", dtype, dtype, sum_dtype].map(PrimExpr::str);
    let operands = [rows, columns, sums].into_iter().flat_map(|(buffer, at)| [buffer.data.expr(), at]);
    let args = words.into_iter().chain(operands).chain([PrimExpr::bool(false)]).collect();
    Stmt::new(StmtKind::Evaluate(PrimExpr::intrin("ptx_mma", args, result)))
}

/// Returns the name of a dtype in `ptx_mma`.
fn mma_dtype(dtype: DType) -> &'static str {
    match dtype {
        DType::FLOAT16 => "fp16",
        DType::BFLOAT16 => "bf16",
        DType::INT8 => "int8",
        DType::UINT8 => "uint8",
        DType::INT32 => "int32",
        _ => "fp32",
    }
}
