//! A bound for the top `k` of a long line: the `k`-th best of some of its elements.
//!
//! Positions that are equal modulo a number form a group, and the best element of each group is its delegate, as in Dr.
//! Top-k (Gaihre et al., SC 2021). One vectorized pass finds the delegates, and a binary search over the bits of their
//! keys, which counts in vectors, the `k`-th best of them. At least `k` elements of the line are not worse than that.
//! With `4k` groups, hardly more than `k` are, whether the line is in random order or sorted.

use super::{Order, radix::key_type};
use crate::{
    dims,
    legalize::loops::{Cell, LANES, each, each_in_vectors, in_lanes, in_order, when, when_any},
};
use hammock_ir::{
    DType, PrimExpr,
    tir::{Buffer, ForKind, Stmt, StmtKind},
};

/// Number of groups for each selected element, and minimum number of groups.
const GROUPS_PER_ELEMENT: i64 = 4;
const MIN_GROUPS: i64 = 4 * LANES;

/// The groups of a line.
pub struct Delegates<'a> {
    /// The element at a position.
    pub element: &'a dyn Fn(&PrimExpr) -> PrimExpr,
    /// The order.
    pub order: Order,
    /// Number of selected elements.
    pub k: i64,
    /// Number of groups, a multiple of the lanes of a vector.
    groups: i64,
}

impl<'a> Delegates<'a> {
    /// Returns the groups of a line that is long enough for at least two elements in each.
    pub fn new(element: &'a dyn Fn(&PrimExpr) -> PrimExpr, order: Order, k: i64, length: &PrimExpr) -> Self {
        let wanted = k.saturating_mul(GROUPS_PER_ELEMENT).max(MIN_GROUPS);
        let most = length.as_int().map_or(wanted, |length| wanted.min(length / 2));
        Delegates { element, order, k, groups: most / LANES * LANES }
    }

    /// Minimum length of a line that has a bound.
    pub fn min_length(&self) -> i64 {
        2 * self.groups
    }

    /// Stores the `k`-th best delegate in a cell. The line has at least [`Self::min_length`] elements.
    pub fn bound(&self, length: &PrimExpr, bound: &Cell) -> Stmt {
        let dtype = (self.element)(&0i64.into()).dtype();
        let groups = PrimExpr::int64(self.groups);
        let delegates = Buffer::new("delegates", vec![groups.clone()], dtype);
        let keys = Buffer::new("delegate_keys", vec![groups.clone()], key_type(dtype).0);
        let at = |buffer: &Buffer, group: &PrimExpr| PrimExpr::load(buffer, vec![group.clone()]);
        let first = each_in_vectors("group", &groups, |group| {
            Stmt::store(&delegates, vec![group.clone()], (self.element)(group))
        });
        let others = dims::offset(&dims::floordiv(length, &groups), -1);
        let others = each("round", others, |round| {
            let start = (round + PrimExpr::int64(1)) * groups.clone();
            each_in_vectors("group", &groups, |group| {
                let (own, other) = (at(&delegates, group), (self.element)(&(&start + group)));
                let best = self.order.before(other.clone(), own.clone()).select(other, own);
                Stmt::store(&delegates, vec![group.clone()], best)
            })
        });
        let make_keys = each_in_vectors("group", &groups, |group| {
            Stmt::store(&keys, vec![group.clone()], self.order.key(at(&delegates, group)))
        });
        let key = Cell::new("bound_key", keys.dtype);
        let find = each("vector", self.groups / LANES, |vector| {
            let group = |lane: &PrimExpr| vector * PrimExpr::int64(LANES) + lane;
            let is_bound = |lane: &PrimExpr| at(&keys, &group(lane)).eq(key.get());
            let set = each("lane", LANES, |lane| when(is_bound(lane), bound.set(at(&delegates, &group(lane)))));
            when_any(PrimExpr::bool(false), is_bound, set)
        });
        let alloc = |buffer: &Buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default()));
        let buffers = [&delegates, &keys].map(alloc).into_iter().chain(key.declare(PrimExpr::int(0, keys.dtype)));
        in_order(buffers.chain([first, others, make_keys, self.search(&keys, &key), find]))
    }

    /// Searches the `k`-th smallest key: the largest one that fewer than `k` keys are less than, bit by bit.
    fn search(&self, keys: &Buffer, key: &Cell) -> Stmt {
        let (dtype, bits) = (keys.dtype, key_type((self.element)(&0i64.into()).dtype()).1);
        let shifted = |bit: &PrimExpr| {
            let by = (PrimExpr::int64(bits - 1) - bit.clone()).cast(dtype);
            PrimExpr::intrin("shift_left", vec![PrimExpr::int(1, dtype), by], dtype)
        };
        each("bit", bits, |bit| {
            let larger = Cell::new("larger_key", dtype);
            let counts = Buffer::scoped("smaller", vec![LANES.into()], DType::INT32, "local");
            let count = |lane: &PrimExpr| PrimExpr::load(&counts, vec![lane.clone()]);
            let clear = in_lanes(|lane| Stmt::store(&counts, vec![lane.clone()], PrimExpr::int32(0)));
            let compare = each("vector", self.groups / LANES, |vector| {
                in_lanes(|lane| {
                    let own = PrimExpr::load(keys, vec![vector * PrimExpr::int64(LANES) + lane]);
                    let one = own.lt(larger.get()).select(PrimExpr::int32(1), PrimExpr::int32(0));
                    Stmt::store(&counts, vec![lane.clone()], count(lane) + one)
                })
            });
            let fold = |half: i64| {
                let lane = hammock_ir::prim::Var::int64("lane");
                let sum = count(&lane.expr()) + count(&(lane.expr() + PrimExpr::int64(half)));
                let store = Stmt::store(&counts, vec![lane.expr()], sum);
                Stmt::for_kind(lane, half.into(), ForKind::Vectorized, store)
            };
            let halves = std::iter::successors(Some(LANES / 2), |half| (*half > 1).then_some(half / 2));
            let is_few = count(&0i64.into()).lt(PrimExpr::int32(self.k as i32));
            let alloc = Stmt::new(StmtKind::Alloc(counts.clone(), Default::default()));
            let declared = larger.declare(key.get() + shifted(bit));
            in_order(
                [alloc]
                    .into_iter()
                    .chain(declared)
                    .chain([clear, compare])
                    .chain(halves.map(fold))
                    .chain([when(is_few, key.set(larger.get()))]),
            )
        })
    }
}
