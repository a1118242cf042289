use super::{rounded, samples};
use crate::arith::format::{self, Format};
use crate::arith::{Binary, Modifiers, Rounding, Ternary, Type, Unary, binary, float, ternary, unary};

/// A result of the host with the NaN of the device.
///
/// LLVM folds `f64::sqrt(x).is_nan()` to false for a signaling `x` when it inlines this.
#[inline(never)]
fn single(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits().into() }
}

#[inline(never)]
fn double(value: f64) -> u64 {
    if value.is_nan() { 0xfff8_0000_0000_0000 } else { value.to_bits() }
}

/// The exact path must round as the host does; `binary` itself uses the host here.
#[test]
fn exact_arithmetic_rounds_to_nearest_as_the_host() {
    for (i, &a) in samples(Type::F32, 150).iter().enumerate() {
        for &b in &samples(Type::F32, 150)[..] {
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            let pairs = [(Binary::Add, x + y), (Binary::Sub, x - y), (Binary::Mul, x * y), (Binary::Div, x / y)];
            for (op, expected) in pairs {
                let found = float::exact(op, format::F32, Rounding::Nearest, a, b);
                assert_eq!(found, single(expected), "{op:?} {x} {y}");
                assert_eq!(binary(op, Type::F32, Modifiers::default(), a, b), found);
            }
            let c = samples(Type::F32, 150)[i];
            let expected = single(x.mul_add(y, f32::from_bits(c as u32)));
            assert_eq!(float::fused(format::F32, Rounding::Nearest, a, b, c), expected, "{x} {y} {c:x}");
        }
    }
}

#[test]
fn exact_arithmetic_of_doubles_rounds_to_nearest_as_the_host() {
    let values = samples(Type::F64, 120);
    // Operands near in magnitude cancel; random exponents seldom do.
    let mut random = fastrand::Rng::with_seed(3);
    let near: Vec<u64> = (0..100).map(|_| f64::to_bits(1.0 + random.f64()) ^ (random.u64(..2) << 63)).collect();
    for set in [values, near] {
        for (i, &a) in set.iter().enumerate() {
            for &b in &set {
                let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(set[i / 2]));
                let pairs = [(Binary::Add, x + y), (Binary::Sub, x - y), (Binary::Mul, x * y), (Binary::Div, x / y)];
                for (op, expected) in pairs {
                    assert_eq!(float::exact(op, format::F64, Rounding::Nearest, a, b), double(expected), "{x} {y}");
                }
                let fused = float::fused(format::F64, Rounding::Nearest, a, b, z.to_bits());
                assert_eq!(fused, double(x.mul_add(y, z)), "{x} {y} {z}");
                // The product almost cancels.
                let fused = float::fused(format::F64, Rounding::Nearest, a, b, (-x * y).to_bits());
                assert_eq!(fused, double(x.mul_add(y, -x * y)), "{x} {y}");
            }
        }
    }
}

#[test]
fn square_roots_round_as_the_host() {
    for a in samples(Type::F64, 20_000) {
        let found = Format::round(format::F64, format::F64.decode(a).square_root(), Rounding::Nearest);
        assert_eq!(found, double(f64::from_bits(a).sqrt()), "{a:x}");
    }
    for a in samples(Type::F32, 20_000) {
        let found = Format::round(format::F32, format::F32.decode(a).square_root(), Rounding::Nearest);
        assert_eq!(found, single(f32::from_bits(a as u32).sqrt()), "{a:x}");
    }
}

/// Sums and products of halves are exact in `f64`, so the crate `half` rounds once.
#[test]
fn halves_round_once() {
    for &a in &samples(Type::F16, 400) {
        for &b in &samples(Type::F16, 400) {
            let (x, y) = (half::f16::from_bits(a as u16).to_f64(), half::f16::from_bits(b as u16).to_f64());
            for (op, value) in [(Binary::Add, x + y), (Binary::Sub, x - y), (Binary::Mul, x * y)] {
                let expected = half::f16::from_f64(value);
                let expected = if expected.is_nan() { 0x7fff } else { expected.to_bits().into() };
                assert_eq!(binary(op, Type::F16, Modifiers::default(), a, b), expected, "{op:?} {x} {y}");
            }
        }
    }
}

#[test]
fn fma_of_halves_rounds_once() {
    let fma = |a, b, c| ternary(Ternary::Fma, Type::F16, rounded(Rounding::Nearest), a, b, c);
    let [one, tie] = [0x3c00, 0x1000];
    assert_eq!(fma(tie, one, one), 0x3c00, "1 + 2^-11 is a tie to even");
    assert_eq!(fma(tie + 1, one, one), 0x3c01);
    assert_eq!(fma(0x5c00, 0x5c00, 0xfbff), 0x5000, "256 × 256 overflows, 256 × 256 − 65504 = 32 does not");
    // (1 + 2^-10)² = 1 + 2^-9 + 2^-20: a product rounded first would give 0.
    assert_eq!(fma(0x3c01, 0x3c01, 0xbc02), 0x0010);
    // 1.5 × 2^-24 is no multiple of the least subnormal; with f32 in between, 1024 would swallow the low bit.
    assert_eq!(fma(0x3e00, 0x0001, 0x6401), 0x6401);
}

#[test]
fn fma_of_brain_floats_matches_exact_sums_in_f64() {
    // Exponents within 20 of each other: product and sum are exact in f64.
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..20_000 {
        let mut value = || half::bf16::from_f32((random.f32() - 0.5) * 2f32.powi(random.i32(-8..8)));
        let (a, b, c) = (value(), value(), value());
        let exact = a.to_f64() * b.to_f64() + c.to_f64();
        let bits = [a, b, c].map(|x| u64::from(x.to_bits()));
        let found = ternary(Ternary::Fma, Type::BF16, rounded(Rounding::Nearest), bits[0], bits[1], bits[2]);
        assert_eq!(found, u64::from(half::bf16::from_f64(exact).to_bits()), "{a} {b} {c}");
    }
}

#[test]
fn packed_operands_are_independent() {
    let (a, b) = (0x3c00_4000, 0x4200_4400); // (1, 2) and (3, 4), upper half first
    assert_eq!(binary(Binary::Mul, Type::F16x2, Modifiers::default(), a, b), 0x4200_4800);
    assert_eq!(unary(Unary::Neg, Type::F16x2, Modifiers::default(), a), 0xbc00_c000);
    let [nan_and_one, half] = [0x7fff_3c00, 0x3800_3800];
    assert_eq!(binary(Binary::Add, Type::F16x2, Modifiers::default(), nan_and_one, half), 0x7fff_3e00);
}

#[test]
fn subnormals_flush_on_both_sides() {
    let ftz = Modifiers { ftz: true, ..Modifiers::default() };
    let (least_normal, subnormal) = (0x0080_0000, 0x8000_0001);
    assert_eq!(binary(Binary::Add, Type::F32, ftz, least_normal, subnormal), least_normal);
    let half = f32::to_bits(0.5).into();
    assert_eq!(binary(Binary::Mul, Type::F32, ftz, least_normal, half), 0);
    assert_eq!(binary(Binary::Mul, Type::F32, ftz, least_normal | 1 << 31, half), 1 << 31);
    assert_eq!(binary(Binary::Mul, Type::F32, Modifiers::default(), least_normal, half), 0x0040_0000);
    assert_eq!(unary(Unary::Neg, Type::F32, ftz, subnormal), 0);
    assert_eq!(binary(Binary::Add, Type::F16, ftz, 0x0001, 0x0400), 0x0400);
}

#[test]
fn saturation_clamps_to_the_unit_interval() {
    let sat = Modifiers { sat: true, ..Modifiers::default() };
    let bits = |x: f32| u64::from(x.to_bits());
    for (a, b, expected) in [(0.5, 0.75, 1.0), (-2.0, 1.0, 0.0), (0.25, 0.5, 0.75), (f32::NAN, 1.0, 0.0)] {
        assert_eq!(binary(Binary::Add, Type::F32, sat, bits(a), bits(b)), bits(expected), "{a} {b}");
    }
    assert_eq!(binary(Binary::Mul, Type::F32, sat, bits(-0.0), bits(1.0)), 0);
    assert_eq!(binary(Binary::Add, Type::F16, sat, 0x3c00, 0x3c00), 0x3c00);
    let relu = Modifiers { relu: true, rounding: Some(Rounding::Nearest), ..Modifiers::default() };
    assert_eq!(ternary(Ternary::Fma, Type::F16, relu, 0x3c00, 0xbc00, 0), 0);
    assert_eq!(ternary(Ternary::Fma, Type::BF16, relu, 0x7fc0, 0, 0), 0x7fff);
}

#[test]
fn extrema_follow_the_manual() {
    let bits = |x: f32| u64::from(x.to_bits());
    let min = |modifiers, a, b| binary(Binary::Min, Type::F32, modifiers, bits(a), bits(b));
    let max = |modifiers, a, b| binary(Binary::Max, Type::F32, modifiers, bits(a), bits(b));
    let plain = Modifiers::default();
    assert_eq!(min(plain, 0.0, -0.0), bits(-0.0));
    assert_eq!(min(plain, -0.0, 0.0), bits(-0.0));
    assert_eq!(max(plain, -0.0, 0.0), bits(0.0));
    assert_eq!(min(plain, f32::NAN, 3.0), bits(3.0));
    assert_eq!(max(plain, 3.0, f32::NAN), bits(3.0));
    assert_eq!(max(plain, f32::NAN, -f32::NAN), 0x7fff_ffff);
    assert_eq!(max(plain, -1.0, -2.0), bits(-1.0));
    assert_eq!(min(plain, f32::NEG_INFINITY, f32::MIN), bits(f32::NEG_INFINITY));
    let nan = Modifiers { nan: true, ..plain };
    assert_eq!(max(nan, 3.0, f32::NAN), 0x7fff_ffff);
    let magnitude = Modifiers { xorsign_abs: true, ..plain };
    assert_eq!(max(magnitude, -3.0, 2.0), bits(-3.0));
    assert_eq!(max(magnitude, -3.0, -4.0), bits(4.0));
    assert_eq!(min(magnitude, -3.0, 2.0), bits(-2.0));
}

#[test]
fn signs_are_bits() {
    assert_eq!(unary(Unary::Abs, Type::F64, Modifiers::default(), f64::to_bits(-2.5)), f64::to_bits(2.5));
    // PTX: the sign of the first operand with the magnitude of the second.
    let found = binary(Binary::Copysign, Type::F32, Modifiers::default(), 1 << 31, f32::to_bits(3.0).into());
    assert_eq!(found, f32::to_bits(-3.0).into());
}
