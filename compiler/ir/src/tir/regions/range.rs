//! Ranges of index values over loops.

use crate::{
    PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, PrimKind, Var},
};
use rustc_hash::FxHashMap;

/// A half-open range of values.
#[derive(Clone, Debug)]
pub struct Range {
    /// First value.
    pub begin: PrimExpr,
    /// Exclusive end.
    pub end: PrimExpr,
}

/// Ranges of the variables bound inside a block.
#[derive(Clone, Debug, Default)]
pub struct Domains {
    ranges: FxHashMap<Var, Option<Range>>,
}

impl Range {
    /// One value.
    pub fn point(e: &PrimExpr) -> Range {
        Range { begin: e.clone(), end: add(e, &one(e)) }
    }

    /// A range of `extent` values from `begin` on.
    pub fn new(begin: PrimExpr, extent: &PrimExpr) -> Range {
        let end = add(&begin, extent);
        Range { begin, end }
    }

    /// Number of values, simplified.
    pub fn extent(&self) -> PrimExpr {
        match Analyzer::new().difference(&self.end, &self.begin) {
            Some(n) => PrimExpr::int(n, self.begin.dtype()),
            None => {
                let extent =
                    Analyzer::new().simplify(&arith::binary(BinaryOp::Sub, self.end.clone(), self.begin.clone()));
                // In the order in which it is simplified when the region's text `begin:begin + extent` is read.
                let end = arith::binary(BinaryOp::Add, self.begin.clone(), extent);
                Analyzer::new().simplify(&arith::binary(BinaryOp::Sub, end, self.begin.clone()))
            }
        }
    }

    /// The smallest range that covers both.
    pub fn hull(&self, other: &Range) -> Range {
        Range {
            begin: extreme(BinaryOp::Min, &self.begin, &other.begin),
            end: extreme(BinaryOp::Max, &self.end, &other.end),
        }
    }

    /// The range shifted by an offset.
    pub fn shifted(&self, by: &PrimExpr) -> Range {
        Range { begin: add(by, &self.begin), end: add(by, &self.end) }
    }

    /// Extends the range by the extent of another: the sums of a value of each.
    pub fn extended_by(&self, extent: &Range) -> Range {
        let longest = sub(&extent.end, &one(&extent.end));
        Range { begin: self.begin.clone(), end: sub(&add(&self.end, &longest), &one(&longest)) }
    }

    fn shift(&self, by: &Range) -> Range {
        // The sum of two ranges is one value shorter at its end than the sum of their ends.
        Range { begin: add(&self.begin, &by.begin), end: sub(&add(&self.end, &by.end), &one(&self.end)) }
    }
}

fn one(e: &PrimExpr) -> PrimExpr {
    PrimExpr::int(1, e.dtype())
}

fn add(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Add, a.clone(), b.clone())
}

fn sub(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    if let (PrimKind::Binary(BinaryOp::Add, x, y), Some(c)) = (a.kind(), b.as_int())
        && y.as_int() == Some(c)
    {
        return x.clone();
    }
    arith::binary(BinaryOp::Sub, a.clone(), b.clone())
}

fn mul(a: &PrimExpr, b: i64) -> PrimExpr {
    arith::binary(BinaryOp::Mul, a.clone(), PrimExpr::int(b, a.dtype()))
}

fn extreme(op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match Analyzer::new().difference(a, b) {
        Some(d) if (d <= 0) == (op == BinaryOp::Min) => a.clone(),
        Some(_) => b.clone(),
        None => arith::binary(op, a.clone(), b.clone()),
    }
}

impl Domains {
    /// Adds a loop's variable.
    pub fn add_loop(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        let range = match (self.range(min), self.range(extent)) {
            (Some(min), Some(extent)) => {
                let last = sub(&extent.end, &one(&extent.end));
                Some(Range { begin: min.begin.clone(), end: sub(&add(&min.end, &last), &one(&last)) })
            }
            _ => None,
        };
        self.ranges.insert(var.clone(), range);
    }

    /// Adds a variable bound to a value.
    pub fn add_value(&mut self, var: &Var, value: &PrimExpr) {
        let range = self.range(value);
        self.ranges.insert(var.clone(), range);
    }

    /// Range of an index; `None` if unknown.
    pub fn range(&self, e: &PrimExpr) -> Option<Range> {
        if !e.any(&mut |x| x.as_var().is_some_and(|v| self.ranges.contains_key(v)))
            && !matches!(e.kind(), PrimKind::Ramp(..))
        {
            return Some(Range::point(e));
        }
        match e.kind() {
            PrimKind::Var(v) => self.ranges.get(v).cloned().flatten(),
            PrimKind::Binary(op, a, b) => self.binary(*op, a, b),
            PrimKind::Cast(inner) if e.dtype().is_int() && inner.dtype().is_int() => {
                let range = self.range(inner)?;
                let cast = |e: &PrimExpr, to: &PrimExpr| arith::cast(e.clone(), to.dtype());
                Some(Range { begin: cast(&range.begin, e), end: cast(&range.end, e) })
            }
            PrimKind::Ramp(base, stride) => {
                let (base, lanes) = (self.range(base)?, e.dtype().lanes);
                let last = stride.as_int().filter(|s| *s > 0)? * (i64::from(lanes) - 1);
                let end = add(&base.end, &PrimExpr::int(last, base.end.dtype()));
                Some(Range { begin: base.begin, end })
            }
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> Option<Range> {
        let (x, constant) = (self.range(a)?, b.as_int());
        match (op, constant) {
            (BinaryOp::Add, _) => Some(x.shift(&self.range(b)?)),
            (BinaryOp::Sub, _) => {
                let y = self.range(b)?;
                let begin = sub(&x.begin, &sub(&y.end, &one(&y.end)));
                Some(Range { begin, end: sub(&x.end, &y.begin) })
            }
            (BinaryOp::Mul, Some(k)) if k > 0 => Some(scaled(&x, k)),
            (BinaryOp::Mul, None) => a.as_int().filter(|k| *k > 0).and_then(|k| Some(scaled(&self.range(b)?, k))),
            (BinaryOp::FloorDiv, Some(k)) if k > 0 => {
                let divide = |e: PrimExpr| arith::binary(BinaryOp::FloorDiv, e, PrimExpr::int(k, a.dtype()));
                let last = divide(sub(&x.end, &one(&x.end)));
                Some(Range { begin: divide(x.begin), end: add(&last, &one(&last)) })
            }
            (BinaryOp::FloorMod, Some(k)) if k > 0 => {
                let zero = PrimExpr::int(0, a.dtype());
                match (x.begin.as_int(), x.end.as_int()) {
                    (Some(begin), Some(end)) if begin >= 0 && end <= k => Some(x),
                    _ => Some(Range::new(zero, &PrimExpr::int(k, a.dtype()))),
                }
            }
            (BinaryOp::Min | BinaryOp::Max, _) => {
                let y = self.range(b)?;
                Some(Range { begin: extreme(op, &x.begin, &y.begin), end: extreme(op, &x.end, &y.end) })
            }
            _ => None,
        }
    }
}

fn scaled(x: &Range, k: i64) -> Range {
    let last = mul(&sub(&x.end, &one(&x.end)), k);
    Range { begin: mul(&x.begin, k), end: add(&last, &one(&last)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(e: &PrimExpr, domains: &Domains) -> Option<(i64, i64)> {
        let range = domains.range(e)?;
        Some((range.begin.as_int()?, range.extent().as_int()?))
    }

    #[test]
    fn ranges_follow_arithmetic() {
        let (i, j, outer) = (Var::int64("i"), Var::int64("j"), Var::int64("v"));
        let mut domains = Domains::default();
        domains.add_loop(&i, &PrimExpr::int64(0), &PrimExpr::int64(4));
        domains.add_loop(&j, &PrimExpr::int64(1), &PrimExpr::int64(3));
        let (x, y) = (i.expr(), j.expr());
        assert_eq!(covered(&(x.clone() * 8i64 + y.clone()), &domains), Some((1, 27)));
        assert_eq!(covered(&(x.clone() - y.clone()), &domains), Some((-3, 6)));
        assert_eq!(covered(&(x.clone() + 6i64).floordiv(4i64), &domains), Some((1, 2)));
        assert_eq!(covered(&x.clone().floormod(8i64), &domains), Some((0, 4)));
        assert_eq!(covered(&(x.clone() * y), &domains), None);
        let shifted = domains.range(&(outer.expr() * 4i64 + x)).unwrap();
        assert_eq!(shifted.extent().as_int(), Some(4));
    }
}
