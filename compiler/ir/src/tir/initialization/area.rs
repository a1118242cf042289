//! Areas: boxes of a buffer's elements, and whether some of them cover another.

use crate::{
    PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, Var},
    tir::regions::Range,
};

/// Maximum number of areas that are combined to cover another.
const MAX_JOINED: usize = 4;

/// A box of a buffer's elements; bounds are int64.
#[derive(Clone, Debug)]
pub struct Area {
    /// By dimension; a single range of row-major offsets if `is_flat`.
    pub ranges: Vec<Range>,
    /// True if the area counts elements of the whole buffer in row-major order.
    pub is_flat: bool,
    /// Only elements whose index in that dimension is below a bound.
    pub clips: Vec<(usize, PrimExpr)>,
    /// Reduction loops whose `T.init` writes the area even if they are empty.
    pub bypassed: Vec<Var>,
    /// Loops that must have an iteration: their first values and exclusive ends.
    pub needed: Vec<(PrimExpr, PrimExpr)>,
}

/// The iterations of a loop.
pub struct Iterations<'a> {
    /// The loop variable.
    pub var: &'a Var,
    /// Its first value.
    pub begin: PrimExpr,
    /// Its exclusive end.
    pub end: PrimExpr,
}

impl Area {
    /// A box.
    pub fn of(ranges: Vec<Range>) -> Self {
        Area { ranges, is_flat: false, clips: Vec::new(), bypassed: Vec::new(), needed: Vec::new() }
    }

    /// Calls `f` on each bound.
    pub fn each_bound(&self, f: &mut dyn FnMut(&PrimExpr)) {
        self.ranges.iter().for_each(|range| {
            f(&range.begin);
            f(&range.end);
        });
        self.clips.iter().for_each(|(_, bound)| f(bound));
        self.needed.iter().for_each(|(begin, end)| {
            f(begin);
            f(end);
        });
    }

    fn uses(&self, dim: usize, var: &Var) -> bool {
        self.ranges[dim].begin.uses(var) || self.ranges[dim].end.uses(var)
    }

    /// Returns the union of this area over all iterations of a loop; `None` if it is unknown.
    pub fn over(&self, loops: &Iterations, sizes: &[PrimExpr], analyzer: &Analyzer) -> Option<Area> {
        let var = loops.var;
        let needs = |(begin, end): &(PrimExpr, PrimExpr)| begin.uses(var) || end.uses(var);
        if self.clips.iter().any(|(_, bound)| bound.uses(var)) || self.needed.iter().any(needs) {
            return None;
        }
        let moving: Vec<usize> = (0..self.ranges.len()).filter(|dim| self.uses(*dim, var)).collect();
        match moving[..] {
            [] if self.bypassed.contains(var) => Some(self.clone()),
            [] => {
                let mut area = self.clone();
                area.needed.push((loops.begin.clone(), loops.end.clone()));
                Some(area)
            }
            [dim] => {
                let range = union_over_loop(&self.ranges[dim], loops, analyzer)?;
                let mut area = self.clone();
                area.ranges[dim] = range;
                Some(area)
            }
            // Dimensions indexed by one split loop variable: `y[f // 4, f % 4]`.
            _ => self.flat(sizes, analyzer)?.over_flat(loops, sizes, analyzer),
        }
    }

    fn over_flat(&self, loops: &Iterations, sizes: &[PrimExpr], analyzer: &Analyzer) -> Option<Area> {
        self.uses(0, loops.var).then(|| self.over(loops, sizes, analyzer))?
    }

    /// The same elements as a range of row-major offsets, if they are contiguous.
    pub fn flat(&self, sizes: &[PrimExpr], analyzer: &Analyzer) -> Option<Area> {
        if self.is_flat {
            return Some(self.clone());
        }
        if !self.clips.is_empty() || self.ranges.is_empty() {
            return None;
        }
        let is_whole = |dim: usize| {
            let Range { begin, end } = &self.ranges[dim];
            begin.as_int() == Some(0) && analyzer.prove_eq(end, &sizes[dim])
        };
        let last = (0..sizes.len()).rev().find(|dim| !is_whole(*dim)).unwrap_or(0);
        let mut begin = PrimExpr::int64(0);
        for (dim, (range, size)) in self.ranges.iter().zip(sizes).enumerate() {
            if dim < last && analyzer.difference(&range.end, &range.begin) != Some(1) {
                return None;
            }
            begin = add(mul(begin, size.clone()), range.begin.clone());
        }
        let inner = sizes[last + 1..].iter().cloned().fold(PrimExpr::int64(1), mul);
        let Range { begin: first, end } = &self.ranges[last];
        let begin = analyzer.simplify(&begin);
        let end = analyzer.simplify(&add(begin.clone(), mul(sub(end.clone(), first.clone()), inner)));
        let ranges = vec![Range { begin, end }];
        Some(Area { ranges, is_flat: true, ..self.clone() })
    }

    fn covers(&self, other: &Area, analyzer: &Analyzer) -> bool {
        let within =
            |(a, b): (&Range, &Range)| at_most(&a.begin, &b.begin, analyzer) && at_most(&b.end, &a.end, analyzer);
        let below = |(dim, bound): &(usize, PrimExpr)| at_most(&other.ranges[*dim].end, bound, analyzer);
        self.ranges.iter().zip(&other.ranges).all(within)
            && self.clips.iter().all(below)
            && self.is_certainly_written(analyzer)
    }

    /// Returns true if the loops that write the area certainly have iterations.
    fn is_certainly_written(&self, analyzer: &Analyzer) -> bool {
        self.needed.iter().all(|(begin, end)| analyzer.prove_lt(begin, end))
    }

    /// Returns the part of another area that this one leaves uncovered, if it covers a prefix of it in one dimension.
    fn rest_of(&self, other: &Area, analyzer: &Analyzer) -> Option<Area> {
        let mut partial = None;
        for (dim, (a, b)) in self.ranges.iter().zip(&other.ranges).enumerate() {
            if !at_most(&a.begin, &b.begin, analyzer) {
                return None;
            }
            if !at_most(&b.end, &a.end, analyzer) && partial.replace(dim).is_some() {
                return None;
            }
        }
        let dim = partial.filter(|_| self.clips.is_empty() && self.is_certainly_written(analyzer))?;
        let mut rest = other.clone();
        rest.ranges[dim].begin = self.ranges[dim].end.clone();
        Some(rest)
    }
}

/// Returns true if areas together cover another one, all of the same buffer with these sizes.
pub fn cover(areas: &[Area], target: &Area, sizes: &[PrimExpr], analyzer: &Analyzer) -> bool {
    let boxes: Vec<&Area> = areas.iter().filter(|area| area.is_flat == target.is_flat).collect();
    if joined(&boxes, target, analyzer, MAX_JOINED) {
        return true;
    }
    if !target.is_flat && !areas.iter().any(|area| area.is_flat) {
        return false;
    }
    let Some(target) = target.flat(sizes, analyzer) else { return false };
    let flat: Vec<Area> = areas.iter().filter_map(|area| area.flat(sizes, analyzer)).collect();
    joined(&flat.iter().collect::<Vec<_>>(), &target, analyzer, MAX_JOINED)
}

fn joined(areas: &[&Area], target: &Area, analyzer: &Analyzer, most: usize) -> bool {
    if areas.iter().rev().any(|area| area.covers(target, analyzer)) {
        return true;
    }
    most > 1
        && areas.iter().enumerate().any(|(at, area)| {
            let others = || [&areas[..at], &areas[at + 1..]].concat();
            area.rest_of(target, analyzer).is_some_and(|rest| joined(&others(), &rest, analyzer, most - 1))
        })
}

/// Union of a range over a loop's iterations: without gaps, and empty if there is no iteration.
fn union_over_loop(range: &Range, loops: &Iterations, analyzer: &Analyzer) -> Option<Range> {
    let Iterations { var, begin, end, .. } = loops;
    let at = |e: &PrimExpr, value: PrimExpr| e.substitute(&[((*var).clone(), value)].into_iter().collect());
    let next = add(var.expr(), PrimExpr::int64(1));
    let stride = analyzer.simplify(&sub(at(&range.begin, next), range.begin.clone()));
    let extent = analyzer.simplify(&sub(range.end.clone(), range.begin.clone()));
    if stride.uses(var) || extent.uses(var) {
        return None;
    }
    let zero = PrimExpr::int64(0);
    let simple = |e: PrimExpr| analyzer.simplify(&e);
    if analyzer.prove_le(&zero, &stride) && analyzer.prove_le(&stride, &extent) {
        let (begin, end) = (at(&range.begin, begin.clone()), at(&range.begin, end.clone()));
        return Some(Range { begin: simple(begin), end: simple(end) });
    }
    let back = sub(zero.clone(), stride.clone());
    if analyzer.prove_le(&stride, &zero) && analyzer.prove_le(&back, &extent) {
        let first = add(at(&range.begin, end.clone()), back.clone());
        let last = add(at(&range.begin, begin.clone()), back);
        return Some(Range { begin: simple(first), end: simple(last) });
    }
    None
}

fn at_most(a: &PrimExpr, b: &PrimExpr, analyzer: &Analyzer) -> bool {
    analyzer.difference(a, b).map_or_else(|| analyzer.prove_le(a, b), |difference| difference <= 0)
}

pub fn add(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Add, a, b)
}

fn sub(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Sub, a, b)
}

fn mul(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Mul, a, b)
}
