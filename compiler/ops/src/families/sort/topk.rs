//! The largest or smallest elements.
//!
//! A small `k` takes one pass that maintains the best elements so far in order: elements that are no better than the
//! last of them cost one vectorized comparison. A large `k` takes a prefix of the sorted line. `k = 1` is an
//! arg-reduction.

use super::{Order, Sorted, check_axis, index_dtype, to_line};
use crate::{
    CallContext, dims,
    families::reduce::wins,
    legalize::{
        Builder, Input, Legalized,
        loops::{Cell, each, in_order, when},
        lowest,
    },
    op::{AttrKind, Op},
    rules::Inferred,
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType, Type,
    prim::Var,
    relax::InferError,
    tir::{Buffer, ForKind, Stmt, StmtKind},
};

/// Maximum `k` for insertion, which moves half of the elements for each improvement.
const MAX_INSERTED: i64 = 64;

/// Number of elements compared at once with the worst of the best.
const LANES: i64 = 16;

/// A statement under a condition, or under a condition that holds in any lane.
fn when_any(always: PrimExpr, holds: impl FnOnce(&PrimExpr) -> PrimExpr, then: Stmt) -> Stmt {
    let lanes = Buffer::scoped("enters", vec![LANES.into()], DType::INT32, "local");
    let any = Cell::new("any", DType::INT32);
    let in_lanes = |count: i64, f: &dyn Fn(&PrimExpr) -> PrimExpr| {
        let lane = Var::int64("lane");
        let store = Stmt::store(&lanes, vec![lane.expr()], f(&lane.expr()));
        Stmt::for_kind(lane, count.into(), ForKind::Vectorized, store)
    };
    let one = |lane: PrimExpr| PrimExpr::load(&lanes, vec![lane]);
    let lane = Var::int64("lane");
    let choice = holds(&lane.expr()).select(PrimExpr::int32(1), PrimExpr::int32(0));
    let compare = Stmt::store(&lanes, vec![lane.expr()], choice);
    let compare = Stmt::for_kind(lane, LANES.into(), ForKind::Vectorized, compare);
    let halves = std::iter::successors(Some(LANES / 2), |half| (*half > 1).then_some(half / 2));
    let joined = halves.map(|half| in_lanes(half, &|lane| one(lane.clone()).max(one(lane + PrimExpr::int64(half)))));
    let alloc = Stmt::new(StmtKind::Alloc(lanes.clone(), Default::default()));
    let looked = in_order([alloc, compare].into_iter().chain(joined).chain([any.set(one(0i64.into()))]));
    let test = when(always.not(), looked);
    in_order(any.declare(PrimExpr::int32(1)).into_iter().chain([test, when(any.get().gt(0i32), then)]))
}

/// `topk`
pub fn topk() -> Op {
    Op::new("topk")
        .doc("The `k` largest elements along an axis, sorted, with their indices; all of them if `k` is less than 1.")
        .example("x: float32[2, 5]", "x, k=2")
        .tensor("data")
        .attr("k", AttrKind::Int, 1)
        .attr("axis", AttrKind::Int, -1)
        .attr("ret_type", AttrKind::Str, "both")
        .attr("largest", AttrKind::Bool, true)
        .attr("dtype", AttrKind::DType, DType::INT32)
        .infer(topk_type)
        .legalize(topk_tir)
}

/// Returns whether values and whether positions are requested.
fn returns(cx: &CallContext) -> Result<(bool, bool), InferError> {
    let kind = cx.one_of("ret_type", &["both", "values", "indices"])?;
    Ok((kind != "indices", kind != "values"))
}

fn topk_type(cx: &CallContext) -> Inferred {
    check_axis(cx, "data")?;
    let data = cx.tensor("data")?;
    let k = cx.int("k")?;
    let shape = match (data.dims(), data.ndim()) {
        (Some(dims), _) if k >= 1 => {
            let axis = cx.axis("axis", dims.len())?;
            if dims[axis].as_int().is_some_and(|n| n < k) {
                let length = crate::text::dim_text(&dims[axis]);
                return Err(cx.error_at("k", format_args!("`k` is {k}, but the size of axis {axis} is only {length}")));
            }
            let mut dims = dims.to_vec();
            dims[axis] = k.into();
            TensorShape::Known(dims.into())
        }
        (Some(dims), _) => TensorShape::Known(dims.into()),
        (None, Some(ndim)) => TensorShape::Rank(ndim),
        (None, None) => TensorShape::Unknown,
    };
    let positions = TensorType { shape: shape.clone(), dtype: cx.dtype("dtype")?, vdevice: data.vdevice.clone() };
    let values = TensorType { shape, ..data };
    Ok(match returns(cx)? {
        (true, true) => Type::Tuple(vec![values.into(), positions.into()]),
        (true, false) => values.into(),
        _ => positions.into(),
    })
}

fn topk_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "topk")?;
    let x = b.input("data")?;
    let axis = cx.axis("axis", x.ndim())?;
    let order = Order::of(cx.bool("largest")?);
    let k = cx.int("k")?;
    b.require(x.shape()[axis].clone().ge(k), "the axis has fewer than `k` elements");
    let (values, positions) = returns(cx)?;
    let values = values.then(|| b.output("topk_values")).transpose()?;
    let positions = positions.then(|| b.output("topk_indices")).transpose()?;
    let dtype = positions.as_ref().map_or(DType::INT32, |p| index_dtype(p.dtype));
    if k == 1 && order == Order::Descending && (x.dtype().is_floating() || x.dtype().is_integer()) {
        let best = TopK::argmax(&mut b, &x, axis);
        values.iter().for_each(|out| b.compute(out, |i| PrimExpr::load(&best.values, i.to_vec())));
        let position = |out: &Buffer, i: &[PrimExpr]| PrimExpr::load(&best.positions, i.to_vec()).cast(out.dtype);
        positions.iter().for_each(|out| b.compute(out, |i| position(out, i)));
    } else if (1..=MAX_INSERTED).contains(&k) {
        let best = TopK::of(&mut b, &x, axis, order, k, dtype);
        let place = |buffer: &Buffer, i: &[PrimExpr]| PrimExpr::load(buffer, to_line(i, axis));
        values.iter().for_each(|out| b.compute(out, |i| place(&best.values, i)));
        positions.iter().for_each(|out| b.compute(out, |i| place(&best.positions, i).cast(out.dtype)));
    } else {
        let sorted = Sorted::along(&mut b, &x, axis, order, Some(dtype));
        values.iter().for_each(|out| b.compute(out, |i| sorted.value(&to_line(i, axis))));
        positions.iter().for_each(|out| b.compute(out, |i| sorted.position(&to_line(i, axis)).cast(out.dtype)));
    }
    Ok(b.finish())
}

/// The best elements of each line, in order.
struct TopK {
    values: Buffer,
    positions: Buffer,
}

impl TopK {
    /// The maximum of each line and its position, for `k = 1`: a vectorized arg-reduction, as in `argmax`.
    fn argmax(b: &mut Builder, x: &Input, axis: usize) -> Self {
        let mut shape = x.shape().to_vec();
        let length = std::mem::replace(&mut shape[axis], 1i64.into());
        let values = b.temp("best", shape.clone(), x.dtype());
        let best = TopK { values, positions: b.temp("best_at", shape, DType::INT64) };
        let start = vec![PrimExpr::int64(0), lowest(x.dtype())];
        b.fold(&[&best.positions, &best.values], &[("k".to_owned(), length)], start, |so_far, i, k| {
            let at = [&i[..axis], k, &i[axis + 1..]].concat();
            let new = [k[0].clone(), x.at(&at)];
            let wins = wins(&new, so_far, true);
            new.into_iter().zip(so_far).map(|(new, old)| wins.clone().select(new, old.clone())).collect()
        });
        best
    }

    fn of(b: &mut Builder, x: &Input, axis: usize, order: Order, k: i64, dtype: DType) -> Self {
        let mut lines = x.shape().to_vec();
        let length = lines.remove(axis);
        let shape = [&lines[..], &[k.into()]].concat();
        let best =
            TopK { values: b.temp("best", shape.clone(), x.dtype()), positions: b.temp("best_at", shape, dtype) };
        let in_vectors = axis + 1 == x.ndim() && length.as_int().is_none_or(|length| length >= 4 * LANES);
        b.block("topk", &lines, |line| {
            let at = |j: &PrimExpr| {
                let mut at = line.to_vec();
                at.insert(axis, j.clone());
                x.at(&at)
            };
            let insert = |j: &PrimExpr| best.insert(line, j, at(j), order, k);
            let whole = if in_vectors { dims::floordiv(&length, &LANES.into()) } else { 0i64.into() };
            let vectors = each("vector", whole.clone(), |n| {
                let start = n * PrimExpr::int64(LANES);
                let enters = |lane: &PrimExpr| order.before(at(&(&start + lane)), best.last(line, k));
                let insert = each("j", LANES, |j| insert(&(&start + j)));
                when_any(start.clone().lt(k), enters, insert)
            });
            let start = dims::mul(&whole, &LANES.into());
            let rest = each("j", dims::sub(&length, &start), |j| insert(&dims::add(&start, j)));
            if in_vectors { in_order([vectors, rest]) } else { rest }
        });
        best
    }

    /// The worst of the best, once there are `k`.
    fn last(&self, line: &[PrimExpr], k: i64) -> PrimExpr {
        PrimExpr::load(&self.values, [line, &[PrimExpr::int64(k - 1)]].concat())
    }

    /// Inserts an element after those that do not follow it, if there is room or a worse element to evict.
    fn insert(&self, line: &[PrimExpr], j: &PrimExpr, element: PrimExpr, order: Order, k: i64) -> Stmt {
        let at = |i: PrimExpr| [line, &[i]].concat();
        let place = Buffer::scoped("place", vec![1i64.into()], DType::INT64, "local");
        let zero = || vec![PrimExpr::int64(0)];
        let p = PrimExpr::load(&place, zero());
        let before = |i: PrimExpr| order.before(element.clone(), PrimExpr::load(&self.values, at(i)));
        let full = j.clone().ge(k);
        let enters = full.clone().if_then_else(before(PrimExpr::int64(k - 1)), PrimExpr::bool(true));
        let start = Stmt::store(&place, zero(), dims::min(j, &PrimExpr::int64(k - 1)));
        let ahead = || dims::sub(&p, &1i64.into());
        let shifts = p.clone().gt(0i64).if_then_else(before(dims::max(&ahead(), &0i64.into())), PrimExpr::bool(false));
        let copy = |b: &Buffer| Stmt::store(b, at(p.clone()), PrimExpr::load(b, at(ahead())));
        let down = Stmt::store(&place, zero(), ahead());
        let shift = Stmt::seq([copy(&self.values), copy(&self.positions), down]);
        let put = [
            Stmt::store(&self.values, at(p.clone()), element.clone()),
            Stmt::store(&self.positions, at(p.clone()), j.clone().cast(self.positions.dtype)),
        ];
        let search = Stmt::new(StmtKind::While(shifts, Box::new(shift)));
        let body = Stmt::seq([start, search].into_iter().chain(put));
        let alloc = Stmt::new(StmtKind::Alloc(place.clone(), Default::default()));
        Stmt::new(StmtKind::Seq(vec![alloc, Stmt::new(StmtKind::If(enters, Box::new(body), None))]))
    }
}
