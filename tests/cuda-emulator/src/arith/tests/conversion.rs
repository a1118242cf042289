use half::{bf16, f16};

use super::{rounded, samples};
use crate::arith::*;

/// `cvt.rRi`.
fn to_integer(rounding: Rounding) -> Modifiers {
    Modifiers { to_integer: true, ..rounded(rounding) }
}

#[test]
fn halves_widen_exactly() {
    for bits in 0..=u16::MAX {
        let wide = convert(Type::F32, Type::F16, Modifiers::default(), bits.into());
        let brain = convert(Type::F32, Type::BF16, Modifiers::default(), bits.into());
        let expected = [f16::from_bits(bits).to_f32(), bf16::from_bits(bits).to_f32()];
        for (found, expected) in [wide, brain].into_iter().zip(expected) {
            let expected = if expected.is_nan() { 0x7fff_ffff } else { expected.to_bits().into() };
            assert_eq!(found, expected, "{bits:x}");
        }
        // And back, except for the payload of NaN.
        let again = convert(Type::F16, Type::F32, rounded(Rounding::Nearest), wide);
        assert_eq!(again, if f16::from_bits(bits).is_nan() { 0x7fff } else { bits.into() });
    }
}

#[test]
fn singles_narrow_as_the_crate_half_narrows() {
    for a in samples(Type::F32, 100_000) {
        let x = f32::from_bits(a as u32);
        let found = convert(Type::F16, Type::F32, rounded(Rounding::Nearest), a);
        assert_eq!(found, if x.is_nan() { 0x7fff } else { f16::from_f32(x).to_bits().into() }, "{x:e}");
        let found = convert(Type::BF16, Type::F32, rounded(Rounding::Nearest), a);
        assert_eq!(found, if x.is_nan() { 0x7fff } else { bf16::from_f32(x).to_bits().into() }, "{x:e}");
        let found = convert(Type::BF16, Type::F32, rounded(Rounding::Zero), a);
        assert_eq!(found, if x.is_nan() { 0x7fff } else { a >> 16 }, "truncation: {x:e}");
    }
}

#[test]
fn doubles_narrow_as_on_the_host() {
    for a in samples(Type::F64, 20_000) {
        let x = f64::from_bits(a) * 1e-300;
        for x in [f64::from_bits(a), x] {
            let found = convert(Type::F32, Type::F64, rounded(Rounding::Nearest), x.to_bits());
            let expected = x as f32;
            assert_eq!(found, if x.is_nan() { 0x7fff_ffff } else { expected.to_bits().into() }, "{x:e}");
        }
    }
}

#[test]
fn tf32_rounds_away_from_zero_on_ties() {
    let convert = |rounding, a| convert(Type::TF32, Type::F32, rounded(rounding), a);
    for a in samples(Type::F32, 20_000) {
        let magnitude = a & 0x7fff_ffff;
        if magnitude <= 0x7f80_0000 - 0x2000 {
            assert_eq!(convert(Rounding::NearestAway, a), (a + 0x1000) & !0x1fff, "{a:x}");
            assert_eq!(convert(Rounding::Zero, a), a & !0x1fff);
        }
    }
    assert_eq!(convert(Rounding::NearestAway, 0x3f80_1000), 0x3f80_2000);
    assert_eq!(convert(Rounding::Nearest, 0x3f80_1000), 0x3f80_0000);
    assert_eq!(convert(Rounding::NearestAway, 0x7f80_0001), 0x7fff_ffff);
}

#[test]
fn pairs_put_the_first_operand_up() {
    let (one, two) = (f32::to_bits(1.0).into(), f32::to_bits(-2.0).into());
    let modifiers = rounded(Rounding::Nearest);
    assert_eq!(convert_pair(Type::F16x2, Type::F32, modifiers, one, two), 0x3c00_c000);
    assert_eq!(convert_pair(Type::BF16x2, Type::F32, modifiers, one, two), 0x3f80_c000);
    let relu = Modifiers { relu: true, ..modifiers };
    assert_eq!(convert_pair(Type::BF16x2, Type::F32, relu, one, two), 0x3f80_0000);
    let finite = Modifiers { satfinite: true, ..modifiers };
    let large = f32::to_bits(-1e9).into();
    assert_eq!(convert_pair(Type::F16x2, Type::F32, finite, large, one), 0xfbff_3c00);
    assert_eq!(convert_pair(Type::F16x2, Type::F32, modifiers, large, one), 0xfc00_3c00);
}

#[test]
fn bytes_of_floats_saturate() {
    let finite = Modifiers { satfinite: true, ..rounded(Rounding::Nearest) };
    let pair = |ty, a: f32, b: f32| convert_pair(ty, Type::F32, finite, a.to_bits().into(), b.to_bits().into());
    assert_eq!(pair(Type::E4M3x2, 1.0, -448.0), 0x38fe);
    assert_eq!(pair(Type::E4M3x2, 1e9, f32::NAN), 0x7e7f);
    assert_eq!(pair(Type::E4M3x2, f32::NEG_INFINITY, 464.0), 0xfe7e);
    assert_eq!(pair(Type::E5M2x2, 1.0, f32::INFINITY), 0x3c7b);
    assert_eq!(pair(Type::E4M3x2, 2f32.powi(-9), 2f32.powi(-10)), 0x0100);
    // Every byte widens to f16 and narrows back.
    for byte in 0..=255u64 {
        for ty in [Type::E4M3x2, Type::E5M2x2] {
            let wide = convert(Type::F16x2, ty, rounded(Rounding::Nearest), byte | 0x3000);
            let again = convert(ty, Type::F16x2, finite, wide);
            let infinite = ty == Type::E5M2x2 && byte & 0x7f == 0x7c;
            let nan = if ty == Type::E4M3x2 { byte & 0x7f == 0x7f } else { byte & 0x7f > 0x7c };
            let expected = if nan { 0x7f } else { byte - u64::from(infinite) };
            assert_eq!(again, expected | 0x3000, "{ty:?} {byte:x}");
        }
    }
}

#[test]
fn floats_round_to_integers() {
    let bits = |x: f64| x.to_bits();
    let cases = [
        (2.5, [2, 2, 2, 3]),
        (3.5, [4, 3, 3, 4]),
        (-2.5, [-2, -2, -3, -2]),
        (-0.25, [0, 0, -1, 0]),
        (1e300, [i64::from(i32::MAX); 4]),
        (-1e300, [i64::from(i32::MIN); 4]),
        (f64::INFINITY, [i64::from(i32::MAX); 4]),
    ];
    for (x, expected) in cases {
        let modes = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];
        let found = modes.map(|mode| convert(Type::S32, Type::F64, to_integer(mode), bits(x)) as i64);
        assert_eq!(found, expected, "{x}");
    }
    for a in samples(Type::F32, 20_000) {
        let x = f32::from_bits(a as u32);
        if !x.is_nan() {
            let zero = to_integer(Rounding::Zero);
            assert_eq!(convert(Type::S32, Type::F32, zero, a) as i64, i64::from(x as i32), "{x:e}");
            assert_eq!(convert(Type::U64, Type::F32, zero, a), x as u64, "{x:e}");
            assert_eq!(convert(Type::S8, Type::F32, zero, a) as i64, i64::from(x as i8), "{x:e}");
            let floor = convert(Type::F32, Type::F32, to_integer(Rounding::Down), a);
            assert_eq!(floor, x.floor().to_bits().into(), "{x:e}");
            let round = convert(Type::F32, Type::F32, to_integer(Rounding::Nearest), a);
            assert_eq!(round, x.round_ties_even().to_bits().into(), "{x:e}");
        }
    }
}

/// All halves, against the host's `f64`.
#[test]
fn halves_round_to_integers() {
    for bits in 0..=u16::MAX {
        for (ty, x) in [(Type::F16, f16::from_bits(bits).to_f64()), (Type::BF16, bf16::from_bits(bits).to_f64())] {
            let rounded: [(Rounding, f64); 4] = [
                (Rounding::Nearest, x.round_ties_even()),
                (Rounding::Zero, x.trunc()),
                (Rounding::Down, x.floor()),
                (Rounding::Up, x.ceil()),
            ];
            for (rounding, expected) in rounded.into_iter().filter(|_| !x.is_nan()) {
                let found = |to| convert(to, ty, to_integer(rounding), bits.into());
                assert_eq!(found(Type::S32) as i64, i64::from(expected as i32), "{x}");
                assert_eq!(found(Type::U16), u64::from(expected as u16), "{x}");
                assert_eq!(found(Type::S64) as i64, expected as i64, "{x}");
            }
        }
    }
}

#[test]
fn nan_becomes_zero_or_the_upper_bit() {
    let single = f32::NAN.to_bits().into();
    let zero = to_integer(Rounding::Zero);
    assert_eq!(convert(Type::S32, Type::F32, zero, single), 0);
    assert_eq!(convert(Type::U16, Type::F16, zero, 0x7e00), 0);
    assert_eq!(convert(Type::S64, Type::F32, zero, single), 1 << 63);
    assert_eq!(convert(Type::U32, Type::F64, zero, f64::NAN.to_bits()), 1 << 31);
    assert_eq!(convert(Type::S32, Type::F64, zero, f64::NAN.to_bits()), i64::from(i32::MIN) as u64);
}

#[test]
fn integers_become_floats() {
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..20_000 {
        let a = random.u64(..) >> random.u32(..64);
        let nearest = rounded(Rounding::Nearest);
        assert_eq!(convert(Type::F32, Type::U64, nearest, a), (a as f32).to_bits().into());
        assert_eq!(convert(Type::F32, Type::S32, nearest, a), (a as i32 as f32).to_bits().into());
        assert_eq!(convert(Type::F64, Type::S64, nearest, a), (a as i64 as f64).to_bits());
        assert_eq!(convert(Type::F64, Type::U32, nearest, a), f64::from(a as u32).to_bits());
    }
    assert_eq!(convert(Type::F16, Type::S32, rounded(Rounding::Nearest), 70_000), 0x7c00);
    assert_eq!(convert(Type::F16, Type::S32, rounded(Rounding::Zero), 70_000), 0x7bff);
}

#[test]
fn integers_truncate_or_saturate() {
    let plain = Modifiers::default();
    let sat = Modifiers { sat: true, ..plain };
    assert_eq!(convert(Type::S32, Type::S8, plain, 0xff), u64::MAX);
    assert_eq!(convert(Type::U32, Type::U8, plain, 0xfff), 0xff);
    assert_eq!(convert(Type::S8, Type::S32, plain, 0x180), (-128i64) as u64);
    assert_eq!(convert(Type::S8, Type::S32, sat, 0x180), 127);
    assert_eq!(convert(Type::U8, Type::S32, sat, 0xffff_fff0), 0);
    assert_eq!(convert(Type::U8, Type::S32, sat, 300), 255);
    assert_eq!(convert(Type::S32, Type::U64, sat, 1 << 40), 0x7fff_ffff);
}

#[test]
fn flush_and_saturation_of_conversions() {
    let ftz = Modifiers { ftz: true, ..Modifiers::default() };
    assert_eq!(convert(Type::F64, Type::F32, ftz, 0x8000_0001), 1 << 63);
    let nearest = Modifiers { ftz: true, ..rounded(Rounding::Nearest) };
    assert_eq!(convert(Type::F32, Type::F64, nearest, f64::to_bits(1e-40)), 0);
    // .ftz concerns f32 only: a subnormal f16 stays.
    assert_eq!(convert(Type::F32, Type::F16, ftz, 1), f32::to_bits(2f32.powi(-24)).into());
    let sat = Modifiers { sat: true, ..Modifiers::default() };
    assert_eq!(convert(Type::F32, Type::F32, sat, f32::to_bits(7.0).into()), f32::to_bits(1.0).into());
}
