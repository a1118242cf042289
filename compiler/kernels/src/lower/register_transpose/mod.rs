//! Blocks of memory that are read across are transposed in registers.
//!
//! Where a stage stores along one axis and loads along another, vectors take elements that are a row apart, which the
//! machine gathers one by one. Where several such vectors take neighbouring columns of the same rows, the rows are loaded
//! instead, and shuffled. Nothing is loaded that was not loaded before.

mod shuffles;

use crate::{
    check,
    index::{Poly, Simplifier},
    stage::access::SPACING,
};
use hammock_ir::{
    DType, PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;
use shuffles::columns;
use std::ops::Range;

/// Bytes that shuffles change the order in without crossing to others at a cost.
const GROUP: i64 = 16;

/// Transposes what the statements of a function read across.
pub fn transpose(func: &PrimFunc, stmt: Stmt) -> Stmt {
    let mut pointed = FxHashSet::default();
    stmt.walk(&mut |stmt| stmt.each_expr(&mut |e| e.walk(&mut |e| pointed_to(e, &mut pointed))));
    Memory { pointed, noalias: func.is_noalias() }.transposed(stmt)
}

/// Notes the memory that an expression has a pointer to: it may be written to by other names.
fn pointed_to(e: &PrimExpr, pointed: &mut FxHashSet<Var>) {
    if let Some(var) = e.as_var().filter(|var| var.dtype().is_handle()) {
        pointed.insert(var.clone());
    }
    for place in e.as_intrin("address_of").iter().flat_map(|call| &call.args) {
        if let PrimKind::Load(buffer, ..) = place.kind() {
            pointed.insert(buffer.data.clone());
        }
    }
}

/// What is known of a function's memory.
struct Memory {
    pointed: FxHashSet<Var>,
    /// True if parameters share none.
    noalias: bool,
}

impl Memory {
    fn transposed(&self, mut stmt: Stmt) -> Stmt {
        stmt.each_child_mut(&mut |child| *child = self.transposed(std::mem::replace(child, Stmt::nop())));
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
                run[block.uses.clone()].iter_mut().for_each(|stmt| stmt.map_exprs(&mut |e| block.read(e, &columns)));
            }
            all.extend(made.into_iter().zip(run).flat_map(|(made, stmt)| made.into_iter().chain([stmt])));
        }
        Stmt { kind: StmtKind::Seq(all), span: stmt.span }
    }

    /// The blocks that statements read several columns of, if they can be read before the first of these.
    fn blocks(&self, run: &[Stmt]) -> Vec<Block> {
        let mut found: Vec<(Block, Vec<(i64, usize)>)> = Vec::new();
        for (number, stmt) in run.iter().enumerate() {
            stmt.each_expr(&mut |e| {
                walk_what_runs(e, &mut |e| {
                    let Some(block) = Block::of(e) else { return };
                    match found.iter_mut().find_map(|(known, read)| Some((known.column(&block)?, read))) {
                        Some((column, read)) => read.push((column, number)),
                        None => found.push((block, vec![(0, number)])),
                    }
                });
            });
        }
        let changes = |block: &Block, stmt: &Stmt| match &stmt.kind {
            StmtKind::Store { buffer, .. } => !self.are_apart(&block.buffer, buffer),
            StmtKind::Bind(var, _) => block.first.uses(var) || block.pitch.uses(var),
            _ => false,
        };
        let is_known = |block: &Block| {
            let between = block.uses.start..block.uses.end - 1;
            !run[between].iter().any(|stmt| changes(block, stmt))
        };
        let blocks = found.into_iter().flat_map(|(block, read)| block.neighbours(read));
        blocks.filter(is_known).collect()
    }

    /// Returns true if nothing that is written to one buffer changes another.
    fn are_apart(&self, a: &Buffer, b: &Buffer) -> bool {
        // Only what is declared here is known to be nobody else's.
        let own = |buffer: &Buffer| &*buffer.scope == "local";
        let unknown = |buffer: &Buffer| self.pointed.contains(&buffer.data);
        a.data != b.data && !unknown(a) && (self.noalias && !unknown(b) || own(a))
    }
}

/// Visits what is evaluated whatever the values are: of a lazy choice, only the condition.
fn walk_what_runs(e: &PrimExpr, f: &mut dyn FnMut(&PrimExpr)) {
    f(e);
    match e.as_intrin("if_then_else") {
        Some(choice) => choice.args.first().into_iter().for_each(|condition| walk_what_runs(condition, f)),
        None => e.each_child(&mut |child| walk_what_runs(child, f)),
    }
}

fn is_simple(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Store { predicate: None, .. } | StmtKind::Bind(..))
}

/// Columns of some rows of memory.
struct Block {
    buffer: Buffer,
    /// The first element of the column zero.
    first: Poly,
    /// How far rows are apart.
    pitch: Poly,
    /// The number of rows.
    rows: u16,
    /// How many columns are read.
    columns: usize,
    /// From the first statement that reads one to behind the last.
    uses: Range<usize>,
}

impl Block {
    /// The rows that a load reads a column of.
    fn of(load: &PrimExpr) -> Option<Block> {
        let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
        let [index] = indices.as_slice() else { return None };
        if check::count(index) > 0 {
            return None;
        }
        let PrimKind::Ramp(first, pitch) = index.kind() else { return None };
        let simplifier = Simplifier::default();
        let (first, pitch) = (simplifier.poly(first), simplifier.poly(pitch));
        let near = pitch.as_constant().is_some_and(|pitch| (-1..=1).contains(&pitch));
        let plain = buffer.strides.is_empty() && buffer.elem_offset.is_none() && buffer.dtype.is_scalar();
        let fits = plain && !buffer.dtype.is_bool() && (8..=64).contains(&buffer.dtype.bits);
        let rows = load.dtype().lanes;
        (fits && !near).then(|| Block { buffer: buffer.clone(), first, pitch, rows, columns: 1, uses: 0..0 })
    }

    /// Which column another load of one column reads, if it is of these rows.
    fn column(&self, other: &Block) -> Option<i64> {
        let memory = |block: &Block| (block.buffer.data.clone(), block.buffer.dtype);
        let same = memory(self) == memory(other) && self.rows == other.rows && self.pitch == other.pitch;
        if same { other.first.checked_sub(&self.first)?.as_constant() } else { None }
    }

    /// Blocks of columns side by side, several of each, of columns with the statements that read them.
    fn neighbours(self, mut read: Vec<(i64, usize)>) -> Vec<Block> {
        read.sort_unstable();
        // Rows that are a few elements long, one after the other, are taken whole; single columns are shuffled as they are
        // loaded.
        let pitch = self.pitch.as_constant().filter(|pitch| *pitch <= SPACING);
        let (least, most) = pitch.map_or((2, i64::MAX), |pitch| (pitch as usize, pitch));
        let mut blocks: Vec<Block> = Vec::new();
        let mut begin = 0i64;
        for (column, stmt) in read {
            let next = begin..begin.saturating_add(most);
            match blocks.last_mut().filter(|block| next.contains(&column) && column <= begin + block.columns as i64) {
                Some(block) => {
                    block.columns = (column - begin) as usize + 1;
                    block.uses = block.uses.start.min(stmt)..block.uses.end.max(stmt + 1);
                }
                None => {
                    begin = column;
                    let first = &self.first + &Poly::constant(column);
                    let (buffer, pitch) = (self.buffer.clone(), self.pitch.clone());
                    blocks.push(Block { buffer, first, pitch, rows: self.rows, columns: 1, uses: stmt..stmt + 1 });
                }
            }
        }
        blocks.retain(|block| block.columns >= least);
        blocks
    }

    /// How many elements a piece of a row has.
    fn group(&self) -> usize {
        GROUP as usize / self.buffer.dtype.bytes()
    }

    /// Some elements of a row.
    fn load(&self, row: usize, column: usize, count: usize) -> PrimExpr {
        let at = &(&self.first + &self.pitch.scale(row as i64)) + &Poly::constant(column as i64);
        let index = PrimExpr::ramp(at.to_expr(), PrimExpr::int64(1), count as u16);
        let bits = self.bits();
        PrimExpr::load(bits.as_ref().unwrap_or(&self.buffer), vec![index])
    }

    /// The same memory as numbers that are not converted to be computed with.
    fn bits(&self) -> Option<Buffer> {
        let dtype = self.buffer.dtype;
        (dtype.is_floating() && dtype.bits < 32).then(|| self.buffer.change(|b| b.dtype = DType::uint(dtype.bits)))
    }

    /// An expression that has columns in the place of loads.
    fn read(&self, e: &PrimExpr, columns: &[PrimExpr]) -> PrimExpr {
        let column = Block::of(e).and_then(|load| self.column(&load));
        match column.and_then(|column| columns.get(usize::try_from(column).ok()?)) {
            Some(column) if column.dtype() == e.dtype() => column.clone(),
            Some(column) => PrimExpr::intrin("reinterpret", vec![column.clone()], e.dtype()),
            None => e.map_children(&mut |child| self.read(child, columns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores columns of rows that are 7 elements apart.
    fn columns(of: &Buffer, rows: u16, count: i64) -> Stmt {
        stored(of, rows, count, &|load| load)
    }

    /// Stores what is made of such columns.
    fn stored(of: &Buffer, rows: u16, count: i64, made: &dyn Fn(PrimExpr) -> PrimExpr) -> Stmt {
        let to = Buffer::new("to", vec![PrimExpr::int64(16)], DType::FLOAT32);
        let ramp = |base: i64, stride: i64| PrimExpr::ramp(PrimExpr::int64(base), PrimExpr::int64(stride), rows);
        let column = |n: i64| Stmt::store(&to, vec![ramp(n * 16, 1)], made(PrimExpr::load(of, vec![ramp(n, 7)])));
        Stmt::seq((0..count).map(column))
    }

    /// How many shuffles there are.
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
    fn columns_are_shuffled_where_nobody_else_may_write() {
        let block = Buffer::scoped("block", vec![PrimExpr::int64(64)], DType::FLOAT32, "local");
        assert_eq!(shuffles(columns(&block, 4, 4), false), 8);
        let place = PrimExpr::load(&block, vec![PrimExpr::int64(0)]);
        let pointer = PrimExpr::intrin("address_of", vec![place], block.data.ty().clone());
        let pointer = Stmt::new(StmtKind::Evaluate(pointer));
        assert_eq!(shuffles(Stmt::seq([pointer, columns(&block, 4, 4)]), false), 0);
        let shared = Buffer::new("shared", vec![PrimExpr::int64(64)], DType::FLOAT32);
        assert_eq!((shuffles(columns(&shared, 4, 4), false), shuffles(columns(&shared, 4, 4), true)), (0, 8));
    }

    #[test]
    fn what_may_not_be_chosen_is_not_loaded_before() {
        let block = Buffer::scoped("block", vec![PrimExpr::int64(64)], DType::FLOAT32, "local");
        let condition = Var::new("condition", DType::BOOL).expr();
        let zero = PrimExpr::float(0.0, DType::FLOAT32).broadcast(4);
        let chosen = |load: PrimExpr| condition.clone().if_then_else(load, zero.clone());
        assert_eq!(shuffles(stored(&block, 4, 4, &chosen), false), 0);
        // Where it is loaded anyway, it is known.
        let always = |load: PrimExpr| chosen(load.clone()) + load;
        assert!(shuffles(stored(&block, 4, 4, &always), false) > 0);
    }

    #[test]
    fn single_columns_stay() {
        let block = Buffer::scoped("block", vec![PrimExpr::int64(64)], DType::FLOAT32, "local");
        assert_eq!(shuffles(columns(&block, 4, 1), false), 0);
        assert!(shuffles(columns(&block, 3, 2), false) > 0);
    }
}
