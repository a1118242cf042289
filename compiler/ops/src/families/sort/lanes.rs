//! The top `k` of several lines at once: each vector lane has a line of its own, and insertion is a comparison and two
//! selects for each of the `k` elements. A vector with no element that enters any line costs one comparison.

use super::{Order, from_line};
use crate::{
    dims,
    legalize::{
        Builder, Input, accumulator,
        loops::{LANES, each, in_lanes, in_order, when, when_any},
    },
};
use hammock_ir::{
    DType, PrimExpr,
    tir::{Buffer, Stmt, StmtKind},
};

/// Maximum `k`: the time of an insertion is proportional to it.
const MAX_K: i64 = 32;

/// Maximum `k` and length of lines along the last axis, whose elements lanes load with a stride.
const MAX_STRIDED_K: i64 = 16;
const MAX_STRIDED_LENGTH: i64 = 256;

/// Minimum number of lines, if it is known.
const MIN_LINES: i64 = LANES / 2;

/// The axis whose indices become lanes, if this suits the lines: the last other axis.
pub fn axis(shape: &[PrimExpr], axis: usize, dtype: DType, k: i64) -> Option<usize> {
    let is_last = axis + 1 == shape.len();
    let lane_axis = shape.len().checked_sub(if is_last { 2 } else { 1 })?;
    let suits = match is_last {
        true => k <= MAX_STRIDED_K && shape[axis].as_int().is_some_and(|length| length <= MAX_STRIDED_LENGTH),
        false => k <= MAX_K,
    };
    let many = shape[lane_axis].as_int().is_none_or(|lines| lines >= MIN_LINES);
    (suits && many && k > 0 && (dtype.is_floating() || dtype.is_integer())).then_some(lane_axis)
}

/// The selection of the best elements of all lines.
pub struct LaneSelection<'a> {
    /// Input.
    pub x: &'a Input,
    /// Axis of the lines.
    pub axis: usize,
    /// Axis whose indices become lanes.
    pub lane_axis: usize,
    /// Order.
    pub order: Order,
    /// Number of selected elements.
    pub k: i64,
    /// Where the selected elements are stored.
    pub values: Option<&'a Buffer>,
    /// Where their positions are stored.
    pub positions: Option<&'a Buffer>,
}

/// Vectors of a group of lines.
struct Vectors {
    /// The next element of each line.
    element: Buffer,
    /// The best elements so far, in order.
    values: Buffer,
    /// Their positions.
    positions: Buffer,
}

impl<'a> LaneSelection<'a> {
    /// The selection of all elements of short lines, which sorts them, if this suits them. Nothing is stored yet.
    pub fn of_all(x: &'a Input, axis: usize, order: Order) -> Option<Self> {
        let k = x.shape()[axis].as_int()?;
        let lane_axis = self::axis(x.shape(), axis, x.dtype(), k)?;
        Some(LaneSelection { x, axis, lane_axis, order, k, values: None, positions: None })
    }

    /// Stores the best elements of each line, sorted.
    pub fn select(&self, b: &mut Builder) {
        let length = &self.x.shape()[self.axis];
        let mut groups = self.x.shape().to_vec();
        groups[self.lane_axis] = dims::ceildiv(&groups[self.lane_axis], &LANES.into());
        groups.remove(self.axis);
        let few = length.as_int().is_some_and(|length| length <= i64::from(i32::MAX));
        let position = if few { DType::INT32 } else { DType::INT64 };
        let wide = accumulator(self.x.dtype());
        b.block("topk", &groups, |group| {
            let local =
                |name: &str, rows: i64, dtype| Buffer::scoped(name, vec![rows.into(), LANES.into()], dtype, "local");
            let vectors = Vectors {
                element: local("element", 1, wide),
                values: local("best", self.k, wide),
                positions: local("best_at", self.k, position),
            };
            let next = each("j", length.clone(), |j| {
                let enters = |lane: &PrimExpr| self.order.before(vectors.element(lane), vectors.best(lane, self.k - 1));
                let insert = self.insert(&vectors, j);
                in_order([self.load(&vectors, group, j), when_any(j.clone().lt(self.k), enters, insert)])
            });
            let store = in_order((0..self.k).map(|rank| self.store(&vectors, group, rank)));
            in_order(vectors.declare(self.k).into_iter().chain([next, store]))
        });
    }

    /// The index of an element of a lane's line, and the condition that there is such a line, unless there always is.
    fn index(&self, group: &[PrimExpr], lane: &PrimExpr, j: &PrimExpr) -> (Vec<PrimExpr>, Option<PrimExpr>) {
        let mut at = from_line(group, j, self.axis);
        let line = &at[self.lane_axis] * PrimExpr::int64(LANES) + lane;
        let lines = &self.x.shape()[self.lane_axis];
        let whole = lines.as_int().is_some_and(|lines| lines % LANES == 0);
        at[self.lane_axis] = line.clone();
        (at, (!whole).then(|| line.lt(lines.clone())))
    }

    fn load(&self, vectors: &Vectors, group: &[PrimExpr], j: &PrimExpr) -> Stmt {
        in_lanes(|lane| {
            let (at, is_line) = self.index(group, lane, j);
            let value = self.x.at(&at).cast(vectors.element.dtype);
            let zero = PrimExpr::constant(0.0, value.dtype());
            let value = is_line.map_or(value.clone(), |is_line| is_line.if_then_else(value, zero));
            Stmt::store(&vectors.element, vec![0i64.into(), lane.clone()], value)
        })
    }

    /// Inserts each lane's element after those that do not follow it. The last ones come first, so that no element is
    /// overwritten before it is moved.
    fn insert(&self, vectors: &Vectors, j: &PrimExpr) -> Stmt {
        let precedes = |lane: &PrimExpr, rank: i64| {
            j.clone().le(rank).or(self.order.before(vectors.element(lane), vectors.best(lane, rank)))
        };
        let put = |buffer: &Buffer, rank: i64, new: &dyn Fn(&PrimExpr) -> PrimExpr| {
            in_lanes(|lane| {
                let old = |rank: i64| PrimExpr::load(buffer, vec![rank.into(), lane.clone()]);
                let entered = match rank {
                    0 => new(lane),
                    _ => precedes(lane, rank - 1).select(old(rank - 1), new(lane)),
                };
                let value = precedes(lane, rank).select(entered, old(rank));
                Stmt::store(buffer, vec![rank.into(), lane.clone()], value)
            })
        };
        in_order((0..self.k).rev().flat_map(|rank| {
            [
                put(&vectors.positions, rank, &|_| j.clone().cast(vectors.positions.dtype)),
                put(&vectors.values, rank, &|lane| vectors.element(lane)),
            ]
        }))
    }

    /// Stores the elements of one rank.
    fn store(&self, vectors: &Vectors, group: &[PrimExpr], rank: i64) -> Stmt {
        let results = [(self.values, &vectors.values), (self.positions, &vectors.positions)];
        in_order(results.into_iter().filter_map(|(to, from)| {
            let to = to?;
            Some(in_lanes(|lane| {
                let (at, is_line) = self.index(group, lane, &rank.into());
                let value = PrimExpr::load(from, vec![rank.into(), lane.clone()]).cast(to.dtype);
                let store = Stmt::store(to, at, value);
                match is_line {
                    Some(is_line) => when(is_line, store),
                    None => store,
                }
            }))
        }))
    }
}

impl Vectors {
    fn declare(&self, k: i64) -> [Stmt; 5] {
        let alloc = |buffer: &Buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default()));
        let clear = |buffer: &Buffer| {
            each("rank", k, |rank| {
                in_lanes(|lane| {
                    let zero = PrimExpr::constant(0.0, buffer.dtype);
                    Stmt::store(buffer, vec![rank.clone(), lane.clone()], zero)
                })
            })
        };
        let Vectors { element, values, positions } = self;
        [alloc(element), alloc(values), alloc(positions), clear(values), clear(positions)]
    }

    fn element(&self, lane: &PrimExpr) -> PrimExpr {
        PrimExpr::load(&self.element, vec![0i64.into(), lane.clone()])
    }

    fn best(&self, lane: &PrimExpr, rank: i64) -> PrimExpr {
        PrimExpr::load(&self.values, vec![rank.into(), lane.clone()])
    }
}
