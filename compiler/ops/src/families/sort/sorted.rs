//! Sorting of lines: rank sort for short lines, radix sort for long ones and those of dynamic length.

use super::{
    Order, from_line,
    radix::Radix,
    rank::{Ranking, ranked_length},
};
use crate::legalize::{Builder, Input};
use hammock_ir::{
    DType, PrimExpr,
    tir::{Buffer, Stmt},
};

/// Sorted lines of a tensor.
pub struct Sorted {
    values: Buffer,
    positions: Option<Buffer>,
}

impl Sorted {
    /// Sorts `x` along an axis; with positions if a dtype is given for them.
    pub fn along(b: &mut Builder, x: &Input, axis: usize, order: Order, positions: Option<DType>) -> Self {
        let length = x.shape()[axis].clone();
        Sorted::first(b, x, axis, order, positions, &length)
    }

    /// The first `k` elements of the sorted lines of `x` along an axis; with positions if a dtype is given for them.
    pub fn first(
        b: &mut Builder,
        x: &Input,
        axis: usize,
        order: Order,
        positions: Option<DType>,
        k: &PrimExpr,
    ) -> Self {
        let mut lines = x.shape().to_vec();
        let length = lines.remove(axis);
        let shape = [&lines[..], std::slice::from_ref(k)].concat();
        let values = b.temp("sorted", shape.clone(), x.dtype());
        let few = length.as_int().is_some_and(|length| length <= i64::from(i32::MAX));
        let position = positions.unwrap_or(if few { DType::INT32 } else { DType::INT64 });
        let positions = positions.map(|dtype| b.temp("sorted_at", shape, dtype));
        b.block("sort", &lines, |line| {
            let element = &|j: &PrimExpr| x.at(&from_line(line, j, axis));
            let put = |j: &PrimExpr, element: PrimExpr, slot: PrimExpr| {
                let to = [line, std::slice::from_ref(j)].concat();
                let slots =
                    positions.iter().map(|buffer| Stmt::store(buffer, to.clone(), slot.clone().cast(buffer.dtype)));
                Stmt::seq([Stmt::store(&values, to.clone(), element)].into_iter().chain(slots))
            };
            match (ranked_length(&length, x.dtype()), k.as_int()) {
                (Some(length), Some(stored)) => Ranking { element, order, length, stored }.sort(put),
                _ => Radix { element, order, length: &length, capacity: &length, stored: k, position }.sort(put),
            }
        });
        Sorted { values, positions }
    }

    /// The element at an index whose last component is its rank.
    pub fn value(&self, i: &[PrimExpr]) -> PrimExpr {
        PrimExpr::load(&self.values, i.to_vec())
    }

    /// Its original position. Only for lines sorted with positions.
    pub fn position(&self, i: &[PrimExpr]) -> PrimExpr {
        let positions = self.positions.as_ref().unwrap_or(&self.values);
        PrimExpr::load(positions, i.to_vec())
    }
}
