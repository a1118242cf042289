//! Loop-carried dependences: a buffer may be allocated in each iteration of a loop if an iteration reads only
//! elements that it has written.
//!
//! A read is safe if an earlier store certainly writes all elements that it reads, in the same iteration of the
//! common loops: the store's loops cover a box without gaps, around that of the read. A condition of the store must
//! hold for the whole buffer (`i < n` before a store at `i`), or be that of the first iteration of common loops, like
//! a reduction's `T.init()`. Reads are also safe if iterations access disjoint elements, by an index that all
//! accesses have in common, and if the buffer is never written.

use super::{
    super::index_bounds::{LoopRange, Span, as_less_than, bounds_of, coefficient, conjuncts},
    uses::{BufferUses, FrameId, FrameKind, Uses},
};
use hammock_ir::{
    PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::Buffer,
};
use rustc_hash::FxHashMap;

/// Maximum number of stores checked before a read.
const MAX_STORES: usize = 32;

/// Returns the buffers to allocate in each loop and block, by index; unused buffers are in none.
pub(super) fn allocations(uses: &Uses) -> FxHashMap<usize, Vec<Buffer>> {
    let carried = LoopCarried::new(uses);
    let mut allocations: FxHashMap<usize, Vec<Buffer>> = FxHashMap::default();
    for used in &uses.buffers {
        let Some(around) = used.around else { continue };
        let number = uses.number(carried.allocation_point(used, uses.scope(around)));
        allocations.entry(number).or_default().push(used.buffer.clone());
    }
    allocations
}

struct LoopCarried<'u, 'a> {
    uses: &'u Uses<'a>,
    /// Has the ranges of loops.
    analyzer: Analyzer,
}

/// A loop, with the range of its variable.
struct RangedLoop<'u> {
    var: &'u Var,
    min: &'u PrimExpr,
    extent: &'u PrimExpr,
    range: LoopRange,
}

impl<'u, 'a> LoopCarried<'u, 'a> {
    fn new(uses: &'u Uses<'a>) -> Self {
        let mut analyzer = Analyzer::new();
        for frame in &uses.frames {
            if let FrameKind::Loop { var, min, extent, .. } = &frame.kind {
                analyzer.bind(var, min, extent);
            }
        }
        LoopCarried { uses, analyzer }
    }

    /// Returns the innermost loop or block, from `around` outwards, in which the buffer can be allocated.
    fn allocation_point(&self, used: &BufferUses, around: FrameId) -> FrameId {
        let uses = self.uses;
        if uses.is_within(used.declared, around) {
            return if around != 0 && self.can_outlive(used, around) { around } else { used.declared };
        }
        let mut outwards = uses.frames_within(around, used.declared).filter(|at| uses.scope(*at) == *at);
        outwards.find(|at| self.is_new_in(used, *at)).unwrap_or(used.declared)
    }

    /// Returns true if iterations inside a loop or block may share the buffer.
    fn can_outlive(&self, used: &BufferUses, around: FrameId) -> bool {
        self.uses.frames_within(used.declared, around).all(|at| match &self.uses.frames[at].kind {
            FrameKind::Loop { var, serial, .. } => {
                let mut sized = false;
                used.buffer.each_expr(&mut |e| sized |= e.uses(var));
                *serial && !sized
            }
            FrameKind::Block { .. } | FrameKind::Branch(..) | FrameKind::Kernel => true,
        })
    }

    /// Returns true if each run of a loop's body, or of a block, may have its own buffer.
    fn is_new_in(&self, used: &BufferUses, scope: FrameId) -> bool {
        let around = self.loops(scope, used.declared);
        let writes = used.accesses.iter().any(|access| access.writes);
        let known = used.accesses.iter().all(|access| access.ranges.is_some());
        if around.is_empty() || known && (!writes || self.is_disjoint(used, &around, scope)) {
            return true;
        }
        let reads = used.accesses.iter().enumerate().filter(|(_, access)| !access.writes);
        !self.uses.irregular
            && reads.into_iter().all(|(i, read)| {
                let before = used.accesses[..i].iter().rev().filter(|access| access.writes).take(MAX_STORES);
                let covers =
                    |ranges: &[_], at| self.covers(used, (ranges, at), read.ranges.as_deref()?, read.at, scope);
                before
                    .into_iter()
                    .any(|store| store.ranges.as_deref().and_then(|ranges| covers(ranges, store.at)).unwrap_or(false))
            })
    }

    /// Returns true if iterations of the enclosing loops access disjoint elements.
    fn is_disjoint(&self, used: &BufferUses, around: &[RangedLoop], scope: FrameId) -> bool {
        let mut distinct: Vec<&Var> = Vec::new();
        for axis in 0..used.buffer.ndim() {
            let mut ranges = used.accesses.iter().flat_map(|access| &access.ranges).map(|ranges| &ranges[axis]);
            let Some((index, _)) = ranges.next() else { continue };
            let same = |(other, extent): &(PrimExpr, PrimExpr)| {
                extent.as_int() == Some(1) && self.analyzer.difference(other, index) == Some(0)
            };
            if used.accesses.iter().flat_map(|access| &access.ranges).all(|ranges| same(&ranges[axis])) {
                distinct.extend(self.distinct_loops(index, around, scope).unwrap_or_default());
            }
        }
        around.iter().all(|l| distinct.contains(&l.var))
    }

    /// Returns the loops whose iterations have different indices.
    fn distinct_loops<'l>(&self, index: &PrimExpr, loops: &[RangedLoop<'l>], scope: FrameId) -> Option<Vec<&'l Var>> {
        let inside = |at: FrameId| at != scope && self.uses.is_within(at, scope);
        let mut steps = Vec::new();
        for l in loops.iter().filter(|l| index.uses(l.var)) {
            steps.push((coefficient(index, l.var)?.checked_abs()?, l));
        }
        let mut varies = false;
        index.each_var(&mut |var| varies |= self.uses.loop_of(var).is_some_and(inside));
        steps.sort_by_key(|(coefficient, _)| *coefficient);
        let mut reach = Some(0_i64);
        for (coefficient, l) in &steps {
            if varies || reach? >= *coefficient {
                return None;
            }
            let more = l.extent.as_int().and_then(|n| n.checked_sub(1)?.checked_mul(*coefficient));
            reach = more.and_then(|more| reach?.checked_add(more));
        }
        Some(steps.into_iter().map(|(_, l)| l.var).collect())
    }

    /// Returns true if a store writes all elements that a read loads.
    fn covers(
        &self,
        used: &BufferUses,
        (stored, stored_at): (&[(PrimExpr, PrimExpr)], FrameId),
        read: &[(PrimExpr, PrimExpr)],
        read_at: FrameId,
        scope: FrameId,
    ) -> Option<bool> {
        let common = self.uses.common(stored_at, read_at);
        let (mut limits, mut first) = (Vec::new(), Substitution::default());
        for at in self.uses.frames_within(stored_at, common) {
            if let FrameKind::Branch(condition, side) = &self.uses.frames[at].kind {
                if !side {
                    return Some(false);
                }
                for condition in conjuncts(condition) {
                    match as_less_than(condition) {
                        _ if self.analyzer.prove(condition) => {}
                        _ if self.is_first(condition, common, scope, &mut first) => {}
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
            let (read_min, read_max) = bounds_of(read, &ranges(&reads))?;
            let size = &used.buffer.shape[axis];
            let reaches = self.le(&read_max, &high) || self.is_last(&high, size);
            let starts = self.le(&low, &read_min) || self.le(&low, &PrimExpr::int(0, low.dtype()));
            let limited = limits.iter().all(|(index, limit)| {
                match self.analyzer.difference(&index.substitute(&first), &min) {
                    // `index < limit` is `min < limit - offset`
                    Some(offset) => {
                        let shifted =
                            arith::binary(BinaryOp::Add, read_max.clone(), PrimExpr::int(offset, read_max.dtype()));
                        let end = arith::binary(BinaryOp::Add, size.clone(), PrimExpr::int(offset, size.dtype()));
                        self.lt(&shifted, limit) || self.le(&end, limit)
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

    /// Loops that do not occur in the indices must run: they do, or do not in any iteration.
    fn others_run(&self, loops: &[RangedLoop], taken: &[&Var]) -> bool {
        loops.iter().filter(|l| !taken.contains(&l.var)).all(|l| {
            let of_loop = |e: &PrimExpr| {
                let mut found = false;
                e.each_var(&mut |var| found |= self.uses.loop_of(var).is_some());
                found
            };
            self.analyzer.interval(l.extent).min >= 1 || !of_loop(l.extent)
        })
    }

    /// Returns the loops around a frame, inner ones first.
    fn loops(&self, at: FrameId, common: FrameId) -> Vec<RangedLoop<'u>> {
        let frames = self.uses.frames_within(at, common);
        let inner = frames.filter_map(|at| match &self.uses.frames[at].kind {
            FrameKind::Loop { var, min, extent, .. } => {
                Some(RangedLoop { var, min, extent, range: LoopRange::new(var, min, extent) })
            }
            _ => None,
        });
        inner.collect()
    }

    /// Returns true if a condition holds in the first iteration of common loops of a store and a read. Then the store
    /// has run before the read, whatever the iteration; records the first values.
    fn is_first(&self, condition: &PrimExpr, common: FrameId, scope: FrameId, first: &mut Substitution) -> bool {
        let PrimKind::Binary(BinaryOp::Eq, a, b) = condition.kind() else { return false };
        let mut begin = Substitution::default();
        let mut shared = self.loops(common, scope);
        shared.retain(|l| a.uses(l.var));
        begin.extend(shared.iter().map(|l| (l.var.clone(), l.min.clone())));
        let of_begin = |e: &PrimExpr| begin.keys().any(|var| e.uses(var));
        let steady = self.uses.frames_within(common, scope).all(|at| match &self.uses.frames[at].kind {
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

    /// Returns the indices that loops cover: a whole box, each dimension with its own loops.
    fn without_gaps(
        &self,
        min: &PrimExpr,
        extent: &PrimExpr,
        loops: &[RangedLoop<'u>],
        taken: &mut Vec<&'u Var>,
    ) -> Option<Span> {
        let mut steps = Vec::new();
        for l in loops.iter().filter(|l| min.uses(l.var)) {
            let bounded = loops.iter().any(|other| l.extent.uses(other.var) || l.min.uses(other.var));
            if bounded || taken.contains(&l.var) {
                return None;
            }
            taken.push(l.var);
            steps.push((coefficient(min, l.var)?, l));
        }
        if loops.iter().any(|l| extent.uses(l.var)) {
            return None;
        }
        steps.sort_by_key(|(coefficient, _)| coefficient.unsigned_abs());
        // number of contiguous indices covered so far; `None` if unknown
        let mut reach = extent.as_int();
        for (coefficient, l) in &steps {
            if reach? < coefficient.checked_abs()? {
                return None;
            }
            let more = l.extent.as_int().and_then(|n| n.checked_sub(1)?.checked_mul(coefficient.abs()));
            reach = more.and_then(|more| reach?.checked_add(more));
        }
        bounds_of(&(min.clone(), extent.clone()), &ranges(loops))
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

fn ranges(loops: &[RangedLoop]) -> Vec<LoopRange> {
    loops.iter().map(|l| l.range.clone()).collect()
}
