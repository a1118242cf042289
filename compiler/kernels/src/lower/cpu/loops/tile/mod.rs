//! Register tile: for a reduction, accumulators in a local buffer, the reduction loops, then the stores; otherwise the
//! stores alone.

mod arg_reduce;
mod prefetch;
mod split_reduction;

use super::{
    nest::{self, Domain, Nest, SignFlip, offset_by, tail_steps},
    tail_mask::{self, mask_lanes},
};
use crate::{
    lower::reductions::identity,
    schedule::{Loop, LoopKind, cpu::register_lanes},
};
pub use arg_reduce::Accumulators;
use arg_reduce::ArgIndices;
use hammock_ir::{
    DType, PrimExpr,
    prim::{
        BinaryOp, Var, binary,
        flat::{Dot, PACKED_DTYPE},
    },
    tir::{Buffer, ForKind, Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    access::{combiner, contraction_operands, loads},
    dots,
    index::same_expr,
    replace_loads, steps, substitution,
};

/// Maximum unrolled packed groups of a part of a reduction, if groups are extracted from words.
const MAX_UNROLLED_GROUPS: i64 = 16;

/// Returns the tile of a nest.
pub fn tile(nest: &Nest, at: &Domain) -> Stmt {
    let results = nest.plan.vector().map(|l| l.axis).filter(|axis| !nest.stage.axes[*axis].reduce);
    let active = |axis: usize| at.active_lanes.as_ref().filter(|(of, _)| *of == axis).map(|(_, count)| count.clone());
    let lanes = |axis: usize| Lanes {
        axis,
        vectors: nest.vector_lengths(at.extents[axis].as_int().unwrap_or(1)),
        active: active(axis),
    };
    let results = results.map(lanes);
    let computed = results.clone().map(|lanes| if nest.fills { lanes.round_up(nest) } else { lanes });
    Tile { nest, at, results, computed }.stmt()
}

struct Tile<'a> {
    nest: &'a Nest<'a>,
    at: &'a Domain,
    /// Lanes along a result axis.
    results: Option<Lanes>,
    /// The same, rounded up to full vectors; the additional lanes are not stored.
    computed: Option<Lanes>,
}

/// Consecutive values of an axis as the lanes of one or more vectors.
#[derive(Clone)]
struct Lanes {
    axis: usize,
    /// Number of lanes of each vector.
    vectors: Vec<i64>,
    /// Number of active lanes, if not all are.
    active: Option<PrimExpr>,
}

impl Lanes {
    fn count(&self) -> i64 {
        self.vectors.iter().sum()
    }

    /// Rounds up to full registers.
    fn round_up(self, nest: &Nest) -> Lanes {
        let register = register_lanes(nest.stage, nest.choice.target);
        Lanes { vectors: nest.vector_lengths((self.count() + register - 1) / register * register), ..self }
    }
}

/// How one step of a reduction is vectorized.
#[derive(Clone, Copy)]
struct Step<'a> {
    /// Vectorized axis.
    lanes: Option<&'a Lanes>,
    /// For a partial last packed group: extent of its axis.
    extent: Option<&'a PrimExpr>,
}

impl Tile<'_> {
    fn stmt(&self) -> Stmt {
        let stage = self.nest.stage;
        if stage.reduces() {
            return self.reduction();
        }
        let is_transposed = |load: &&PrimExpr| self.nest.plan.transposes(stage, load);
        if let Some(lanes) = self.results.as_ref().filter(|_| loads(stage).iter().any(is_transposed)) {
            return self.load_columns_first(lanes);
        }
        self.for_each_accumulator(&self.at.position, self.results.as_ref(), None, |_, at| {
            Stmt::store(&stage.buffer, indices(stage, at), stage.value.substitute(&substitution(&stage.axes, at)))
        })
    }

    /// Computes the values of all rows before it stores any. Without stores in between, strided column loads can become
    /// in-register transposes of contiguous rows.
    fn load_columns_first(&self, lanes: &Lanes) -> Stmt {
        let stage = self.nest.stage;
        let rows: Vec<Vec<PrimExpr>> = self.rows(&self.at.position).into_iter().map(|(_, at)| at).collect();
        let mut start = 0;
        let vectors = lanes.vectors.iter().map(|count| {
            let first = start;
            start += count;
            lane_loop(*count, |lane| {
                let by = offset_by(&PrimExpr::int64(first), lane.clone());
                let (mut values, mut stores) = (Vec::new(), Vec::new());
                for row in &rows {
                    let at = shifted(row, lanes.axis, by.clone());
                    let value = Var::data("value", stage.buffer.dtype);
                    let made = stage.value.substitute(&substitution(&stage.axes, &at));
                    values.push(Stmt::new(StmtKind::Bind(value.clone(), made)));
                    stores.push(Stmt::store(&stage.buffer, indices(stage, &at), value.expr()));
                }
                let stmt = Stmt::seq(values.into_iter().chain(stores));
                match (&lanes.active, lane.as_var()) {
                    (Some(active), Some(lane)) => mask_lanes(stmt, lane, &by.lt(active.clone()), None),
                    _ => stmt,
                }
            })
        });
        Stmt::seq(vectors)
    }

    fn loops(&self) -> &[Loop] {
        &self.nest.plan.loops[self.nest.tile..]
    }

    fn is_reduced(&self, l: &Loop) -> bool {
        self.nest.stage.axes[l.axis].reduce
    }

    /// Returns the vectorized reduction axis and its number of lanes.
    fn reduced_lanes(&self) -> Option<(usize, i64)> {
        let l = self.loops().iter().find(|l| l.kind == LoopKind::Vector && self.nest.stage.axes[l.axis].reduce)?;
        Some((l.axis, self.nest.plan.reduction_step(l.axis)))
    }

    /// Number of accumulators per row of the tile.
    fn width(&self) -> i64 {
        let results = self.computed.as_ref().map(Lanes::count);
        results.or(self.reduced_lanes().map(|(_, lanes)| lanes)).unwrap_or(1)
    }

    /// Returns the position of each row of the tile, with the index of its first accumulator.
    fn rows(&self, first: &[PrimExpr]) -> Vec<(PrimExpr, Vec<PrimExpr>)> {
        let mut rows = vec![first.to_vec()];
        for l in self.loops().iter().filter(|l| l.kind == LoopKind::Unrolled && !self.is_reduced(l)) {
            let count = self.at.extents[l.axis].as_int().unwrap_or(1);
            let next = |row: &Vec<PrimExpr>, n: i64| shifted(row, l.axis, PrimExpr::int64(n));
            rows = rows.iter().flat_map(|row| (0..count).map(|n| next(row, n)).collect::<Vec<_>>()).collect();
        }
        (0..).zip(rows).map(|(row, at)| (PrimExpr::int64(row * self.width()), at)).collect()
    }

    /// Calls `f` for each lane of each row, with the index of its accumulator and its position.
    fn for_each_accumulator(
        &self,
        first: &[PrimExpr],
        lanes: Option<&Lanes>,
        sums: Option<&Accumulators>,
        f: impl Fn(PrimExpr, &[PrimExpr]) -> Stmt,
    ) -> Stmt {
        let mut stmts = Vec::new();
        for (slot, at) in self.rows(first) {
            let Some(Lanes { axis, vectors, active }) = lanes else {
                stmts.push(f(slot, &at));
                continue;
            };
            let mut start = 0;
            for count in vectors {
                let offset = |lane: PrimExpr| offset_by(&PrimExpr::int64(start), lane);
                let lane = |lane: PrimExpr| {
                    let by = offset(lane.clone());
                    let stmt = f(offset_by(&slot, by.clone()), &shifted(&at, *axis, by.clone()));
                    match (active, lane.as_var()) {
                        (Some(active), Some(lane)) => mask_lanes(stmt, lane, &by.lt(active.clone()), sums),
                        _ => stmt,
                    }
                };
                stmts.push(if *count > 1 { lane_loop(*count, lane) } else { lane(PrimExpr::int64(0)) });
                start += count;
            }
        }
        Stmt::seq(stmts)
    }

    fn reduction(&self) -> Stmt {
        let (stage, first) = (self.nest.stage, &self.at.position);
        let size = PrimExpr::int64(self.width() * self.rows(first).len() as i64);
        let name = format!("{}_sum", stage.buffer.name);
        let values = Buffer::scoped(name, vec![size.clone()], stage.buffer.dtype, "local");
        let indices = stage.arg_result.as_ref().and_then(|place| ArgIndices::new(self, place, &size));
        let sums = Accumulators { values, indices };
        if let Some((place, found)) = stage.arg_result.as_ref().zip(sums.indices.as_ref()) {
            return self.arg_reduction(place, &sums, found);
        }
        let lanes = self.reduced_lanes().map(|(axis, lanes)| Lanes { axis, vectors: vec![lanes], active: None });
        let identity = combiner(stage).and_then(|(op, _)| identity(op, sums.values.dtype));
        // Every lane may start from the identity, but only one from the previous value. Parts of a reduction are summed
        // up separately unless the order is strict: shorter sums lose less precision.
        let is_separate = |has_previous: bool| lanes.is_some() || has_previous && !self.nest.choice.strict_order;
        let fresh_start = |has_previous: bool| identity.as_ref().filter(|_| is_separate(has_previous));
        let init_accumulators = |has_previous: bool| {
            self.for_each_accumulator(first, lanes.as_ref().or(self.results.as_ref()), Some(&sums), |slot, at| {
                let from = fresh_start(has_previous).cloned().unwrap_or_else(|| self.initial(at, has_previous));
                Stmt::store(&sums.values, vec![slot], from)
            })
        };
        let start =
            if fresh_start(false).is_some() { init_accumulators(false) } else { self.by_previous(&init_accumulators) };
        let is_filled = self.computed.as_ref().map(Lanes::count) != self.results.as_ref().map(Lanes::count);
        let fill = is_filled.then(|| {
            self.for_each_accumulator(first, self.computed.as_ref(), None, |slot, _| {
                Stmt::store(&sums.values, vec![slot], PrimExpr::constant(0.0, sums.values.dtype))
            })
        });
        let start = Stmt::seq(fill.into_iter().chain([start]));
        let update = self.update(0, first, Step { lanes: self.computed.as_ref(), extent: None }, &sums);
        let store_results = |is_last: bool| {
            self.for_each_accumulator(first, self.results.as_ref(), Some(&sums), |slot, at| {
                let sum = PrimExpr::load(&sums.values, vec![slot]);
                if is_last { self.finish(&sum, at) } else { self.store_partial(sum, at) }
            })
        };
        let finish = branch(&self.at.reduction.is_last, &store_results);
        let Some((op, _)) = combiner(stage) else {
            return Stmt::new(StmtKind::Seq(sums.alloc().chain([start, update, finish]).collect()));
        };
        let lane_count = lanes.as_ref().map_or(1, |lanes| lanes.vectors[0]);
        let reduced = self.rows(first).into_iter().map(|(slot, _)| reduce_lanes(op, &sums.values, &slot, lane_count));
        let is_identity = |from: &PrimExpr| stage.init.as_ref().is_some_and(|init| same_expr(init, from));
        let add = |has_previous: bool| match fresh_start(has_previous).filter(|from| has_previous || !is_identity(from))
        {
            None => Stmt::nop(),
            Some(_) => self.for_each_accumulator(first, self.results.as_ref(), Some(&sums), |slot, at| {
                let sum = PrimExpr::load(&sums.values, vec![slot.clone()]);
                Stmt::store(&sums.values, vec![slot], binary(op, self.initial(at, has_previous), sum))
            }),
        };
        let added = identity.is_some().then(|| self.by_previous(&add));
        let stmts = sums.alloc().chain([start, update]).chain(reduced).chain(added).chain([finish]);
        Stmt::new(StmtKind::Seq(stmts.collect()))
    }

    /// Branches on whether there is a partial result of previous parts.
    fn by_previous(&self, f: &dyn Fn(bool) -> Stmt) -> Stmt {
        branch(&self.at.reduction.has_previous, f)
    }

    /// Returns the initial value of the reduction of an element.
    fn initial(&self, at: &[PrimExpr], has_previous: bool) -> PrimExpr {
        let stage = self.nest.stage;
        match &stage.init {
            _ if has_previous => PrimExpr::load(stage.target(), target_indices(stage, at)),
            Some(init) => init.substitute(&substitution(&stage.axes, at)),
            None => PrimExpr::load(&stage.buffer, indices(stage, at)),
        }
    }

    /// Returns the reduction loops, from index `number` of the tile's loops on.
    fn update(&self, number: usize, at: &[PrimExpr], of: Step, sums: &Accumulators) -> Stmt {
        let is_loop = |l: &Loop| match l.kind {
            LoopKind::Unrolled => self.is_reduced(l),
            kind => kind == LoopKind::Serial,
        };
        let Some(next) = self.loops()[number..].iter().position(is_loop) else {
            return Stmt::seq(self.prefetch_next_part(at).into_iter().chain([self.accumulate(at, of, sums)]));
        };
        let Loop { axis, step, kind } = self.loops()[number + next];
        if self.nest.plan.splits_reduction(self.nest.tile + number + next) {
            return self.split_reduction(number + next, at, of, sums);
        }
        if self.nest.dot.is_some_and(|(terms, _)| terms == axis) {
            return self.packed_group_loop(number + next, at, of, sums);
        }
        let inside = |at: &[PrimExpr], count: i64, active: Option<PrimExpr>| {
            let along_axis = Lanes { axis, vectors: vec![count], active };
            let lanes = if step == 1 { of.lanes } else { Some(&along_axis) };
            self.update(number + next + 1, at, Step { lanes, ..of }, sums)
        };
        if let Some(count) = self.at.extents[axis].as_int().filter(|_| kind == LoopKind::Unrolled) {
            return Stmt::seq((0..count).map(|n| inside(&shifted(at, axis, PrimExpr::int64(n)), 1, None)));
        }
        let name = self.nest.stage.axes[axis].var.name();
        let repeated = |start: &PrimExpr, count: PrimExpr, step: i64| {
            nest::strided_loop(name, start, count, step, |by| inside(&shifted(at, axis, by), step, None))
        };
        let (count, zero) = (&self.at.extents[axis], PrimExpr::int64(0));
        if self.nest.fills && step != 1 {
            return repeated(&zero, steps(count, step), step);
        }
        let Some(extent) = count.as_int().filter(|_| step != 1) else {
            if step == 1 {
                return repeated(&zero, count.clone(), 1);
            }
            let is_masked = tail_mask::supports_tail_mask(self.nest);
            let (mut parts, mut start) = (Vec::new(), zero);
            let smaller = tail_steps(step).chain([1]).filter(|_| !is_masked);
            for step in [step].into_iter().chain(smaller) {
                let step_expr = PrimExpr::int64(step);
                let left = if start.as_int() == Some(0) { count.clone() } else { count - &start };
                parts.push(repeated(&start, left.floordiv(step_expr.clone()), step));
                start = count.clone().floordiv(step_expr.clone()) * step_expr;
            }
            if is_masked {
                let rest = inside(&shifted(at, axis, start.clone()), step, Some(count - &start));
                parts.push(Stmt::new(StmtKind::If(start.lt(count.clone()), Box::new(rest), None)));
            }
            return Stmt::seq(parts);
        };
        let whole = extent / step;
        let mut parts = vec![repeated(&zero, PrimExpr::int64(whole), step)];
        let mut start = whole * step;
        for lanes in self.nest.vector_lengths(extent % step) {
            parts.push(inside(&shifted(at, axis, PrimExpr::int64(start)), lanes, None));
            start += lanes;
        }
        Stmt::seq(parts)
    }

    /// Returns the loop over packed groups, including the partial one at the end.
    fn packed_group_loop(&self, number: usize, at: &[PrimExpr], of: Step, sums: &Accumulators) -> Stmt {
        let Loop { axis, step, .. } = self.loops()[number];
        let (name, count) = (self.nest.stage.axes[axis].var.name(), &self.at.extents[axis]);
        let (zero, whole) = (PrimExpr::int64(0), nest::full_steps(count, step));
        let inside = |by: PrimExpr, left: Option<&PrimExpr>| {
            self.update(number + 1, &shifted(at, axis, by), Step { extent: left, ..of }, sums)
        };
        let has_bits =
            || dots::narrow_operands(self.nest.stage).is_some_and(|all| all.iter().any(|x| x.bits.is_some()));
        let all = match whole.as_int().filter(|whole| *whole <= MAX_UNROLLED_GROUPS && has_bits()) {
            // The shifts that extract groups from words are constants then.
            Some(whole) => Stmt::seq((0..whole).map(|n| inside(PrimExpr::int64(n * step), None))),
            None => nest::strided_loop(name, &zero, whole.clone(), step, |by| inside(by, None)),
        };
        let start = nest::scale(whole, step);
        let last = || inside(start.clone(), Some(count));
        match count.as_int() {
            Some(count) if count % step == 0 => all,
            Some(_) => Stmt::seq([all, last()]),
            None => {
                let some = start.clone().lt(count);
                Stmt::seq([all, Stmt::new(StmtKind::If(some, Box::new(last()), None))])
            }
        }
    }

    /// Returns one reduction step for the whole tile.
    fn accumulate(&self, at: &[PrimExpr], of: Step, sums: &Accumulators) -> Stmt {
        let stage = self.nest.stage;
        self.for_each_accumulator(at, of.lanes, Some(sums), |slot, at| {
            if let Some(found) = &sums.indices {
                return self.arg_update(sums, found, slot, at);
            }
            let sums = &sums.values;
            let sum = PrimExpr::load(sums, vec![slot.clone()]);
            if let Some((axis, dot)) = self.nest.dot {
                return Stmt::store(sums, vec![slot], self.dot(axis, dot, sum, at, of.extent));
            }
            let value = self.fma(&sum).unwrap_or_else(|| replace_loads(&stage.value, &stage.buffer, &sum));
            Stmt::store(sums, vec![slot], value.substitute(&substitution(&stage.axes, at)))
        })
    }

    /// Adds the dot product of two packed groups to a sum.
    fn dot(&self, axis: usize, dot: Dot, sum: PrimExpr, at: &[PrimExpr], left: Option<&PrimExpr>) -> PrimExpr {
        let stage = self.nest.stage;
        let group = |load: &PrimExpr| {
            let element = |index: PrimExpr| {
                let mut at = at.to_vec();
                at[axis] = index;
                load.substitute(&substitution(&stage.axes, &at))
            };
            match left {
                Some(count) if load.dtype() == PACKED_DTYPE => {
                    dots::mask_tail_group(element(at[axis].clone()), count, dot)
                }
                None if load.dtype() == PACKED_DTYPE => element(at[axis].clone()),
                Some(count) => dots::pack_tail_group(&element, &at[axis], count, dot),
                None => dots::load_packed(&element(at[axis].clone())),
            }
        };
        let Some(factors) = dots::narrow_operands(stage) else { unreachable!("dot products have operands") };
        let mut groups = factors.map(|factor| match factor.bits {
            Some(bits) => dots::group_of_bits(&bits.substitute(&substitution(&stage.axes, at))),
            None if factor.sign_flipped => SignFlip::flip_signs(group(factor.load)),
            None => group(factor.load),
        });
        let sign_flip = self.nest.sign_flip;
        if let Some(flip) = sign_flip {
            groups[flip.operand] = SignFlip::flip_signs(groups[flip.operand].clone());
        }
        let (dot, [a, b], dtype) = (sign_flip.map_or(dot, |flip| flip.dot), groups, sum.dtype());
        PrimExpr::intrin(dot.intrinsic(), vec![a, b, sum], dtype)
    }

    /// Returns the update of a contraction as a fused multiply-add, if the target has one.
    fn fma(&self, sum: &PrimExpr) -> Option<PrimExpr> {
        let (a, b) = contraction_operands(self.nest.stage).filter(|_| self.has_fma(sum.dtype()))?;
        Some(self.multiply_add(a.clone(), b.clone(), sum.clone()))
    }

    /// Returns `a * b + sum`, fused if the target has such an instruction: it rounds once instead of twice.
    fn multiply_add(&self, a: PrimExpr, b: PrimExpr, sum: PrimExpr) -> PrimExpr {
        let dtype = sum.dtype();
        if self.has_fma(dtype) { PrimExpr::intrin("fma", vec![a, b, sum], dtype) } else { a * b + sum }
    }

    fn has_fma(&self, dtype: DType) -> bool {
        self.nest.choice.target.fma && matches!(dtype.bits, 32 | 64) && dtype.is_float()
    }

    /// Stores a partial result, for the parts that follow.
    fn store_partial(&self, sum: PrimExpr, at: &[PrimExpr]) -> Stmt {
        let stage = self.nest.stage;
        Stmt::store(stage.target(), target_indices(stage, at), sum)
    }

    /// Stores the result of an element, after the epilogue.
    fn finish(&self, sum: &PrimExpr, at: &[PrimExpr]) -> Stmt {
        let stage = self.nest.stage;
        let Some(epilogue) = &stage.epilogue else {
            return Stmt::store(&stage.buffer, indices(stage, at), sum.clone());
        };
        let values = substitution(&stage.axes, at);
        let value = replace_loads(&epilogue.value.substitute(&values), &stage.buffer, sum);
        Stmt::store(&epilogue.buffer, target_indices(stage, at), value)
    }
}

/// Returns one of two statements, or a branch between them.
fn branch(condition: &PrimExpr, f: &dyn Fn(bool) -> Stmt) -> Stmt {
    match condition.as_int() {
        Some(holds) => f(holds != 0),
        None => Stmt::new(StmtKind::If(condition.clone(), Box::new(f(true)), Some(Box::new(f(false))))),
    }
}

/// Returns the indices at which an element of a stage is computed.
fn indices(stage: &Stage, at: &[PrimExpr]) -> Vec<PrimExpr> {
    let values = substitution(&stage.axes, at);
    stage.indices.iter().map(|i| i.substitute(&values)).collect()
}

/// Returns the indices at which the result of an element is stored.
fn target_indices(stage: &Stage, at: &[PrimExpr]) -> Vec<PrimExpr> {
    let values = substitution(&stage.axes, at);
    stage.target_indices().iter().map(|i| i.substitute(&values)).collect()
}

/// Returns a position offset along an axis.
fn shifted(at: &[PrimExpr], axis: usize, by: PrimExpr) -> Vec<PrimExpr> {
    let mut at = at.to_vec();
    at[axis] = offset_by(&at[axis], by);
    at
}

/// Returns a vectorized loop over `lanes` lanes.
fn lane_loop(lanes: i64, f: impl FnOnce(PrimExpr) -> Stmt) -> Stmt {
    let lane = Var::int64("lane");
    let body = f(lane.expr());
    Stmt::for_kind(lane, PrimExpr::int64(lanes), ForKind::Vectorized, body)
}

/// Reduces a power-of-two number of accumulators pairwise, as a tree, until the first holds the result. `combine` takes
/// the slots of the accumulator that stays and of the other.
fn tree_reduce(first: &PrimExpr, mut lanes: i64, combine: impl Fn(&PrimExpr, &PrimExpr) -> Stmt) -> Stmt {
    let mut steps = Vec::new();
    while lanes > 1 {
        lanes /= 2;
        let step = |lane: PrimExpr| {
            let own = offset_by(first, lane);
            combine(&own, &offset_by(&own, PrimExpr::int64(lanes)))
        };
        steps.push(if lanes > 1 { lane_loop(lanes, step) } else { step(PrimExpr::int64(0)) });
    }
    Stmt::seq(steps)
}

/// Reduces the lanes of a row horizontally.
fn reduce_lanes(op: BinaryOp, sums: &Buffer, first: &PrimExpr, lanes: i64) -> Stmt {
    let load = |slot: &PrimExpr| PrimExpr::load(sums, vec![slot.clone()]);
    tree_reduce(first, lanes, |own, other| Stmt::store(sums, vec![own.clone()], binary(op, load(own), load(other))))
}
