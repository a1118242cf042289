//! Intervals of integers.

use super::floor::floor_div;
use crate::DType;
use std::ops::{Add, Mul, Neg, Sub};

/// All integers from `min` to `max`, both included. [`i64::MIN`] and [`i64::MAX`] mean that there is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Lower bound.
    pub min: i64,
    /// Upper bound.
    pub max: i64,
}

/// Larger than any bound, so that sums and products with it stay out of range.
const INFINITY: i128 = 1 << 64;

impl Interval {
    /// All integers.
    pub const ALL: Interval = Interval { min: i64::MIN, max: i64::MAX };

    /// Integers from `min` to `max`.
    pub fn new(min: i64, max: i64) -> Self {
        Interval { min, max }
    }

    /// The interval of one integer.
    pub fn point(value: i64) -> Self {
        Interval::new(value, value)
    }

    /// Value range of an integer dtype; everything for int64 and for non-integers.
    pub fn of_dtype(dtype: DType) -> Self {
        let bits = u32::from(dtype.bits);
        match dtype {
            t if t.is_bool() => Interval::new(0, 1),
            t if t.is_uint() && bits < 64 => Interval::new(0, (1i64 << bits) - 1),
            t if t.is_uint() => Interval::new(0, i64::MAX),
            t if t.is_int() && bits < 64 => Interval::new(-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
            _ => Interval::ALL,
        }
    }

    /// The only integer in it, if there is just one.
    pub fn as_point(self) -> Option<i64> {
        (self.min == self.max).then_some(self.min)
    }

    /// Returns true if `value` is in it.
    pub fn contains(self, value: i64) -> bool {
        self.min <= value && value <= self.max
    }

    /// Returns true if all of it is in `other`.
    pub fn is_within(self, other: Interval) -> bool {
        other.min <= self.min && self.max <= other.max
    }

    /// The intersection; `self` if it is empty.
    pub fn intersect(self, other: Interval) -> Interval {
        let both = Interval::new(self.min.max(other.min), self.max.min(other.max));
        if both.min <= both.max { both } else { self }
    }

    /// The smallest interval around both.
    pub fn union(self, other: Interval) -> Interval {
        Interval::new(self.min.min(other.min), self.max.max(other.max))
    }

    /// All `a * a * …`, `count` times the same `a`.
    pub fn pow(self, count: usize) -> Interval {
        let power = (1..count).fold(self, |p, _| p * self);
        if count % 2 == 1 {
            return power;
        }
        let min = if self.contains(0) { 0 } else { power.min.max(0) };
        Interval::new(min, power.max)
    }

    /// All `a // b`; everything where `b` may be zero.
    pub fn floor_div(self, other: Interval) -> Interval {
        if other.contains(0) {
            return Interval::ALL;
        }
        let quotient = |a: i64, b: i64| match (a, b) {
            (i64::MIN | i64::MAX, i64::MIN | i64::MAX) => 0,
            (i64::MIN | i64::MAX, _) => {
                if (a > 0) == (b > 0) {
                    INFINITY
                } else {
                    -INFINITY
                }
            }
            (_, i64::MIN | i64::MAX) => {
                if a != 0 && (a > 0) != (b > 0) {
                    -1
                } else {
                    0
                }
            }
            _ => floor_div(a, b).map_or(INFINITY, i128::from),
        };
        let quotients = |b: i64| [quotient(self.min, b), quotient(self.max, b)];
        let ([p, q], [r, s]) = (quotients(other.min), quotients(other.max));
        Interval::around([p, q, r, s])
    }

    /// All `a % b`, with the divisor's sign.
    pub fn floor_mod(self, other: Interval) -> Interval {
        if other.min <= 0 {
            return Interval::ALL;
        }
        let below = Interval::new(0, if other.max == i64::MAX { i64::MAX } else { other.max - 1 });
        match other.as_point() {
            Some(b) => match (floor_div(self.min, b), floor_div(self.max, b)) {
                (Some(p), Some(q)) if p == q && self.min != i64::MIN && self.max != i64::MAX => {
                    Interval::new(self.min - p * b, self.max - p * b)
                }
                _ => below,
            },
            None if self.min >= 0 && self.max < other.min => self,
            None if self.min >= 0 => Interval::new(0, below.max.min(self.max)),
            None => below,
        }
    }

    /// All `min(a, b)`.
    pub fn min(self, other: Interval) -> Interval {
        Interval::new(self.min.min(other.min), self.max.min(other.max))
    }

    /// All `max(a, b)`.
    pub fn max(self, other: Interval) -> Interval {
        Interval::new(self.min.max(other.min), self.max.max(other.max))
    }

    fn to_i128(self) -> (i128, i128) {
        let min = if self.min == i64::MIN { -INFINITY } else { i128::from(self.min) };
        let max = if self.max == i64::MAX { INFINITY } else { i128::from(self.max) };
        (min, max)
    }

    fn around(values: [i128; 4]) -> Interval {
        let (min, max) = values.iter().fold((i128::MAX, i128::MIN), |(l, g), v| (l.min(*v), g.max(*v)));
        Interval::narrow(min, max)
    }

    fn narrow(min: i128, max: i128) -> Interval {
        let clamp = |v: i128| v.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        // A minimum above all bounds or a maximum below them can only result from values that do not occur.
        Interval::new(clamp(min).min(i64::MAX - 1), clamp(max).max(i64::MIN + 1))
    }
}

impl Add for Interval {
    type Output = Interval;
    /// All `a + b`.
    fn add(self, other: Interval) -> Interval {
        let ((a, b), (c, d)) = (self.to_i128(), other.to_i128());
        Interval::narrow(a + c, b + d)
    }
}

impl Neg for Interval {
    type Output = Interval;
    /// All `-a`.
    fn neg(self) -> Interval {
        let (a, b) = self.to_i128();
        Interval::narrow(-b, -a)
    }
}

impl Sub for Interval {
    type Output = Interval;
    /// All `a - b`.
    fn sub(self, other: Interval) -> Interval {
        self + -other
    }
}

impl Mul for Interval {
    type Output = Interval;
    /// All `a * b`.
    fn mul(self, other: Interval) -> Interval {
        let ((a, b), (c, d)) = (self.to_i128(), other.to_i128());
        let products = [a.saturating_mul(c), a.saturating_mul(d), b.saturating_mul(c), b.saturating_mul(d)];
        Interval::around(products)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on small intervals holds every result, and is exact or close to it.
    #[test]
    fn operations_hold_all_results() {
        let intervals: Vec<Interval> = (-3..=3).flat_map(|a| (a..=3).map(move |b| Interval::new(a, b))).collect();
        for a in &intervals {
            for b in &intervals {
                for x in a.min..=a.max {
                    for y in b.min..=b.max {
                        assert!((*a + *b).contains(x + y));
                        assert!((*a - *b).contains(x - y));
                        assert!((*a * *b).contains(x * y));
                        assert!(a.min(*b).contains(x.min(y)));
                        assert!(a.max(*b).contains(x.max(y)));
                        if let (Some(q), Some(r)) = (floor_div(x, y), super::super::floor::floor_mod(x, y)) {
                            assert!(a.floor_div(*b).contains(q), "{a:?} // {b:?}");
                            assert!(a.floor_mod(*b).contains(r), "{a:?} % {b:?}");
                        }
                    }
                    assert!(a.pow(2).contains(x * x));
                    assert!(a.pow(3).contains(x * x * x));
                }
            }
        }
    }

    #[test]
    fn missing_bounds_stay_missing() {
        let natural = Interval::new(0, i64::MAX);
        assert_eq!(natural + Interval::point(-1), Interval::new(-1, i64::MAX));
        assert_eq!(natural * Interval::point(4), natural);
        assert_eq!(natural * Interval::point(-4), Interval::new(i64::MIN, 0));
        assert_eq!(natural.floor_div(Interval::point(4)), natural);
        assert_eq!(natural * natural, natural);
        assert_eq!(natural.floor_div(Interval::new(1, i64::MAX)), natural);
        assert_eq!(Interval::ALL.floor_mod(Interval::point(4)), Interval::new(0, 3));
        assert_eq!((Interval::point(i64::MAX - 1) + Interval::point(5)).max, i64::MAX);
    }
}
