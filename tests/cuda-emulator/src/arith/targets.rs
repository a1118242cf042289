//! The least target, times ten, that has an instruction (PTX manual, "Target ISA Notes", checked against ptxas 12.9).
use super::Type::{BF16, BF16x2, E4M3, E4M3x2, E5M2, E5M2x2, F16, F16x2, F32, S16x2, TF32, U16x2};
use super::{Binary, Modifiers, Rounding, Ternary, Type, Unary};

/// Checks that a target has what requires another.
pub(super) fn require(required: u32, target: u32) -> Result<(), String> {
    if target >= required { Ok(()) } else { Err(format!("requires sm_{required}, the target is sm_{target}")) }
}

fn is_brain(ty: Type) -> bool {
    matches!(ty, BF16 | BF16x2)
}

pub(super) fn of_unary(op: Unary, ty: Type) -> u32 {
    match op {
        Unary::Tanh | Unary::Ex2 if is_brain(ty) => 90,
        Unary::Tanh => 75,
        Unary::Ex2 if ty != F32 => 75,
        _ if is_brain(ty) => 80,
        _ => 0,
    }
}

pub(super) fn of_binary(op: Binary, ty: Type, modifiers: Modifiers) -> u32 {
    let halves = is_brain(ty) || matches!(ty, F16 | F16x2);
    match op {
        _ if matches!(ty, U16x2 | S16x2) || modifiers.relu => 90,
        Binary::Min | Binary::Max if modifiers.xorsign_abs => 86,
        Binary::Min | Binary::Max if halves || modifiers.nan => 80,
        _ if is_brain(ty) => 90,
        _ => 0,
    }
}

pub(super) fn of_ternary(op: Ternary, ty: Type, modifiers: Modifiers) -> u32 {
    if op == Ternary::Fma && (is_brain(ty) || modifiers.relu) { 80 } else { 0 }
}

pub(super) fn of_comparison(ty: Type) -> u32 {
    if is_brain(ty) { 90 } else { 0 }
}

/// `cvt` of one operand, or of two to a packed type.
pub(super) fn of_convert(to: Type, from: Type, modifiers: Modifiers) -> u32 {
    let has = |ty| to == ty || from == ty;
    match (to, from) {
        _ if [E4M3x2, E5M2x2, E4M3, E5M2].into_iter().any(has) => 89,
        (TF32, _) if modifiers.rounding != Some(Rounding::NearestAway) => 90,
        (BF16, F32) | (F32, BF16) | (TF32, _) => 80,
        _ if has(BF16) => 90,
        (F16x2 | BF16x2, _) => 80,
        (F16, F32) if modifiers.relu => 80,
        _ => 0,
    }
}
