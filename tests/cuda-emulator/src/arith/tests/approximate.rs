//! Errors stay within the manual's bounds, and are not zero.
use crate::arith::*;

const APPROX: Modifiers = Modifiers {
    rounding: None,
    to_integer: false,
    ftz: false,
    sat: false,
    satfinite: false,
    approx: true,
    full: false,
    relu: false,
    nan: false,
    xorsign_abs: false,
};

fn approximate(op: Unary, x: f32) -> f32 {
    f32::from_bits(unary(op, Type::F32, APPROX, x.to_bits().into()) as u32)
}

/// Distance in units of the last place.
fn ulps(a: f32, b: f32) -> u32 {
    a.to_bits().abs_diff(b.to_bits())
}

#[test]
fn errors_stay_within_the_manuals_bounds() {
    let mut random = fastrand::Rng::with_seed(9);
    let mut inexact = [0; 8];
    for _ in 0..50_000 {
        let x = 2f32.powi(random.i32(-60..60)) * (1.0 + random.f32());
        let wide = f64::from(x);
        let relative = |found: f32, exact: f64| (f64::from(found) / exact - 1.0).abs();
        let mut check = |i: usize, error: f64, bound: f64| {
            assert!(error <= bound, "function {i} of {x}: {error:e} > {bound:e}");
            inexact[i] += usize::from(error > bound / 4.0);
        };
        check(0, ulps(approximate(Unary::Rcp, x), x.recip()).into(), 1.0);
        check(1, relative(approximate(Unary::Sqrt, x), wide.sqrt()), 2f64.powi(-23));
        check(2, relative(approximate(Unary::Rsqrt, x), wide.sqrt().recip()), 2f64.powf(-22.9));
        let power = (random.f32() - 0.5) * 200.0;
        check(3, ulps(approximate(Unary::Ex2, power), f64::from(power).exp2() as f32).into(), 2.0);
        let exact = wide.log2();
        let found = f64::from(approximate(Unary::Lg2, x));
        let scale = if x > 0.5 && x < 2.0 { 1.0 } else { exact.abs() };
        check(4, (found - exact).abs(), scale * 2f64.powi(-22));
        let angle = (random.f32() - 0.5) * 4.0 * std::f32::consts::PI;
        check(5, (f64::from(approximate(Unary::Sin, angle)) - f64::from(angle).sin()).abs(), 2f64.powf(-20.5));
        check(6, (f64::from(approximate(Unary::Cos, 40.0 * angle)) - (40.0 * f64::from(angle)).cos()).abs(), 1e-4);
        check(7, relative(approximate(Unary::Tanh, angle), f64::from(angle).tanh()), 2f64.powi(-11));
    }
    assert!(inexact.iter().all(|&count| count > 5_000), "{inexact:?}");
}

#[test]
fn errors_of_brain_floats_stay_within_bounds() {
    let ftz = Modifiers { ftz: true, ..APPROX };
    for bits in 0..=u16::MAX {
        let x = half::bf16::from_bits(bits);
        let wide = x.to_f64();
        let found =
            |op, modifiers| half::bf16::from_bits(unary(op, Type::BF16, modifiers, bits.into()) as u16).to_f64();
        if !x.is_nan() {
            assert!((found(Unary::Tanh, APPROX) - wide.tanh()).abs() <= 2f64.powi(-8), "{x}");
        }
        if wide.abs() < 126.0 {
            assert!((found(Unary::Ex2, ftz) / wide.exp2() - 1.0).abs() <= 2f64.powi(-7), "{x}");
        }
    }
}

#[test]
fn half_precision_errors_stay_within_bounds() {
    for bits in 0..=u16::MAX {
        let x = half::f16::from_bits(bits);
        let wide = x.to_f64();
        let found = |op| half::f16::from_bits(unary(op, Type::F16, APPROX, bits.into()) as u16).to_f64();
        if x.is_nan() {
            assert_eq!(unary(Unary::Tanh, Type::F16, APPROX, bits.into()), 0x7fff);
            continue;
        }
        assert!((found(Unary::Tanh) - wide.tanh()).abs() <= 2f64.powf(-10.987), "{x}");
        if wide.exp2() < 65504.0 && wide.exp2() > 2f64.powi(-14) {
            assert!((found(Unary::Ex2) / wide.exp2() - 1.0).abs() <= 2f64.powf(-9.9), "{x}");
        }
    }
}

#[test]
fn tables_of_the_manual_are_exact() {
    let infinity = f32::INFINITY;
    let cases: [(Unary, &[(f32, f32)]); 8] = [
        (Unary::Rcp, &[(-infinity, -0.0), (-0.0, -infinity), (0.0, infinity), (infinity, 0.0)]),
        (Unary::Sqrt, &[(-infinity, f32::NAN), (-1.0, f32::NAN), (-0.0, -0.0), (0.0, 0.0), (infinity, infinity)]),
        (Unary::Rsqrt, &[(-infinity, f32::NAN), (-1.0, f32::NAN), (-0.0, -infinity), (0.0, infinity), (infinity, 0.0)]),
        (
            Unary::Ex2,
            &[(-infinity, 0.0), (-0.0, 1.0), (0.0, 1.0), (infinity, infinity), (200.0, infinity), (-200.0, 0.0)],
        ),
        (
            Unary::Lg2,
            &[(-infinity, f32::NAN), (-1.0, f32::NAN), (-0.0, -infinity), (0.0, -infinity), (infinity, infinity)],
        ),
        (Unary::Sin, &[(-infinity, f32::NAN), (-0.0, -0.0), (0.0, 0.0), (infinity, f32::NAN)]),
        (Unary::Cos, &[(-infinity, f32::NAN), (-0.0, 1.0), (0.0, 1.0), (infinity, f32::NAN)]),
        (Unary::Tanh, &[(-infinity, -1.0), (-0.0, -0.0), (0.0, 0.0), (infinity, 1.0), (1e-40, 1e-40)]),
    ];
    for (op, table) in cases {
        assert_eq!(approximate(op, f32::NAN).to_bits(), 0x7fff_ffff, "{op:?}");
        for &(x, expected) in table {
            let found = approximate(op, x);
            let expected = if expected.is_nan() { 0x7fff_ffff } else { expected.to_bits() };
            assert_eq!(found.to_bits(), expected, "{op:?} {x}");
        }
    }
}

#[test]
fn quotients_are_within_two_ulps() {
    let bits = |x: f32| u64::from(x.to_bits());
    let full = Modifiers { full: true, ..Modifiers::default() };
    let mut random = fastrand::Rng::with_seed(4);
    let mut inexact = 0;
    for _ in 0..20_000 {
        let (x, y) = (random.f32() * 1e10, random.f32() + 1e-3);
        for modifiers in [APPROX, full] {
            let found = f32::from_bits(binary(Binary::Div, Type::F32, modifiers, bits(x), bits(y)) as u32);
            assert!(ulps(found, x / y) <= 2);
            inexact += usize::from(found != x / y);
        }
    }
    assert!(inexact > 10_000);
    let large = 2f32.powi(126) * 1.5;
    assert_eq!(binary(Binary::Div, Type::F32, APPROX, bits(-large), bits(large)), bits(-0.0));
    assert_eq!(binary(Binary::Div, Type::F32, APPROX, bits(f32::INFINITY), bits(large)), 0x7fff_ffff);
    assert_ne!(binary(Binary::Div, Type::F32, full, bits(large), bits(large)), 0);
}

#[test]
fn gross_approximations_have_an_upper_word_only() {
    let modifiers = Modifiers { ftz: true, ..APPROX };
    for x in [1.0, 3.0, -1e100, 1.23456789] {
        let found = unary(Unary::Rcp, Type::F64, modifiers, f64::to_bits(x));
        assert_eq!(found & 0xffff_ffff, 0);
        assert!((f64::from_bits(found) * x - 1.0).abs() < 2f64.powi(-17));
    }
    assert_eq!(unary(Unary::Rsqrt, Type::F64, modifiers, f64::to_bits(-2.0)), 0x7fff_ffff_0000_0000);
    assert_eq!(unary(Unary::Rcp, Type::F64, modifiers, 1 << 63), f64::NEG_INFINITY.to_bits());
}
