//! Whether a buffer may be allocated anew in each iteration of a loop: whether an iteration reads nothing of it that it
//! has not written before.
//!
//! A read is fine if a store before it is certain to have written all that it reads, in the iteration that both share:
//! the store's loops go over a box without gaps, around that of the read. A condition of the store must be what holds for
//! all of the buffer (`i < n` before a store at `i`), or say that it is the first iteration of loops which both are in, as
//! that of a reduction's `T.init()` does. Reads are fine as well if iterations go to elements of their own, by an index that
//! all accesses have in common, and if nothing is ever written.

use super::{
    super::index_bounds::{LoopRange, Span, box_of, conjuncts, limit, step},
    uses::{At, FrameKind, Used, Uses},
};
use hammock_ir::{
    PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, PrimKind, Substitution, Var},
};

/// How many stores before a read are looked at.
const STORES: usize = 32;

pub(super) struct Carried<'u, 'a> {
    uses: &'u Uses<'a>,
    /// Knows the ranges of loops.
    analyzer: Analyzer,
}

/// A loop, with the values of its variable.
struct Inner<'u> {
    var: &'u Var,
    min: &'u PrimExpr,
    extent: &'u PrimExpr,
    range: LoopRange,
}

impl<'u, 'a> Carried<'u, 'a> {
    pub fn new(uses: &'u Uses<'a>) -> Self {
        let mut analyzer = Analyzer::new();
        for frame in &uses.frames {
            if let FrameKind::Loop { var, min, extent, .. } = &frame.kind {
                analyzer.bind(var, min, extent);
            }
        }
        Carried { uses, analyzer }
    }

    /// The innermost loop or block from `around` outwards in which the buffer can be allocated.
    pub fn place(&self, used: &Used, around: At) -> At {
        let uses = self.uses;
        if uses.is_within(used.declared, around) {
            return if around != 0 && self.can_outlive(used, around) { around } else { used.declared };
        }
        let mut outwards = uses.frames_within(around, used.declared).filter(|at| uses.scope(*at) == *at);
        outwards.find(|at| self.is_new_in(used, *at)).unwrap_or(used.declared)
    }

    /// Returns true if iterations inside of a loop or block may share the buffer.
    fn can_outlive(&self, used: &Used, around: At) -> bool {
        self.uses.frames_within(used.declared, around).all(|at| match &self.uses.frames[at].kind {
            FrameKind::Loop { var, serial, .. } => {
                let mut sized = false;
                used.buffer.each_expr(&mut |e| sized |= e.uses(var));
                *serial && !sized
            }
            FrameKind::Block { .. } | FrameKind::Branch(..) | FrameKind::Kernel => true,
        })
    }

    /// Returns true if each run of a loop's body, or of a block, may have a buffer of its own.
    fn is_new_in(&self, used: &Used, place: At) -> bool {
        let around = self.loops(place, used.declared);
        let writes = used.accesses.iter().any(|access| access.writes);
        let known = used.accesses.iter().all(|access| access.ranges.is_some());
        if around.is_empty() || known && (!writes || self.is_apart(used, &around, place)) {
            return true;
        }
        let reads = used.accesses.iter().enumerate().filter(|(_, access)| !access.writes);
        !self.uses.irregular
            && reads.into_iter().all(|(i, read)| {
                let before = used.accesses[..i].iter().rev().filter(|access| access.writes).take(STORES);
                let covers =
                    |ranges: &[_], at| self.covers(used, (ranges, at), read.ranges.as_deref()?, read.at, place);
                before
                    .into_iter()
                    .any(|store| store.ranges.as_deref().and_then(|ranges| covers(ranges, store.at)).unwrap_or(false))
            })
    }

    /// Returns true if iterations of the loops around access different elements.
    fn is_apart(&self, used: &Used, around: &[Inner], place: At) -> bool {
        let mut apart: Vec<&Var> = Vec::new();
        for axis in 0..used.buffer.ndim() {
            let mut ranges = used.accesses.iter().flat_map(|access| &access.ranges).map(|ranges| &ranges[axis]);
            let Some((index, _)) = ranges.next() else { continue };
            let same = |(other, extent): &(PrimExpr, PrimExpr)| {
                extent.as_int() == Some(1) && self.analyzer.difference(other, index) == Some(0)
            };
            if used.accesses.iter().flat_map(|access| &access.ranges).all(|ranges| same(&ranges[axis])) {
                apart.extend(self.told_apart(index, around, place).unwrap_or_default());
            }
        }
        around.iter().all(|l| apart.contains(&l.var))
    }

    /// The loops whose iterations have different indices.
    fn told_apart<'l>(&self, index: &PrimExpr, loops: &[Inner<'l>], place: At) -> Option<Vec<&'l Var>> {
        let inside = |at: At| at != place && self.uses.is_within(at, place);
        let mut steps = Vec::new();
        for l in loops.iter().filter(|l| index.uses(l.var)) {
            steps.push((step(index, l.var)?.checked_abs()?, l));
        }
        let mut varies = false;
        index.each_var(&mut |var| varies |= self.uses.loop_of(var).is_some_and(inside));
        steps.sort_by_key(|(step, _)| *step);
        let mut reach = Some(0_i64);
        for (step, l) in &steps {
            if varies || reach? >= *step {
                return None;
            }
            let more = l.extent.as_int().and_then(|n| n.checked_sub(1)?.checked_mul(*step));
            reach = more.and_then(|more| reach?.checked_add(more));
        }
        Some(steps.into_iter().map(|(_, l)| l.var).collect())
    }

    /// Returns true if a store has written everything that a read finds.
    fn covers(
        &self,
        used: &Used,
        (stored, stored_at): (&[(PrimExpr, PrimExpr)], At),
        read: &[(PrimExpr, PrimExpr)],
        read_at: At,
        place: At,
    ) -> Option<bool> {
        let common = self.uses.common(stored_at, read_at);
        let (mut limits, mut first) = (Vec::new(), Substitution::default());
        for at in self.uses.frames_within(stored_at, common) {
            if let FrameKind::Branch(condition, side) = &self.uses.frames[at].kind {
                if !side {
                    return Some(false);
                }
                for condition in conjuncts(condition) {
                    match limit(condition) {
                        _ if self.analyzer.prove(condition) => {}
                        _ if self.is_first(condition, common, place, &mut first) => {}
                        Some(limit) => limits.push(limit),
                        None => return Some(false),
                    }
                }
            }
        }
        let (stores, reads) = (self.loops(stored_at, common), self.loops(read_at, common));
        let mut taken: Vec<&Var> = Vec::new();
        for (axis, ((min, extent), read)) in stored.iter().zip(read).enumerate() {
            let (min, extent) = (min.substitute(&first), extent.substitute(&first));
            let (low, high) = self.without_gaps(&min, &extent, &stores, &mut taken)?;
            let (least, most) = box_of(read, &ranges(&reads))?;
            let size = &used.buffer.shape[axis];
            let reaches = self.le(&most, &high) || self.is_last(&high, size);
            let starts = self.le(&low, &least) || self.le(&low, &PrimExpr::int(0, low.dtype()));
            let limited = limits.iter().all(|(index, limit)| {
                match self.analyzer.difference(&index.substitute(&first), &min) {
                    // `index < limit` is `min < limit - offset`
                    Some(offset) => {
                        let moved = arith::binary(BinaryOp::Add, most.clone(), PrimExpr::int(offset, most.dtype()));
                        let end = arith::binary(BinaryOp::Add, size.clone(), PrimExpr::int(offset, size.dtype()));
                        self.lt(&moved, limit) || self.le(&end, limit)
                    }
                    None => true,
                }
            });
            if !starts || !reaches || !limited {
                return Some(false);
            }
        }
        let found = |(index, _): &(PrimExpr, PrimExpr)| {
            let index = index.substitute(&first);
            stored.iter().any(|(min, _)| self.analyzer.difference(&index, &min.substitute(&first)).is_some())
        };
        Some(limits.iter().all(found) && self.others_run(&stores, &taken))
    }

    /// Loops over which the indices do not go must run: they do, or do not in any iteration.
    fn others_run(&self, loops: &[Inner], taken: &[&Var]) -> bool {
        loops.iter().filter(|l| !taken.contains(&l.var)).all(|l| {
            let of_loop = |e: &PrimExpr| {
                let mut found = false;
                e.each_var(&mut |var| found |= self.uses.loop_of(var).is_some());
                found
            };
            self.analyzer.interval(l.extent).min >= 1 || !of_loop(l.extent)
        })
    }

    /// The loops around a place, inner ones first.
    fn loops(&self, at: At, common: At) -> Vec<Inner<'u>> {
        let frames = self.uses.frames_within(at, common);
        let inner = frames.filter_map(|at| match &self.uses.frames[at].kind {
            FrameKind::Loop { var, min, extent, .. } => {
                Some(Inner { var, min, extent, range: LoopRange::new(var, min, extent) })
            }
            _ => None,
        });
        inner.collect()
    }

    /// Returns true if a condition says that loops which a store and a read are both in make their first iteration. The
    /// store has run before the read then, whatever the iteration; notes the first values.
    fn is_first(&self, condition: &PrimExpr, common: At, place: At, first: &mut Substitution) -> bool {
        let PrimKind::Binary(BinaryOp::Eq, a, b) = condition.kind() else { return false };
        let mut begin = Substitution::default();
        let mut shared = self.loops(common, place);
        shared.retain(|l| a.uses(l.var));
        begin.extend(shared.iter().map(|l| (l.var.clone(), l.min.clone())));
        let of_begin = |e: &PrimExpr| begin.keys().any(|var| e.uses(var));
        let steady = self.uses.frames_within(common, place).all(|at| match &self.uses.frames[at].kind {
            FrameKind::Loop { min, extent, .. } => !of_begin(min) && !of_begin(extent),
            FrameKind::Branch(condition, side) => {
                let mut known = self.analyzer.clone();
                known.assume(condition);
                !of_begin(condition) || *side && known.prove(&condition.substitute(&begin))
            }
            _ => true,
        });
        let holds = steady && !of_begin(b) && self.analyzer.prove_eq(&a.substitute(&begin), b);
        if holds {
            first.extend(begin);
        }
        holds
    }

    /// The indices that loops go over: all of a box, each dimension with loops of its own.
    fn without_gaps(
        &self,
        min: &PrimExpr,
        extent: &PrimExpr,
        loops: &[Inner<'u>],
        taken: &mut Vec<&'u Var>,
    ) -> Option<Span> {
        let mut steps = Vec::new();
        for l in loops.iter().filter(|l| min.uses(l.var)) {
            let bounded = loops.iter().any(|other| l.extent.uses(other.var) || l.min.uses(other.var));
            if bounded || taken.contains(&l.var) {
                return None;
            }
            taken.push(l.var);
            steps.push((step(min, l.var)?, l));
        }
        if loops.iter().any(|l| extent.uses(l.var)) {
            return None;
        }
        steps.sort_by_key(|(step, _)| step.unsigned_abs());
        // so many neighbours are gone over so far; none where the number is not known
        let mut reach = extent.as_int();
        for (step, l) in &steps {
            if reach? < step.checked_abs()? {
                return None;
            }
            let more = l.extent.as_int().and_then(|n| n.checked_sub(1)?.checked_mul(step.abs()));
            reach = more.and_then(|more| reach?.checked_add(more));
        }
        box_of(&(min.clone(), extent.clone()), &ranges(loops))
    }

    fn le(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        let (a, b) = arith::match_types(a.clone(), b.clone());
        self.analyzer.prove_le(&a, &b)
    }

    fn lt(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        let (a, b) = arith::match_types(a.clone(), b.clone());
        self.analyzer.prove_lt(&a, &b)
    }

    /// Returns true if an index is the last of a dimension.
    fn is_last(&self, index: &PrimExpr, size: &PrimExpr) -> bool {
        let next = arith::binary(BinaryOp::Add, index.clone(), PrimExpr::int(1, index.dtype()));
        self.le(size, &next)
    }
}

fn ranges(loops: &[Inner]) -> Vec<LoopRange> {
    loops.iter().map(|l| l.range.clone()).collect()
}
