//! What is computed in registers: for a reduction, accumulators in a local buffer, the loops over what is combined, then
//! the stores; otherwise the stores alone.

mod arg_reduce;
mod split_reduction;

use super::{
    nest::{self, At, Nest, moved, smaller_steps},
    signed_dot_fixup::Moved,
    tail_mask::{self, limited},
};
use crate::{
    index::same_expr,
    plan::{Loop, LoopKind},
    rules::register_lanes,
    stage::{
        Stage,
        access::{combiner, factors, loads},
        dots::{self, Dot},
        replace_loads, steps, substitution,
    },
};
use arg_reduce::Found;
pub use arg_reduce::Sums;
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, Var, binary},
    tir::{Buffer, ForKind, Stmt, StmtKind},
};

/// The tile of a nest.
pub fn tile(nest: &Nest, at: &At) -> Stmt {
    let results = nest.plan.vector().map(|l| l.axis).filter(|axis| !nest.stage.axes[*axis].reduce);
    let there = |axis: usize| at.there.as_ref().filter(|(of, _)| *of == axis).map(|(_, count)| count.clone());
    let lanes =
        |axis: usize| Lanes { axis, vectors: nest.pieces(at.left[axis].as_int().unwrap_or(1)), there: there(axis) };
    let results = results.map(lanes);
    let computed = results.clone().map(|lanes| if nest.fills { lanes.filled(nest) } else { lanes });
    Tile { nest, at, results, computed }.stmt()
}

struct Tile<'a> {
    nest: &'a Nest<'a>,
    at: &'a At,
    /// Results that are lanes.
    results: Option<Lanes>,
    /// The same with those beyond the end of their axis that fill the last vector: no others are stored.
    computed: Option<Lanes>,
}

/// Neighbouring values of an axis as lanes of vectors, which are side by side.
#[derive(Clone)]
struct Lanes {
    axis: usize,
    /// How many lanes each vector has.
    vectors: Vec<i64>,
    /// How many of all lanes are there, if not all.
    there: Option<PrimExpr>,
}

impl Lanes {
    fn count(&self) -> i64 {
        self.vectors.iter().sum()
    }

    /// So many more that registers are full.
    fn filled(self, nest: &Nest) -> Lanes {
        let register = register_lanes(nest.stage, nest.choice.target);
        Lanes { vectors: nest.pieces((self.count() + register - 1) / register * register), ..self }
    }
}

/// A step of a reduction.
#[derive(Clone, Copy)]
struct Step<'a> {
    /// What is lanes.
    lanes: Option<&'a Lanes>,
    /// Of a last word, which has fewer terms than others: how many its axis has.
    left: Option<&'a PrimExpr>,
}

impl Tile<'_> {
    fn stmt(&self) -> Stmt {
        let stage = self.nest.stage;
        if stage.reduces() {
            return self.reduction();
        }
        let crosses = |load: &&PrimExpr| self.nest.plan.crosses(stage, load);
        if let Some(lanes) = self.results.as_ref().filter(|_| loads(stage).iter().any(crosses)) {
            return self.columns(lanes);
        }
        self.each(&self.at.position, self.results.as_ref(), None, |_, at| {
            Stmt::store(&stage.buffer, indices(stage, at), stage.value.substitute(&substitution(&stage.axes, at)))
        })
    }

    /// The values of all rows, and then the stores: what they load in columns can be loaded in rows where nothing is stored
    /// between them.
    fn columns(&self, lanes: &Lanes) -> Stmt {
        let stage = self.nest.stage;
        let rows: Vec<Vec<PrimExpr>> = self.rows(&self.at.position).into_iter().map(|(_, at)| at).collect();
        let mut start = 0;
        let vectors = lanes.vectors.iter().map(|count| {
            let first = start;
            start += count;
            in_lanes(*count, |lane| {
                let by = moved(&PrimExpr::int64(first), lane.clone());
                let (mut values, mut stores) = (Vec::new(), Vec::new());
                for row in &rows {
                    let at = shifted(row, lanes.axis, by.clone());
                    let value = Var::data("value", stage.buffer.dtype);
                    let made = stage.value.substitute(&substitution(&stage.axes, &at));
                    values.push(Stmt::new(StmtKind::Bind(value.clone(), made)));
                    stores.push(Stmt::store(&stage.buffer, indices(stage, &at), value.expr()));
                }
                let stmt = Stmt::seq(values.into_iter().chain(stores));
                match (&lanes.there, lane.as_var()) {
                    (Some(there), Some(lane)) => limited(stmt, lane, &by.lt(there.clone()), None),
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

    /// The reduce axis whose values are lanes, and how many.
    fn terms(&self) -> Option<(usize, i64)> {
        let l = self.loops().iter().find(|l| l.kind == LoopKind::Vector && self.nest.stage.axes[l.axis].reduce)?;
        Some((l.axis, self.nest.plan.at_once(l.axis)))
    }

    /// How many accumulators belong to one row of the tile.
    fn width(&self) -> i64 {
        let results = self.computed.as_ref().map(Lanes::count);
        results.or(self.terms().map(|(_, lanes)| lanes)).unwrap_or(1)
    }

    /// The positions side by side with one, with the number of the first accumulator of each.
    fn rows(&self, first: &[PrimExpr]) -> Vec<(PrimExpr, Vec<PrimExpr>)> {
        let mut rows = vec![first.to_vec()];
        for l in self.loops().iter().filter(|l| l.kind == LoopKind::Unrolled && !self.is_reduced(l)) {
            let count = self.at.left[l.axis].as_int().unwrap_or(1);
            let moved = |row: &Vec<PrimExpr>, n: i64| shifted(row, l.axis, PrimExpr::int64(n));
            rows = rows.iter().flat_map(|row| (0..count).map(|n| moved(row, n)).collect::<Vec<_>>()).collect();
        }
        (0..).zip(rows).map(|(row, at)| (PrimExpr::int64(row * self.width()), at)).collect()
    }

    /// Calls `f` for every row and, inside, every lane, with the number of its accumulator and its position.
    fn each(
        &self,
        first: &[PrimExpr],
        lanes: Option<&Lanes>,
        sums: Option<&Sums>,
        f: impl Fn(PrimExpr, &[PrimExpr]) -> Stmt,
    ) -> Stmt {
        let mut stmts = Vec::new();
        for (slot, at) in self.rows(first) {
            let Some(Lanes { axis, vectors, there }) = lanes else {
                stmts.push(f(slot, &at));
                continue;
            };
            let mut start = 0;
            for count in vectors {
                let offset = |lane: PrimExpr| moved(&PrimExpr::int64(start), lane);
                let lane = |lane: PrimExpr| {
                    let by = offset(lane.clone());
                    let stmt = f(moved(&slot, by.clone()), &shifted(&at, *axis, by.clone()));
                    match (there, lane.as_var()) {
                        (Some(there), Some(lane)) => limited(stmt, lane, &by.lt(there.clone()), sums),
                        _ => stmt,
                    }
                };
                stmts.push(if *count > 1 { in_lanes(*count, lane) } else { lane(PrimExpr::int64(0)) });
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
        let found = stage.place.as_ref().and_then(|place| Found::new(self, place, &size));
        let sums = Sums { values, found };
        if let Some((place, found)) = stage.place.as_ref().zip(sums.found.as_ref()) {
            return self.search(place, &sums, found);
        }
        let lanes = self.terms().map(|(axis, lanes)| Lanes { axis, vectors: vec![lanes], there: None });
        let neutral = combiner(stage).and_then(|(op, _)| neutral(op, sums.values.dtype));
        // Every lane may start from the least of all values, but only one sum from what there is already. A part of the
        // terms is summed up by itself, unless the order is kept: the fewer are added one after the other, the less is lost.
        let apart = |has_begun: bool| lanes.is_some() || has_begun && !self.nest.choice.strict_order;
        let anew = |has_begun: bool| neutral.as_ref().filter(|_| apart(has_begun));
        let starts = |has_begun: bool| {
            self.each(first, lanes.as_ref().or(self.results.as_ref()), Some(&sums), |slot, at| {
                let from = anew(has_begun).cloned().unwrap_or_else(|| self.initial(at, has_begun));
                Stmt::store(&sums.values, vec![slot], from)
            })
        };
        let start = if anew(false).is_some() { starts(false) } else { self.begun(&starts) };
        let is_filled = self.computed.as_ref().map(Lanes::count) != self.results.as_ref().map(Lanes::count);
        let fill = is_filled.then(|| {
            self.each(first, self.computed.as_ref(), None, |slot, _| {
                Stmt::store(&sums.values, vec![slot], PrimExpr::constant(0.0, sums.values.dtype))
            })
        });
        let start = Stmt::seq(fill.into_iter().chain([start]));
        let update = self.update(0, first, Step { lanes: self.computed.as_ref(), left: None }, &sums);
        let ends = |ended: bool| {
            self.each(first, self.results.as_ref(), Some(&sums), |slot, at| {
                let sum = PrimExpr::load(&sums.values, vec![slot]);
                if ended { self.finish(&sum, at) } else { self.suspend(sum, at) }
            })
        };
        let finish = either(&self.at.terms.ended, &ends);
        let Some((op, _)) = combiner(stage) else {
            return Stmt::new(StmtKind::Seq(sums.alloc().chain([start, update, finish]).collect()));
        };
        let of_lanes = lanes.as_ref().map_or(1, |lanes| lanes.vectors[0]);
        let joined = self.rows(first).into_iter().map(|(slot, _)| combined(op, &sums.values, &slot, of_lanes));
        let is_nothing = |from: &PrimExpr| stage.init.as_ref().is_some_and(|init| same_expr(init, from));
        let add = |has_begun: bool| match anew(has_begun).filter(|from| has_begun || !is_nothing(from)) {
            None => Stmt::nop(),
            Some(_) => self.each(first, self.results.as_ref(), Some(&sums), |slot, at| {
                let sum = PrimExpr::load(&sums.values, vec![slot.clone()]);
                Stmt::store(&sums.values, vec![slot], binary(op, self.initial(at, has_begun), sum))
            }),
        };
        let added = neutral.is_some().then(|| self.begun(&add));
        let stmts = sums.alloc().chain([start, update]).chain(joined).chain(added).chain([finish]);
        Stmt::new(StmtKind::Seq(stmts.collect()))
    }

    /// What is done when terms have been combined before, or when not.
    fn begun(&self, f: &dyn Fn(bool) -> Stmt) -> Stmt {
        either(&self.at.terms.begun, f)
    }

    /// What the reduction of an element starts from.
    fn initial(&self, at: &[PrimExpr], has_begun: bool) -> PrimExpr {
        let stage = self.nest.stage;
        match &stage.init {
            _ if has_begun => PrimExpr::load(stage.target(), target_indices(stage, at)),
            Some(init) => init.substitute(&substitution(&stage.axes, at)),
            None => PrimExpr::load(&stage.buffer, indices(stage, at)),
        }
    }

    /// The loops over what is combined, from this number of the tile's loops on.
    fn update(&self, number: usize, at: &[PrimExpr], of: Step, sums: &Sums) -> Stmt {
        let repeats = |l: &Loop| match l.kind {
            LoopKind::Unrolled => self.is_reduced(l),
            kind => kind == LoopKind::Serial,
        };
        let Some(next) = self.loops()[number..].iter().position(repeats) else {
            return self.terms_at(at, of, sums);
        };
        let Loop { axis, step, kind } = self.loops()[number + next];
        if self.nest.dot.is_some_and(|(terms, _)| terms == axis) {
            return self.words(number + next, at, of, sums);
        }
        if self.nest.plan.is_of_parts(self.nest.tile + number + next) {
            return self.parts(number + next, at, of, sums);
        }
        let inside = |at: &[PrimExpr], count: i64, there: Option<PrimExpr>| {
            let terms = Lanes { axis, vectors: vec![count], there };
            let lanes = if step == 1 { of.lanes } else { Some(&terms) };
            self.update(number + next + 1, at, Step { lanes, ..of }, sums)
        };
        if let Some(count) = self.at.left[axis].as_int().filter(|_| kind == LoopKind::Unrolled) {
            return Stmt::seq((0..count).map(|n| inside(&shifted(at, axis, PrimExpr::int64(n)), 1, None)));
        }
        let name = self.nest.stage.axes[axis].var.name();
        let repeated = |start: &PrimExpr, count: PrimExpr, step: i64| {
            nest::repeated(name, start, count, step, |by| inside(&shifted(at, axis, by), step, None))
        };
        let (count, zero) = (&self.at.left[axis], PrimExpr::int64(0));
        if self.nest.fills && step != 1 {
            return repeated(&zero, steps(count, step), step);
        }
        let Some(extent) = count.as_int().filter(|_| step != 1) else {
            if step == 1 {
                return repeated(&zero, count.clone(), 1);
            }
            let masks = tail_mask::takes_masks(self.nest);
            let (mut parts, mut start) = (Vec::new(), zero);
            let smaller = smaller_steps(step).chain([1]).filter(|_| !masks);
            for step in [step].into_iter().chain(smaller) {
                let step_expr = PrimExpr::int64(step);
                let left = if start.as_int() == Some(0) { count.clone() } else { count - &start };
                parts.push(repeated(&start, left.floordiv(step_expr.clone()), step));
                start = count.clone().floordiv(step_expr.clone()) * step_expr;
            }
            if masks {
                let rest = inside(&shifted(at, axis, start.clone()), step, Some(count - &start));
                parts.push(Stmt::new(StmtKind::If(start.lt(count.clone()), Box::new(rest), None)));
            }
            return Stmt::seq(parts);
        };
        let whole = extent / step;
        let mut parts = vec![repeated(&zero, PrimExpr::int64(whole), step)];
        let mut start = whole * step;
        for lanes in self.nest.pieces(extent % step) {
            parts.push(inside(&shifted(at, axis, PrimExpr::int64(start)), lanes, None));
            start += lanes;
        }
        Stmt::seq(parts)
    }

    /// The loop over words, one for what is left of the terms included.
    fn words(&self, number: usize, at: &[PrimExpr], of: Step, sums: &Sums) -> Stmt {
        let Loop { axis, step, .. } = self.loops()[number];
        let (name, count) = (self.nest.stage.axes[axis].var.name(), &self.at.left[axis]);
        let (zero, whole) = (PrimExpr::int64(0), nest::whole(count, step));
        let inside = |by: PrimExpr, left: Option<&PrimExpr>| {
            self.update(number + 1, &shifted(at, axis, by), Step { left, ..of }, sums)
        };
        let all = nest::repeated(name, &zero, whole.clone(), step, |by| inside(by, None));
        let start = nest::scaled(whole, step);
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

    /// One step of the reduction for all of the tile.
    fn terms_at(&self, at: &[PrimExpr], of: Step, sums: &Sums) -> Stmt {
        let stage = self.nest.stage;
        self.each(at, of.lanes, Some(sums), |slot, at| {
            if let Some(found) = &sums.found {
                return self.search_term(sums, found, slot, at);
            }
            let sums = &sums.values;
            let sum = PrimExpr::load(sums, vec![slot.clone()]);
            if let Some((axis, dot)) = self.nest.dot {
                return Stmt::store(sums, vec![slot], self.dot(axis, dot, sum, at, of.left));
            }
            let value = self.fused(&sum).unwrap_or_else(|| replace_loads(&stage.value, &stage.buffer, &sum));
            Stmt::store(sums, vec![slot], value.substitute(&substitution(&stage.axes, at)))
        })
    }

    /// A sum with the products of two words.
    fn dot(&self, axis: usize, dot: Dot, sum: PrimExpr, at: &[PrimExpr], left: Option<&PrimExpr>) -> PrimExpr {
        let stage = self.nest.stage;
        let word = |load: &PrimExpr| {
            let term = |place: PrimExpr| {
                let mut at = at.to_vec();
                at[axis] = place;
                load.substitute(&substitution(&stage.axes, &at))
            };
            match left {
                Some(count) if load.dtype() == dots::WORD => dots::first_terms(term(at[axis].clone()), count, dot),
                None if load.dtype() == dots::WORD => term(at[axis].clone()),
                Some(count) => dots::last_word(&term, &at[axis], count, dot),
                None => dots::word_at(&term(at[axis].clone())),
            }
        };
        let Some(factors) = dots::narrow(stage) else { unreachable!("dot products have factors") };
        let mut words = factors.map(|factor| match factor.moved {
            true => Moved::word(word(factor.load)),
            false => word(factor.load),
        });
        let moved = self.nest.moved;
        if let Some(moved) = moved {
            words[moved.factor] = Moved::word(words[moved.factor].clone());
        }
        let (dot, [a, b], dtype) = (moved.map_or(dot, |moved| moved.dot), words, sum.dtype());
        PrimExpr::intrin(dot.intrinsic(), vec![a, b, sum], dtype)
    }

    /// A sum of products as fused operations, where the target has them: each rounds once instead of twice.
    fn fused(&self, sum: &PrimExpr) -> Option<PrimExpr> {
        let dtype = sum.dtype();
        let has = self.nest.choice.target.fma && matches!(dtype.bits, 32 | 64) && dtype.is_float();
        let (a, b) = factors(self.nest.stage).filter(|_| has)?;
        Some(PrimExpr::intrin("fma", vec![a.clone(), b.clone(), sum.clone()], dtype))
    }

    /// Stores what terms make, where others follow.
    fn suspend(&self, sum: PrimExpr, at: &[PrimExpr]) -> Stmt {
        let stage = self.nest.stage;
        Stmt::store(stage.target(), target_indices(stage, at), sum)
    }

    /// Stores the result of an element.
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

/// One of two statements, or a choice at run time.
fn either(condition: &PrimExpr, f: &dyn Fn(bool) -> Stmt) -> Stmt {
    match condition.as_int() {
        Some(holds) => f(holds != 0),
        None => Stmt::new(StmtKind::If(condition.clone(), Box::new(f(true)), Some(Box::new(f(false))))),
    }
}

/// Where an element of a stage is computed.
fn indices(stage: &Stage, at: &[PrimExpr]) -> Vec<PrimExpr> {
    let values = substitution(&stage.axes, at);
    stage.indices.iter().map(|i| i.substitute(&values)).collect()
}

/// Where an element of a stage is stored in the end.
fn target_indices(stage: &Stage, at: &[PrimExpr]) -> Vec<PrimExpr> {
    let values = substitution(&stage.axes, at);
    stage.target_indices().iter().map(|i| i.substitute(&values)).collect()
}

/// A position moved along an axis.
fn shifted(at: &[PrimExpr], axis: usize, by: PrimExpr) -> Vec<PrimExpr> {
    let mut at = at.to_vec();
    at[axis] = moved(&at[axis], by);
    at
}

/// A statement for each of so many lanes.
fn in_lanes(lanes: i64, f: impl FnOnce(PrimExpr) -> Stmt) -> Stmt {
    let lane = Var::int64("lane");
    let body = f(lane.expr());
    Stmt::for_kind(lane, PrimExpr::int64(lanes), ForKind::Vectorized, body)
}

/// Joins the accumulators of a row, a power of two, in halves, until the first holds the result. `join` takes the places of
/// the one that stays and of the other.
fn in_halves(first: &PrimExpr, mut lanes: i64, join: impl Fn(&PrimExpr, &PrimExpr) -> Stmt) -> Stmt {
    let mut steps = Vec::new();
    while lanes > 1 {
        lanes /= 2;
        let step = |lane: PrimExpr| {
            let own = moved(first, lane);
            join(&own, &moved(&own, PrimExpr::int64(lanes)))
        };
        steps.push(if lanes > 1 { in_lanes(lanes, step) } else { step(PrimExpr::int64(0)) });
    }
    Stmt::seq(steps)
}

/// What an operation starts from that leaves all terms as they are, if it has such.
fn neutral(op: BinaryOp, dtype: DType) -> Option<PrimExpr> {
    match op {
        BinaryOp::Add => Some(PrimExpr::constant(0.0, dtype)),
        BinaryOp::Mul => Some(PrimExpr::constant(1.0, dtype)),
        _ => None,
    }
}

/// Combines the accumulators of a row.
fn combined(op: BinaryOp, sums: &Buffer, first: &PrimExpr, lanes: i64) -> Stmt {
    let load = |slot: &PrimExpr| PrimExpr::load(sums, vec![slot.clone()]);
    in_halves(first, lanes, |own, other| Stmt::store(sums, vec![own.clone()], binary(op, load(own), load(other))))
}
