//! Sorting of lines: radix sort for long lines, merge sort for short ones.
//!
//! Merge sort alternates between two halves of a buffer: pass `p` merges adjacent runs of `2^p` elements from one half
//! into the other. After `ceil(log2 n)` passes one run remains, in the half given by the parity of the number of
//! passes.

use super::{
    Order, from_line,
    radix::{self, Radix},
};
use crate::{
    dims,
    legalize::{Builder, Input},
};
use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{Buffer, Stmt, StmtKind},
};

/// Sorted lines of a tensor.
pub struct Sorted {
    values: Buffer,
    positions: Option<Buffer>,
    /// The half of the buffers that contains the result, if they have two.
    half: Option<PrimExpr>,
}

impl Sorted {
    /// Sorts `x` along an axis; with positions if a dtype is given for them.
    pub fn along(b: &mut Builder, x: &Input, axis: usize, order: Order, positions: Option<DType>) -> Self {
        match x.shape()[axis].as_int() {
            Some(length) if length < radix::MIN_RADIX_LENGTH => Sorted::merged(b, x, axis, order, positions),
            _ => Sorted::by_digits(b, x, axis, order, positions),
        }
    }

    fn by_digits(b: &mut Builder, x: &Input, axis: usize, order: Order, positions: Option<DType>) -> Self {
        let mut lines = x.shape().to_vec();
        let length = lines.remove(axis);
        let shape = [&lines[..], std::slice::from_ref(&length)].concat();
        let values = b.temp("sorted", shape.clone(), x.dtype());
        let few = length.as_int().is_some_and(|length| length <= i64::from(i32::MAX));
        let position = positions.unwrap_or(if few { DType::INT32 } else { DType::INT64 });
        let positions = positions.map(|dtype| b.temp("sorted_at", shape, dtype));
        b.block("sort", &lines, |line| {
            let element = &|j: &PrimExpr| x.at(&from_line(line, j, axis));
            let all = &length;
            Radix { element, order, length: all, capacity: all, stored: all, position }.sort(|j, element, slot| {
                let to = [line, std::slice::from_ref(j)].concat();
                let slots = positions.iter().map(|buffer| Stmt::store(buffer, to.clone(), slot.clone()));
                Stmt::seq([Stmt::store(&values, to.clone(), element)].into_iter().chain(slots))
            })
        });
        Sorted { values, positions, half: None }
    }

    fn merged(b: &mut Builder, x: &Input, axis: usize, order: Order, positions: Option<DType>) -> Self {
        let mut lines = x.shape().to_vec();
        let length = lines.remove(axis);
        let shape = [&lines[..], &[2i64.into(), length.clone()]].concat();
        let values = b.temp("sorted", shape.clone(), x.dtype());
        let positions = positions.map(|dtype| b.temp("sorted_at", shape, dtype));
        let passes = passes(&length);
        let half = match passes.as_int() {
            Some(n) => PrimExpr::int64(n % 2),
            None => passes.clone().floormod(2i64),
        };
        let sorted = Sorted { values, positions, half: Some(half) };
        b.block("sort", &lines, |line| {
            let fill = sorted.fill(x, axis, line, &length);
            let (pass, run) = (Var::int64("p"), Var::int64("run"));
            let width = PrimExpr::intrin("shift_left", vec![1i64.into(), pass.expr()], DType::INT64);
            let runs = (&length + (width.clone() * 2i64 - 1i64)).floordiv(width.clone() * 2i64);
            let merge = Merge::new(line, &pass, width, &run, &length).statement(&sorted, order);
            let all = Stmt::serial(pass, passes, Stmt::serial(run, runs, merge));
            Stmt::seq([fill, all])
        });
        sorted
    }

    /// The element at an index whose last component is its rank.
    pub fn value(&self, i: &[PrimExpr]) -> PrimExpr {
        PrimExpr::load(&self.values, self.at(i))
    }

    /// Its original position. Only for lines sorted with positions.
    pub fn position(&self, i: &[PrimExpr]) -> PrimExpr {
        let positions = self.positions.as_ref().unwrap_or(&self.values);
        PrimExpr::load(positions, self.at(i))
    }

    fn at(&self, i: &[PrimExpr]) -> Vec<PrimExpr> {
        let Some(half) = &self.half else { return i.to_vec() };
        let (slot, line) = i.split_last().expect("lines have a last axis");
        [line, &[half.clone(), slot.clone()]].concat()
    }

    fn fill(&self, x: &Input, axis: usize, line: &[PrimExpr], length: &PrimExpr) -> Stmt {
        let j = Var::int64("j");
        let from = from_line(line, &j.expr(), axis);
        let to = [line, &[0i64.into(), j.expr()]].concat();
        let position = |b: &Buffer| Stmt::store(b, to.clone(), j.expr().cast(b.dtype));
        let stores = [Stmt::store(&self.values, to.clone(), x.at(&from))].into_iter();
        Stmt::serial(j.clone(), length.clone(), Stmt::seq(stores.chain(self.positions.iter().map(position))))
    }
}

/// Number of merge passes: `ceil(log2(length))`.
fn passes(length: &PrimExpr) -> PrimExpr {
    if let Some(n) = length.as_int() {
        return PrimExpr::int64(if n > 1 { 64 - i64::from((n - 1).leading_zeros()) } else { 0 });
    }
    let last = dims::max(&dims::sub(length, &1i64.into()), &1i64.into());
    let bits = PrimExpr::int64(64) - PrimExpr::intrin("clz", vec![last], DType::INT64);
    length.clone().gt(1i64).select(bits, 0i64.into())
}

/// One merge of the runs `begin..middle` and `middle..end` of a half into the other.
struct Merge<'a> {
    line: &'a [PrimExpr],
    from: PrimExpr,
    to: PrimExpr,
    begin: PrimExpr,
    middle: PrimExpr,
    end: PrimExpr,
}

impl<'a> Merge<'a> {
    fn new(line: &'a [PrimExpr], pass: &Var, width: PrimExpr, run: &Var, length: &PrimExpr) -> Self {
        let from = pass.expr().floormod(2i64);
        let begin = run.expr() * (width.clone() * 2i64);
        Merge {
            line,
            to: PrimExpr::int64(1) - &from,
            from,
            middle: (&begin + width.clone()).min(length),
            end: (&begin + width * 2i64).min(length),
            begin,
        }
    }

    /// Takes, for each index of the merged run, the next element of the left run unless that of the right one precedes
    /// it. `left` counts the elements taken from the left; the others came from the right.
    fn statement(self, sorted: &Sorted, order: Order) -> Stmt {
        let left = Buffer::scoped("left", vec![1i64.into()], DType::INT64, "local");
        let zero = || vec![PrimExpr::int64(0)];
        let k = Var::int64("k");
        let taken = PrimExpr::load(&left, zero());
        let i = &self.begin + taken.clone();
        let j = &self.middle + (k.expr() - taken.clone());
        let value = |at: &PrimExpr| PrimExpr::load(&sorted.values, self.slot(&self.from, at));
        let right_first = order.before(value(&j), value(&i));
        let some_left = i.clone().lt(self.middle.clone());
        let from_right = j.clone().lt(self.end.clone()).if_then_else(right_first, PrimExpr::bool(false));
        let take_left = some_left.if_then_else(from_right.not(), PrimExpr::bool(false));
        let copy = |at: &PrimExpr| {
            let to = self.slot(&self.to, &(&self.begin + k.expr()));
            let from = self.slot(&self.from, at);
            let buffers = [&sorted.values].into_iter().chain(&sorted.positions);
            Stmt::seq(buffers.map(|b| Stmt::store(b, to.clone(), PrimExpr::load(b, from.clone()))))
        };
        let count = Stmt::store(&left, zero(), taken + 1i64);
        let take = StmtKind::If(take_left, Box::new(Stmt::seq([copy(&i), count])), Some(Box::new(copy(&j))));
        let each = Stmt::serial(k, &self.end - self.begin.clone(), Stmt::new(take));
        let alloc = Stmt::new(StmtKind::Alloc(left.clone(), Default::default()));
        Stmt::new(StmtKind::Seq(vec![alloc, Stmt::store(&left, zero(), 0i64.into()), each]))
    }

    fn slot(&self, half: &PrimExpr, at: &PrimExpr) -> Vec<PrimExpr> {
        [self.line, &[half.clone(), at.clone()]].concat()
    }
}
