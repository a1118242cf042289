//! Shuffles that transpose a block of rows into columns.

use super::Block;
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::access::MAX_STRIDE;

/// Returns the statements that load and shuffle a block, and its columns.
pub fn columns(block: &Block) -> (Vec<Stmt>, Vec<PrimExpr>) {
    let (rows, count) = (usize::from(block.rows), block.columns);
    let mut shuffles = Shuffles { stmts: Vec::new(), group: block.group() };
    let square = count.is_power_of_two() && count > shuffles.group && (count / 2 + 1..=count).contains(&rows);
    let columns = match () {
        () if block.row_stride.as_constant().is_some_and(|row_stride| row_stride <= MAX_STRIDE) => {
            shuffles.contiguous_rows(block, count)
        }
        () if square => shuffles.square(block, count),
        () => shuffles.in_groups(block, count),
    };
    let columns = columns.into_iter().map(|column| shuffles.select_lanes(column, 0..rows)).collect();
    (shuffles.stmts, columns)
}

/// Builds shuffles.
struct Shuffles {
    stmts: Vec<Stmt>,
    /// Number of elements in a group, which is a 128-bit lane: shuffles within one cost as little as an addition.
    group: usize,
}

impl Shuffles {
    /// Transposes rows that are contiguous in memory: a column takes some lanes of every vector.
    fn contiguous_rows(&mut self, block: &Block, count: usize) -> Vec<PrimExpr> {
        let lanes = usize::from(block.rows);
        let vectors: Vec<PrimExpr> =
            (0..count).map(|number| self.bind("row", block.load(0, number * lanes, lanes))).collect();
        let column = |column: usize| {
            let element = |lane: usize| lane * count + column;
            let mut all = vectors[0].clone();
            for (number, vector) in vectors.iter().enumerate().skip(1) {
                let chosen = |lane: usize| match element(lane) / lanes {
                    own if own == number => lanes + element(lane) % lanes,
                    0 if number == 1 => element(lane),
                    _ => lane,
                };
                all = self.shuffle(&all, vector, (0..lanes).map(chosen));
            }
            all
        };
        (0..count).map(column).collect()
    }

    /// Transposes a nearly square block: loads whole rows, transposes within groups, then transposes the groups.
    fn square(&mut self, block: &Block, side: usize) -> Vec<PrimExpr> {
        let last = usize::from(block.rows) - 1;
        let rows: Vec<PrimExpr> = (0..=last).map(|row| self.bind("row", block.load(row, 0, side))).collect();
        let group = self.group;
        let inside: Vec<Vec<PrimExpr>> = (0..side)
            .step_by(group)
            .map(|row| self.transpose((row..row + group).map(|row| rows[row.min(last)].clone())))
            .collect();
        let mut columns = vec![PrimExpr::int64(0); side];
        for offset in 0..group {
            let vectors = inside.iter().map(|vectors| vectors[offset].clone()).collect();
            for (number, column) in self.groups(vectors).into_iter().enumerate() {
                columns[number * group + offset] = column;
            }
        }
        columns
    }

    /// Transposes whole groups, given as many vectors as they have groups.
    fn groups(&mut self, vectors: Vec<PrimExpr>) -> Vec<PrimExpr> {
        if vectors.len() == 1 {
            return vectors;
        }
        let (side, group) = (usize::from(vectors[0].dtype().lanes), self.group);
        let mut halves = [Vec::new(), Vec::new()];
        for pair in vectors.chunks(2) {
            for (odd, half) in halves.iter_mut().enumerate() {
                let starts = [0, side]
                    .into_iter()
                    .flat_map(|vector| (0..side / group / 2).map(move |number| vector + (2 * number + odd) * group));
                half.push(self.shuffle(&pair[0], &pair[1], starts.flat_map(|start| start..start + group)));
            }
        }
        let [even, odd] = halves.map(|half| self.groups(half));
        even.into_iter().zip(odd).flat_map(|(even, odd)| [even, odd]).collect()
    }

    /// Transposes a few rows or columns: concatenates one-group pieces of every n-th row, n being the size of a group.
    fn in_groups(&mut self, block: &Block, count: usize) -> Vec<PrimExpr> {
        let group = self.group;
        let mut columns = Vec::new();
        for start in (0..count).step_by(group) {
            // The last pieces end at the last column.
            let from = start.min(count.saturating_sub(group));
            let made = self.group_of_columns(block, from, group.min(count));
            columns.extend_from_slice(&made[start - from..group.min(count - from)]);
        }
        columns
    }

    /// Returns a group of up to `count` columns.
    fn group_of_columns(&mut self, block: &Block, column: usize, count: usize) -> Vec<PrimExpr> {
        let (group, rows) = (self.group, usize::from(block.rows));
        let piece = |row: usize, own: &mut Self| {
            let piece = own.bind("row", block.load(row, column, count));
            own.select_lanes(piece, (0..group).map(|at| at.min(count - 1)))
        };
        let pieces: Vec<PrimExpr> = (0..rows).map(|row| piece(row, self)).collect();
        let last = (rows - 1) / group;
        let groups = || (0..(last + 1).next_power_of_two()).map(|number| number.min(last) * group);
        let row_of_groups = |offset: usize| groups().map(move |first| (first + offset).min(rows - 1));
        let vectors: Vec<PrimExpr> = (0..group)
            .map(|offset| self.concat(row_of_groups(offset).map(|row| pieces[row].clone()).collect()))
            .collect();
        self.transpose(vectors)
    }

    /// Concatenates vectors.
    fn concat(&mut self, mut vectors: Vec<PrimExpr>) -> PrimExpr {
        while vectors.len() > 1 {
            let lanes = usize::from(vectors[0].dtype().lanes);
            vectors = vectors.chunks(2).map(|pair| self.shuffle(&pair[0], &pair[1], 0..2 * lanes)).collect();
        }
        vectors.swap_remove(0)
    }

    /// Transposes within groups, given as many vectors as a group has elements. Each round merges two lists of vectors
    /// into one with half as many columns of twice as many rows.
    fn transpose(&mut self, rows: impl IntoIterator<Item = PrimExpr>) -> Vec<PrimExpr> {
        let mut lists: Vec<Vec<PrimExpr>> = rows.into_iter().map(|row| vec![row]).collect();
        let mut piece = 1;
        while lists.len() > 1 {
            let mut next = Vec::new();
            for pair in lists.chunks(2) {
                let both = pair[0].iter().zip(&pair[1]).flat_map(|(a, b)| [(a, b, 0), (a, b, 1)]);
                next.push(both.map(|(a, b, half)| self.interleave(a, b, piece, half)).collect());
            }
            (lists, piece) = (next, 2 * piece);
        }
        lists.swap_remove(0)
    }

    /// Interleaves pieces of `piece` lanes from two vectors, taken from the lower or upper half of each group.
    fn interleave(&mut self, a: &PrimExpr, b: &PrimExpr, piece: usize, half: usize) -> PrimExpr {
        let (group, lanes) = (self.group, usize::from(a.dtype().lanes));
        let turn = move |start: usize| [0, lanes].map(|vector| (0..piece).map(move |lane| vector + start + lane));
        let starts = (0..lanes / group).flat_map(move |at| (0..group / 2 / piece).map(move |n| at * group + n * piece));
        self.shuffle(a, b, starts.flat_map(|start| turn(start + half * group / 2).into_iter().flatten()))
    }

    /// Selects lanes of a vector, which is unchanged if these are all.
    fn select_lanes(&mut self, vector: PrimExpr, lanes: impl ExactSizeIterator<Item = usize>) -> PrimExpr {
        if usize::from(vector.dtype().lanes) == lanes.len() { vector } else { self.shuffle(&vector, &vector, lanes) }
    }

    /// Shuffles two vectors; lanes of the second are numbered after those of the first.
    fn shuffle(&mut self, a: &PrimExpr, b: &PrimExpr, lanes: impl Iterator<Item = usize>) -> PrimExpr {
        let lanes: Vec<PrimExpr> = lanes.map(|lane| PrimExpr::int64(lane as i64)).collect();
        let ty = a.dtype().with_lanes(lanes.len() as u16);
        self.bind("shuffled", PrimExpr::new(PrimKind::Shuffle(vec![a.clone(), b.clone()], lanes), ty))
    }

    fn bind(&mut self, name: &str, value: PrimExpr) -> PrimExpr {
        let var = Var::of_value(name, &value);
        self.stmts.push(Stmt::new(StmtKind::Bind(var.clone(), value)));
        var.expr()
    }
}
