use crate::arith::*;

/// Modifiers of a text like `rn.ftz`.
fn modifiers(text: &str) -> Modifiers {
    let mut modifiers = Modifiers::default();
    assert!(text.split('.').filter(|name| !name.is_empty()).all(|name| modifiers.set(name)), "{text}");
    modifiers
}

#[test]
fn suffixes_set_modifiers() {
    let mut found = Modifiers::default();
    assert!(found.set("rzi") && found.set("ftz"));
    assert_eq!((found.rounding, found.to_integer, found.ftz), (Some(Rounding::Zero), true, true));
    assert!(!found.set("rx") && !found.set("f32"));
}

#[test]
fn unary_forms() {
    let check = |op, ty, text| check_unary(op, ty, modifiers(text)).is_ok();
    assert!(check(Unary::Rcp, Type::F32, "approx.ftz") && check(Unary::Rcp, Type::F32, "rn"));
    assert!(!check(Unary::Rcp, Type::F32, ""), "a rounding or .approx is required");
    assert!(!check(Unary::Rcp, Type::F32, "approx.rn"));
    assert!(!check(Unary::Sqrt, Type::F64, "approx"));
    assert!(check(Unary::Ex2, Type::BF16x2, "approx.ftz") && !check(Unary::Ex2, Type::BF16x2, "approx"));
    assert!(check(Unary::Tanh, Type::F32, "approx") && !check(Unary::Tanh, Type::F32, "approx.ftz"));
    assert!(check(Unary::Neg, Type::S32, "") && !check(Unary::Neg, Type::U32, ""));
    assert!(check(Unary::Not, Type::Pred, "") && !check(Unary::Not, Type::U32, ""));
    assert!(!check(Unary::Abs, Type::F64, "ftz"));
}

#[test]
fn binary_and_ternary_forms() {
    let check = |op, ty, text| check_binary(op, ty, modifiers(text)).is_ok();
    assert!(check(Binary::Add, Type::F32, "rm.ftz.sat") && check(Binary::Add, Type::F32, ""));
    assert!(!check(Binary::Add, Type::F16, "rz") && !check(Binary::Add, Type::BF16, "ftz"));
    assert!(check(Binary::Add, Type::S32, "sat") && !check(Binary::Add, Type::U32, "sat"));
    assert!(!check(Binary::Mul, Type::U32, ""), "mul of integers needs .lo, .hi or .wide");
    assert!(!check(Binary::MulWide, Type::S64, ""));
    assert!(check(Binary::Div, Type::F32, "full.ftz") && !check(Binary::Div, Type::F32, "full.approx"));
    assert!(check(Binary::Min, Type::F16x2, "NaN.ftz") && !check(Binary::Min, Type::F64, "NaN"));
    assert!(check(Binary::Shr, Type::S64, "") && !check(Binary::Shl, Type::S64, ""));
    let check = |op, ty, text| check_ternary(op, ty, modifiers(text)).is_ok();
    assert!(check(Ternary::Fma, Type::F32, "rn") && !check(Ternary::Fma, Type::F32, ""));
    assert!(check(Ternary::Fma, Type::F16, "rn.relu") && !check(Ternary::Fma, Type::F16, "rn.relu.sat"));
    assert!(check(Ternary::MadHi, Type::S32, "sat") && !check(Ternary::MadLo, Type::S32, "sat"));
}

#[test]
fn conversions() {
    let check = |to, from, text| check_convert(to, from, modifiers(text)).is_ok();
    assert!(check(Type::F16, Type::F32, "rn") && !check(Type::F16, Type::F32, ""));
    assert!(check(Type::F32, Type::F16, "") && !check(Type::F32, Type::F16, "rn"));
    assert!(check(Type::S32, Type::F32, "rzi.ftz") && !check(Type::S32, Type::F32, "rz"));
    assert!(check(Type::F32, Type::S32, "rn") && !check(Type::F32, Type::S32, "rni"));
    assert!(check(Type::F32, Type::F32, "rmi") && !check(Type::F32, Type::F64, "rmi"));
    assert!(check(Type::S8, Type::S32, "sat") && !check(Type::S8, Type::S32, "rn"));
    assert!(check(Type::TF32, Type::F32, "rna") && !check(Type::TF32, Type::F32, "rp"));
    assert!(check(Type::F16x2, Type::E4M3x2, "rn") && check(Type::E4M3x2, Type::F16x2, "rn.satfinite"));
    assert!(!check(Type::E4M3x2, Type::F16x2, "rn"), ".satfinite is required");
    assert!(check_convert_pair(Type::BF16x2, Type::F32, modifiers("rn.relu")).is_ok());
    assert!(check_convert_pair(Type::BF16x2, Type::F16, modifiers("rn")).is_err());
    let refused = check_convert(Type::F16, Type::F32, modifiers("rna.ftz"));
    assert_eq!(refused, Err("cvt.rna.ftz.f16.f32".to_owned()));
}
