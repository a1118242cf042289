//! Directed rounding against exact rational arithmetic on integers.
use super::{rounded, samples};
use crate::arith::{Binary, Rounding, Ternary, Type, Unary, binary, ternary, unary};

const MODES: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];

/// A value between two neighbours of `f32` or exactly one of them.
struct Bracket {
    below: f64,
    above: f64,
}

/// The neighbours in `f32` of an exact value, of which `value` is the nearest `f64` and `rest` the sign of what is
/// missing.
fn bracket(value: f64, rest: f64) -> Bracket {
    let nearest = value as f32;
    let difference = if f64::from(nearest) == value { rest } else { value - f64::from(nearest) };
    let nearest_wide = f64::from(nearest);
    let (mut below, mut above) = (nearest_wide, nearest_wide);
    if difference > 0.0 {
        above = nearest.next_up().into();
    } else if difference < 0.0 {
        below = nearest.next_down().into();
    }
    Bracket { below, above }
}

fn expected(bracket: &Bracket, rounding: Rounding) -> f64 {
    let (low, high) = (bracket.below, bracket.above);
    match rounding {
        Rounding::Down => low,
        Rounding::Up => high,
        _ if low.abs() < high.abs() => low,
        _ => high,
    }
}

/// The sum of two doubles and what rounding lost (Knuth's two-sum).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

#[test]
fn sums_and_products_of_singles_are_exact_in_doubles() {
    let values: Vec<f32> =
        samples(Type::F32, 150).iter().map(|&bits| f32::from_bits(bits as u32)).filter(|x| x.is_finite()).collect();
    for &x in &values {
        for &y in &values {
            let (sum, rest) = two_sum(x.into(), y.into());
            let product = f64::from(x) * f64::from(y);
            for (op, value, rest) in [(Binary::Add, sum, rest), (Binary::Mul, product, 0.0)] {
                let bracket = bracket(value, rest);
                for rounding in [Rounding::Zero, Rounding::Down, Rounding::Up] {
                    let bits = binary(op, Type::F32, rounded(rounding), x.to_bits().into(), y.to_bits().into());
                    let found = f64::from(f32::from_bits(bits as u32));
                    if value != 0.0 && value.abs() < f64::from(f32::MAX) {
                        assert_eq!(found, expected(&bracket, rounding), "{op:?} {x:e} {y:e} {rounding:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn quotients_and_roots_bracket_the_operand() {
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..20_000 {
        let (x, y) = (random.f32() + 0.5, random.f32() + 0.5);
        let divide = |rounding| {
            let bits = binary(Binary::Div, Type::F32, rounded(rounding), x.to_bits().into(), y.to_bits().into());
            f32::from_bits(bits as u32)
        };
        let [nearest, zero, down, up] = MODES.map(divide);
        // Products of two singles are exact in f64.
        assert!(f64::from(down) * f64::from(y) <= x.into() && f64::from(up) * f64::from(y) >= x.into());
        assert!(up == down || up == down.next_up());
        assert!(zero == down && (nearest == down || nearest == up));

        let root =
            |rounding| f32::from_bits(unary(Unary::Sqrt, Type::F32, rounded(rounding), x.to_bits().into()) as u32);
        let [nearest, zero, down, up] = MODES.map(root);
        assert!(f64::from(down) * f64::from(down) <= x.into() && f64::from(up) * f64::from(up) >= x.into());
        assert!(up == down || up == down.next_up());
        assert!(zero == down && (nearest == down || nearest == up));

        let reciprocal = |rounding| unary(Unary::Rcp, Type::F32, rounded(rounding), y.to_bits().into());
        let one = f32::to_bits(1.0).into();
        for rounding in MODES {
            assert_eq!(
                reciprocal(rounding),
                binary(Binary::Div, Type::F32, rounded(rounding), one, y.to_bits().into())
            );
        }
    }
}

#[test]
fn doubles_bracket_the_nearest() {
    let mut random = fastrand::Rng::with_seed(6);
    for _ in 0..20_000 {
        let [x, y, z] = [0; 3].map(|_| (random.f64() - 0.5) * 2f64.powi(random.i32(-40..40)));
        let fma = |rounding| {
            let bits = ternary(Ternary::Fma, Type::F64, rounded(rounding), x.to_bits(), y.to_bits(), z.to_bits());
            f64::from_bits(bits)
        };
        let [nearest, zero, down, up] = MODES.map(fma);
        assert_eq!(nearest, x.mul_add(y, z));
        assert!(up == down || up == down.next_up(), "{x} {y} {z}");
        assert!(nearest == down || nearest == up);
        assert_eq!(zero, if nearest > 0.0 { down } else { up });
    }
}

#[test]
fn overflow_and_exact_zero_depend_on_the_mode() {
    let bits = |x: f32| u64::from(x.to_bits());
    let add = |rounding, x, y| binary(Binary::Add, Type::F32, rounded(rounding), bits(x), bits(y));
    let largest = f32::MAX;
    let infinity = f32::INFINITY;
    for (rounding, positive, negative) in [
        (Rounding::Nearest, infinity, -infinity),
        (Rounding::Zero, largest, -largest),
        (Rounding::Down, largest, -infinity),
        (Rounding::Up, infinity, -largest),
    ] {
        assert_eq!(add(rounding, largest, largest), bits(positive));
        assert_eq!(add(rounding, -largest, -largest), bits(negative));
        let zero = if rounding == Rounding::Down { -0.0 } else { 0.0 };
        assert_eq!(add(rounding, 1.0, -1.0), bits(zero), "{rounding:?}");
        assert_eq!(add(rounding, 0.0, -0.0), bits(zero), "{rounding:?}");
        assert_eq!(add(rounding, -0.0, -0.0), bits(-0.0));
    }
    // Half of the least subnormal.
    let least = f32::from_bits(1);
    let halve = |rounding| binary(Binary::Mul, Type::F32, rounded(rounding), bits(least), bits(0.5));
    assert_eq!(MODES.map(halve), [0, 0, 0, 1]);
}
