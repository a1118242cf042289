//! Square blocks that are read across are transposed in registers.
//!
//! A stage that stores along one axis and loads along another copies a square block as it lies, and then reads it across:
//! vectors of elements that are a row apart, which the machine gathers one by one. Where several such vectors read one
//! block, its rows are loaded instead, and shuffled: first inside of groups of 16 bytes, then whole groups.

use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// Bytes that shuffles change the order in without crossing to others at a cost.
const GROUP: i64 = 16;

/// Transposes what the statements read across.
pub fn transpose(stmt: Stmt) -> Stmt {
    let mut pointed = FxHashSet::default();
    stmt.walk(&mut |stmt| stmt.each_expr(&mut |e| e.walk(&mut |e| pointed_to(e, &mut pointed))));
    transposed(stmt, &pointed)
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

fn transposed(mut stmt: Stmt, pointed: &FxHashSet<Var>) -> Stmt {
    stmt.each_child_mut(&mut |child| *child = transposed(std::mem::replace(child, Stmt::nop()), pointed));
    let StmtKind::Seq(stmts) = stmt.kind else { return stmt };
    let mut all = Vec::new();
    let mut stmts = stmts.into_iter().peekable();
    while let Some(first) = stmts.next() {
        if !is_store(&first) {
            all.push(first);
            continue;
        }
        let mut stores = vec![first];
        while let Some(next) = stmts.next_if(is_store) {
            stores.push(next);
        }
        for block in blocks(&stores).into_iter().filter(|block| !pointed.contains(&block.buffer.data)) {
            let (rows, columns) = block.columns();
            all.extend(rows);
            stores.iter_mut().for_each(|store| store.map_exprs(&mut |e| block.read(e, &columns)));
        }
        all.extend(stores);
    }
    Stmt { kind: StmtKind::Seq(all), span: stmt.span }
}

fn is_store(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Store { predicate: None, .. })
}

/// As many rows of a local buffer as each has elements.
#[derive(PartialEq)]
struct Block {
    buffer: Buffer,
    /// Where its first element is.
    first: i64,
    side: i64,
}

/// The blocks that stores read across, several columns of each.
fn blocks(stores: &[Stmt]) -> Vec<Block> {
    let mut found: Vec<(Block, Vec<i64>)> = Vec::new();
    let mut stored = Vec::new();
    for store in stores {
        if let StmtKind::Store { buffer, .. } = &store.kind {
            stored.push(buffer);
        }
        store.each_expr(&mut |e| {
            e.walk(&mut |e| {
                let Some((block, column)) = Block::of(e) else { return };
                match found.iter_mut().find(|(known, _)| *known == block) {
                    Some((_, columns)) if columns.contains(&column) => {}
                    Some((_, columns)) => columns.push(column),
                    None => found.push((block, vec![column])),
                }
            });
        });
    }
    let worth = |(block, columns): &(Block, Vec<i64>)| {
        columns.len() as i64 * 2 >= block.side && !stored.iter().any(|buffer| buffer.data == block.buffer.data)
    };
    found.into_iter().filter(worth).map(|(block, _)| block).collect()
}

impl Block {
    /// The block that a load reads a column of, and which.
    fn of(load: &PrimExpr) -> Option<(Block, i64)> {
        let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
        let PrimKind::Ramp(base, stride) = indices.first()?.kind() else { return None };
        let (base, side, lanes) = (base.as_int()?, stride.as_int()?, i64::from(load.dtype().lanes));
        let group = GROUP / buffer.dtype.bytes().max(1) as i64;
        let squares = [group, 2 * group, 4 * group];
        // Only what is declared here is known to be larger than what is read, and to be nobody else's.
        let fits = &*buffer.scope == "local" && buffer.dtype.is_scalar() && matches!(buffer.dtype.bits, 32 | 64);
        let first = base - base % side.max(1);
        let inside = buffer.shape.first()?.as_int()? >= first + side * side;
        let is_column = side == lanes && squares.contains(&side) && inside;
        (fits && is_column).then(|| (Block { buffer: buffer.clone(), first, side }, base - first))
    }

    /// The statements that load and shuffle, and the columns.
    fn columns(&self) -> (Vec<Stmt>, Vec<PrimExpr>) {
        let mut shuffles = Shuffles { stmts: Vec::new(), side: self.side };
        let row = |row: i64| {
            let start = PrimExpr::int64(self.first + row * self.side);
            let at = PrimExpr::ramp(start, PrimExpr::int64(1), self.side as u16);
            PrimExpr::load(&self.buffer, vec![at])
        };
        let rows: Vec<PrimExpr> = (0..self.side).map(|at| shuffles.bind("row", row(at))).collect();
        let group = GROUP / self.buffer.dtype.bytes().max(1) as i64;
        let inside: Vec<Vec<PrimExpr>> =
            rows.chunks(group as usize).map(|rows| shuffles.inside_groups(rows, group)).collect();
        let mut columns = vec![PrimExpr::int64(0); self.side as usize];
        for place in 0..group as usize {
            let vectors = inside.iter().map(|vectors| vectors[place].clone()).collect();
            for (number, column) in shuffles.groups(vectors, group).into_iter().enumerate() {
                columns[number * group as usize + place] = column;
            }
        }
        (shuffles.stmts, columns)
    }

    /// An expression that has columns in the place of loads.
    fn read(&self, e: &PrimExpr, columns: &[PrimExpr]) -> PrimExpr {
        match Block::of(e) {
            Some((block, column)) if block == *self => columns[column as usize].clone(),
            _ => e.map_children(&mut |child| self.read(child, columns)),
        }
    }
}

/// Writes shuffles.
struct Shuffles {
    stmts: Vec<Stmt>,
    /// How many lanes vectors have.
    side: i64,
}

impl Shuffles {
    fn bind(&mut self, name: &str, value: PrimExpr) -> PrimExpr {
        let var = Var::new(name, value.dtype());
        self.stmts.push(Stmt::new(StmtKind::Bind(var.clone(), value)));
        var.expr()
    }

    /// Lanes of two vectors: `lanes` gives those of each group of the result; of the second vector they count on.
    fn shuffle(&mut self, a: &PrimExpr, b: &PrimExpr, lanes: impl IntoIterator<Item = i64>) -> PrimExpr {
        let lanes = lanes.into_iter().map(PrimExpr::int64).collect();
        let value = PrimExpr::new(PrimKind::Shuffle(vec![a.clone(), b.clone()], lanes), a.dtype());
        self.bind("shuffled", value)
    }

    /// Pieces of so many lanes by turns from two vectors, of the lower or upper half of each group.
    fn by_turns(&mut self, a: &PrimExpr, b: &PrimExpr, group: i64, piece: i64, half: i64) -> PrimExpr {
        let side = self.side;
        let turn = move |start: i64| [0, side].map(|vector| (0..piece).map(move |lane| vector + start + lane));
        let starts = (0..side / group).flat_map(move |at| (0..group / 2 / piece).map(move |n| at * group + n * piece));
        let lanes = starts.flat_map(move |start| turn(start + half * group / 2).into_iter().flatten());
        self.shuffle(a, b, lanes)
    }

    /// As many rows as groups have lanes: the groups are transposed, each on its own.
    fn inside_groups(&mut self, rows: &[PrimExpr], group: i64) -> Vec<PrimExpr> {
        match rows {
            [a, b] => [0, 1].map(|half| self.by_turns(a, b, group, 1, half)).to_vec(),
            [a, b, c, d] => {
                let first = [0, 1].map(|half| self.by_turns(a, b, group, 1, half));
                let second = [0, 1].map(|half| self.by_turns(c, d, group, 1, half));
                let pairs = first.iter().zip(&second).collect::<Vec<_>>();
                let both = pairs.into_iter().flat_map(|(a, b)| [(a, b, 0), (a, b, 1)]);
                both.map(|(a, b, half)| self.by_turns(a, b, group, 2, half)).collect()
            }
            _ => unreachable!("groups have two or four lanes"),
        }
    }

    /// As many vectors as they have groups: whole groups are transposed.
    fn groups(&mut self, vectors: Vec<PrimExpr>, group: i64) -> Vec<PrimExpr> {
        if vectors.len() == 1 {
            return vectors;
        }
        let (side, mut halves) = (self.side, [Vec::new(), Vec::new()]);
        for pair in vectors.chunks(2) {
            for (odd, half) in (0..).zip(&mut halves) {
                let starts = [0, side]
                    .into_iter()
                    .flat_map(|vector| (0..side / group / 2).map(move |number| vector + (2 * number + odd) * group));
                half.push(self.shuffle(&pair[0], &pair[1], starts.flat_map(|start| start..start + group)));
            }
        }
        let [even, odd] = halves.map(|half| self.groups(half, group));
        even.into_iter().zip(odd).flat_map(|(even, odd)| [even, odd]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::DType;

    /// Stores the columns of a block of 4 x 4.
    fn columns(of: &Buffer) -> Vec<Stmt> {
        let to = Buffer::new("to", vec![PrimExpr::int64(16)], DType::FLOAT32);
        let ramp = |base: i64, stride: i64| PrimExpr::ramp(PrimExpr::int64(base), PrimExpr::int64(stride), 4);
        let column = |n: i64| Stmt::store(&to, vec![ramp(4 * n, 1)], PrimExpr::load(of, vec![ramp(n, 4)]));
        (0..4).map(column).collect()
    }

    fn shuffles(stmt: &Stmt) -> usize {
        let mut count = 0;
        stmt.walk(&mut |stmt| {
            stmt.each_expr(&mut |e| count += usize::from(e.any(&mut |e| matches!(e.kind(), PrimKind::Shuffle(..)))));
        });
        count
    }

    #[test]
    fn columns_are_shuffled_where_nobody_else_may_write() {
        let block = Buffer::scoped("block", vec![PrimExpr::int64(16)], DType::FLOAT32, "local");
        assert_eq!(shuffles(&transpose(Stmt::seq(columns(&block)))), 8);
        let place = PrimExpr::load(&block, vec![PrimExpr::int64(0)]);
        let pointer = PrimExpr::intrin("address_of", vec![place], block.data.ty().clone());
        let pointer = Stmt::new(StmtKind::Evaluate(pointer));
        assert_eq!(shuffles(&transpose(Stmt::seq([pointer].into_iter().chain(columns(&block))))), 0);
        let small = Buffer::scoped("small", vec![PrimExpr::int64(15)], DType::FLOAT32, "local");
        assert_eq!(shuffles(&transpose(Stmt::seq(columns(&small)))), 0);
    }
}
