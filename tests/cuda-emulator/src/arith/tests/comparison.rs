use super::samples;
use crate::arith::*;

#[test]
fn floats_compare_as_on_the_host() {
    use Comparison::*;
    for &a in &samples(Type::F32, 60) {
        for &b in &samples(Type::F32, 60) {
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            let nan = x.is_nan() || y.is_nan();
            let cases = [
                (Eq, x == y),
                (Ne, x != y && !nan),
                (Lt, x < y),
                (Le, x <= y),
                (Gt, x > y),
                (Ge, x >= y),
                (Equ, x == y || nan),
                (Neu, x != y),
                (Ltu, x < y || nan),
                (Leu, x <= y || nan),
                (Gtu, x > y || nan),
                (Geu, x >= y || nan),
                (Num, !nan),
                (Nan, nan),
            ];
            for (comparison, expected) in cases {
                assert_eq!(compare(comparison, Type::F32, false, a, b), expected, "{comparison:?} {x} {y}");
                let (x, y) = (f64::from(x).to_bits(), f64::from(y).to_bits());
                assert_eq!(compare(comparison, Type::F64, false, x, y), expected);
            }
        }
    }
}

#[test]
fn integers_compare_by_sign() {
    let (minus_one, one) = (0xffff_ffff, 1);
    assert!(compare(Comparison::Lt, Type::S32, false, minus_one, one));
    assert!(!compare(Comparison::Lt, Type::U32, false, minus_one, one));
    assert!(compare(Comparison::Hi, Type::U32, false, minus_one, one));
    assert!(compare(Comparison::Ls, Type::U16, false, 0xabcd_0001, 1), "bits above the width are ignored");
    assert!(compare(Comparison::Ge, Type::S16, false, 0, 0xffff));
    assert!(compare(Comparison::Ne, Type::B64, false, 1 << 40, 0));
}

#[test]
fn subnormals_compare_as_zero_when_flushed() {
    assert!(compare(Comparison::Gt, Type::F32, false, 1, 0));
    assert!(compare(Comparison::Eq, Type::F32, true, 1, 0x8000_0001));
}

#[test]
fn properties_of_floats() {
    use TestProperty::*;
    let classify = |x: f32| {
        [Finite, Infinite, Number, NotANumber, Normal, Subnormal].map(|p| testp(p, Type::F32, x.to_bits().into()))
    };
    assert_eq!(classify(1.0), [true, false, true, false, true, false]);
    assert_eq!(classify(0.0), [true, false, true, false, true, false]);
    assert_eq!(classify(-1e-40), [true, false, true, false, false, true]);
    assert_eq!(classify(f32::NEG_INFINITY), [false, true, true, false, false, false]);
    assert_eq!(classify(f32::NAN), [false, false, false, true, false, false]);
}

#[test]
fn comparisons_are_checked() {
    assert!(check_comparison(Comparison::Eq, Type::B32, false).is_ok());
    assert!(check_comparison(Comparison::Lt, Type::B32, false).is_err());
    assert!(check_comparison(Comparison::Lo, Type::S32, false).is_err());
    assert!(check_comparison(Comparison::Nan, Type::F16x2, true).is_ok());
    assert!(check_comparison(Comparison::Nan, Type::U32, false).is_err());
    assert_eq!(check_comparison(Comparison::Lt, Type::F64, true), Err(".ftz of a comparison of type .f64".to_owned()));
}
