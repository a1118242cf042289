//! In-register transposes: strided column loads become contiguous row loads and shuffles.
//!
//! If a stage stores along one axis and loads along another, its vector loads are strided by a row, and the CPU gathers
//! them element by element. If several such loads read adjacent columns of the same rows, this loads the rows and
//! transposes the block in registers. It loads no element that was not loaded before.

mod shuffles;

use hammock_ir::{
    DType, PrimExpr,
    prim::{PrimKind, Var, check},
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};
use hammock_loopnest::{
    access::MAX_STRIDE,
    index::{Poly, Simplifier},
};
use hammock_target::assumed_machine::SHUFFLE_LANE_BYTES;
use rustc_hash::FxHashSet;
use shuffles::columns;
use std::ops::Range;

/// Transposes the blocks that the statements of a function load by columns.
pub fn transpose(func: &PrimFunc, stmt: Stmt) -> Stmt {
    let mut escaped = FxHashSet::default();
    stmt.walk(&mut |stmt| stmt.each_expr(&mut |e| e.walk(&mut |e| collect_pointers(e, &mut escaped))));
    Transposer { escaped, noalias: func.is_noalias() }.transpose(stmt)
}

/// Collects the memory that an expression takes a pointer to, which may alias other memory.
fn collect_pointers(e: &PrimExpr, escaped: &mut FxHashSet<Var>) {
    if let Some(var) = e.as_var().filter(|var| var.dtype().is_handle()) {
        escaped.insert(var.clone());
    }
    for element in e.as_intrin("address_of").iter().flat_map(|call| &call.args) {
        if let PrimKind::Load(buffer, ..) = element.kind() {
            escaped.insert(buffer.data.clone());
        }
    }
}

/// Transposes blocks, given what may alias.
struct Transposer {
    escaped: FxHashSet<Var>,
    /// True if parameters do not alias.
    noalias: bool,
}

impl Transposer {
    fn transpose(&self, mut stmt: Stmt) -> Stmt {
        stmt.each_child_mut(&mut |child| *child = self.transpose(std::mem::replace(child, Stmt::nop())));
        let StmtKind::Seq(stmts) = stmt.kind else { return stmt };
        let mut all = Vec::new();
        let mut stmts = stmts.into_iter().peekable();
        while let Some(first) = stmts.next() {
            if !is_simple(&first) {
                all.push(first);
                continue;
            }
            let mut run = vec![first];
            while let Some(next) = stmts.next_if(is_simple) {
                run.push(next);
            }
            let blocks = self.blocks(&run);
            let mut made: Vec<Vec<Stmt>> = run.iter().map(|_| Vec::new()).collect();
            for block in &blocks {
                let (rows, columns) = columns(block);
                made[block.uses.start].extend(rows);
                run[block.uses.clone()]
                    .iter_mut()
                    .for_each(|stmt| stmt.map_exprs(&mut |e| block.replace_loads(e, &columns)));
            }
            all.extend(made.into_iter().zip(run).flat_map(|(made, stmt)| made.into_iter().chain([stmt])));
        }
        Stmt { kind: StmtKind::Seq(all), span: stmt.span }
    }

    /// Returns the blocks that statements load several columns of, if they can be loaded before the first statement.
    fn blocks(&self, run: &[Stmt]) -> Vec<Block> {
        let mut found: Vec<(Block, Vec<(i64, usize)>)> = Vec::new();
        for (number, stmt) in run.iter().enumerate() {
            stmt.each_expr(&mut |e| {
                walk_unconditional(e, &mut |e| {
                    let Some(block) = Block::of(e) else { return };
                    match found.iter_mut().find_map(|(known, read)| Some((known.column(&block)?, read))) {
                        Some((column, read)) => read.push((column, number)),
                        None => found.push((block, vec![(0, number)])),
                    }
                });
            });
        }
        let may_write = |block: &Block, stmt: &Stmt| match &stmt.kind {
            StmtKind::Store { buffer, .. } => !self.are_disjoint(&block.buffer, buffer),
            StmtKind::Bind(var, _) => block.first.uses(var) || block.row_stride.uses(var),
            _ => false,
        };
        let is_unchanged = |block: &Block| {
            let between = block.uses.start..block.uses.end - 1;
            !run[between].iter().any(|stmt| may_write(block, stmt))
        };
        let blocks = found.into_iter().flat_map(|(block, read)| block.split(read));
        blocks.filter(is_unchanged).collect()
    }

    /// Returns true if two buffers do not alias.
    fn are_disjoint(&self, a: &Buffer, b: &Buffer) -> bool {
        // Only local buffers are known to be private.
        let is_local = |buffer: &Buffer| &*buffer.scope == "local";
        let is_escaped = |buffer: &Buffer| self.escaped.contains(&buffer.data);
        a.data != b.data && !is_escaped(a) && (self.noalias && !is_escaped(b) || is_local(a))
    }
}

/// Visits the subexpressions that are evaluated unconditionally.
fn walk_unconditional(e: &PrimExpr, f: &mut dyn FnMut(&PrimExpr)) {
    f(e);
    match e.as_intrin("if_then_else") {
        Some(choice) => choice.args.first().into_iter().for_each(|condition| walk_unconditional(condition, f)),
        None => e.each_child(&mut |child| walk_unconditional(child, f)),
    }
}

fn is_simple(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Store { predicate: None, .. } | StmtKind::Bind(..))
}

/// A block of rows and columns in memory.
struct Block {
    buffer: Buffer,
    /// Index of the first element of column zero.
    first: Poly,
    /// Stride between rows.
    row_stride: Poly,
    /// Number of rows.
    rows: u16,
    /// Number of columns.
    columns: usize,
    /// Range of the statements that load columns.
    uses: Range<usize>,
}

impl Block {
    /// Returns the block whose only column is what a load reads.
    fn of(load: &PrimExpr) -> Option<Block> {
        let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
        let [index] = indices.as_slice() else { return None };
        if check::count(index) > 0 {
            return None;
        }
        let PrimKind::Ramp(first, row_stride) = index.kind() else { return None };
        let simplifier = Simplifier::default();
        let (first, row_stride) = (simplifier.poly(first), simplifier.poly(row_stride));
        let is_contiguous = row_stride.as_constant().is_some_and(|row_stride| (-1..=1).contains(&row_stride));
        let is_plain = buffer.strides.is_empty() && buffer.elem_offset.is_none() && buffer.dtype.is_scalar();
        let fits = is_plain && !buffer.dtype.is_bool() && (8..=64).contains(&buffer.dtype.bits);
        let rows = load.dtype().lanes;
        (fits && !is_contiguous).then(|| Block {
            buffer: buffer.clone(),
            first,
            row_stride,
            rows,
            columns: 1,
            uses: 0..0,
        })
    }

    /// Returns the column of this block that another single-column block is, if it has the same rows.
    fn column(&self, other: &Block) -> Option<i64> {
        let memory = |block: &Block| (block.buffer.data.clone(), block.buffer.dtype);
        let same = memory(self) == memory(other) && self.rows == other.rows && self.row_stride == other.row_stride;
        if same { other.first.checked_sub(&self.first)?.as_constant() } else { None }
    }

    /// Splits the columns that statements read into blocks of adjacent columns.
    fn split(self, mut read: Vec<(i64, usize)>) -> Vec<Block> {
        read.sort_unstable();
        // Short consecutive rows are loaded whole; code generation shuffles single columns.
        let row_stride = self.row_stride.as_constant().filter(|row_stride| *row_stride <= MAX_STRIDE);
        let (min, max) = row_stride.map_or((2, i64::MAX), |row_stride| (row_stride as usize, row_stride));
        let mut blocks: Vec<Block> = Vec::new();
        let mut begin = 0i64;
        for (column, stmt) in read {
            let next = begin..begin.saturating_add(max);
            match blocks.last_mut().filter(|block| next.contains(&column) && column <= begin + block.columns as i64) {
                Some(block) => {
                    block.columns = (column - begin) as usize + 1;
                    block.uses = block.uses.start.min(stmt)..block.uses.end.max(stmt + 1);
                }
                None => {
                    begin = column;
                    let first = &self.first + &Poly::constant(column);
                    let (buffer, row_stride) = (self.buffer.clone(), self.row_stride.clone());
                    blocks.push(Block { buffer, first, row_stride, rows: self.rows, columns: 1, uses: stmt..stmt + 1 });
                }
            }
        }
        blocks.retain(|block| block.columns >= min);
        blocks
    }

    /// Number of elements in a 128-bit lane.
    fn group(&self) -> usize {
        SHUFFLE_LANE_BYTES as usize / self.buffer.dtype.bytes()
    }

    /// Loads some elements of a row.
    fn load(&self, row: usize, column: usize, count: usize) -> PrimExpr {
        let at = &(&self.first + &self.row_stride.scale(row as i64)) + &Poly::constant(column as i64);
        let index = PrimExpr::ramp(at.to_expr(), PrimExpr::int64(1), count as u16);
        let bits = self.bits();
        PrimExpr::load(bits.as_ref().unwrap_or(&self.buffer), vec![index])
    }

    /// Returns the buffer as unsigned integers, if loading its dtype would convert the elements.
    fn bits(&self) -> Option<Buffer> {
        let dtype = self.buffer.dtype;
        (dtype.is_floating() && dtype.bits < 32).then(|| self.buffer.change(|b| b.dtype = DType::uint(dtype.bits)))
    }

    /// Replaces loads of columns in an expression.
    fn replace_loads(&self, e: &PrimExpr, columns: &[PrimExpr]) -> PrimExpr {
        let column = Block::of(e).and_then(|load| self.column(&load));
        match column.and_then(|column| columns.get(usize::try_from(column).ok()?)) {
            Some(column) if column.dtype() == e.dtype() => column.clone(),
            Some(column) => PrimExpr::intrin("reinterpret", vec![column.clone()], e.dtype()),
            None => e.map_children(&mut |child| self.replace_loads(child, columns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores columns of rows with stride 7.
    fn columns(of: &Buffer, rows: u16, count: i64) -> Stmt {
        stored(of, rows, count, &|load| load)
    }

    /// Stores values computed from such columns.
    fn stored(of: &Buffer, rows: u16, count: i64, made: &dyn Fn(PrimExpr) -> PrimExpr) -> Stmt {
        let to = Buffer::new("to", vec![PrimExpr::int64(16)], DType::FLOAT32);
        let ramp = |base: i64, stride: i64| PrimExpr::ramp(PrimExpr::int64(base), PrimExpr::int64(stride), rows);
        let column = |n: i64| Stmt::store(&to, vec![ramp(n * 16, 1)], made(PrimExpr::load(of, vec![ramp(n, 7)])));
        Stmt::seq((0..count).map(column))
    }

    /// Counts the shuffles.
    fn shuffles(stmt: Stmt, noalias: bool) -> usize {
        let mut func = PrimFunc {
            params: Vec::new(),
            ret_ty: None,
            body: Stmt::nop(),
            attrs: Default::default(),
            s_tir: false,
            span: Default::default(),
        };
        if noalias {
            func.attrs.set("tirx.noalias", true);
        }
        let mut count = 0;
        transpose(&func, stmt).walk(&mut |stmt| {
            stmt.each_expr(&mut |e| count += usize::from(e.any(&mut |e| matches!(e.kind(), PrimKind::Shuffle(..)))));
        });
        count
    }

    #[test]
    fn columns_are_shuffled_where_nothing_aliases() {
        let block = Buffer::scoped("block", vec![PrimExpr::int64(64)], DType::FLOAT32, "local");
        assert_eq!(shuffles(columns(&block, 4, 4), false), 8);
        let element = PrimExpr::load(&block, vec![PrimExpr::int64(0)]);
        let pointer = PrimExpr::intrin("address_of", vec![element], block.data.ty().clone());
        let pointer = Stmt::new(StmtKind::Evaluate(pointer));
        assert_eq!(shuffles(Stmt::seq([pointer, columns(&block, 4, 4)]), false), 0);
        let shared = Buffer::new("shared", vec![PrimExpr::int64(64)], DType::FLOAT32);
        assert_eq!((shuffles(columns(&shared, 4, 4), false), shuffles(columns(&shared, 4, 4), true)), (0, 8));
    }

    #[test]
    fn conditional_loads_are_not_speculated() {
        let block = Buffer::scoped("block", vec![PrimExpr::int64(64)], DType::FLOAT32, "local");
        let condition = Var::new("condition", DType::BOOL).expr();
        let zero = PrimExpr::float(0.0, DType::FLOAT32).broadcast(4);
        let chosen = |load: PrimExpr| condition.clone().if_then_else(load, zero.clone());
        assert_eq!(shuffles(stored(&block, 4, 4, &chosen), false), 0);
        // It may be loaded early if it is also loaded unconditionally.
        let always = |load: PrimExpr| chosen(load.clone()) + load;
        assert!(shuffles(stored(&block, 4, 4, &always), false) > 0);
    }

    #[test]
    fn single_columns_are_unchanged() {
        let block = Buffer::scoped("block", vec![PrimExpr::int64(64)], DType::FLOAT32, "local");
        assert_eq!(shuffles(columns(&block, 4, 1), false), 0);
        assert!(shuffles(columns(&block, 3, 2), false) > 0);
    }
}
