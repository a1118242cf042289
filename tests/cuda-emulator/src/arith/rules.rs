//! Which types and modifiers PTX has for which instruction, as tables.
use super::Rounding::{Down, Nearest, NearestAway, Up, Zero};
use super::Type::*;
use super::{Binary, Modifiers, Rounding, Ternary, Type, Unary};

/// One line of an instruction's syntax in the manual.
struct Rule {
    types: &'static [Type],
    roundings: &'static [Rounding],
    /// True if a rounding must be written.
    rounded: bool,
    /// Modifiers that must be written, as bits of [`flags`].
    required: u32,
    /// Modifiers that may be written.
    allowed: u32,
}

const FTZ: u32 = 1;
const SAT: u32 = 1 << 1;
const SATFINITE: u32 = 1 << 2;
const APPROX: u32 = 1 << 3;
const FULL: u32 = 1 << 4;
const RELU: u32 = 1 << 5;
const NAN: u32 = 1 << 6;
const XORSIGN_ABS: u32 = 1 << 7;
const FLAG_NAMES: [&str; 8] = ["ftz", "sat", "satfinite", "approx", "full", "relu", "NaN", "xorsign.abs"];

const IEEE: &[Rounding] = &[Nearest, Zero, Down, Up];
const HALVES: &[Type] = &[F16, F16x2];
const BRAINS: &[Type] = &[BF16, BF16x2];
const INTEGERS: &[Type] = &[U16, U32, U64, S16, S32, S64];
const NARROW: &[Type] = &[U16, U32, S16, S32];
const WORDS: &[Type] = &[B32, B64];
const LOGIC: &[Type] = &[Pred, B16, B32, B64];

/// A line without rounding.
const fn plain(types: &'static [Type], allowed: u32) -> Rule {
    Rule { types, roundings: &[], rounded: false, required: 0, allowed }
}

/// A line with modifiers that must be there, without rounding.
const fn with(types: &'static [Type], required: u32, allowed: u32) -> Rule {
    Rule { types, roundings: &[], rounded: false, required, allowed }
}

/// A line whose rounding may be left out.
const fn may_round(types: &'static [Type], roundings: &'static [Rounding], allowed: u32) -> Rule {
    Rule { types, roundings, rounded: false, required: 0, allowed }
}

/// A line whose rounding must be there.
const fn rounds(types: &'static [Type], roundings: &'static [Rounding], allowed: u32) -> Rule {
    Rule { types, roundings, rounded: true, required: 0, allowed }
}

const MULTIPLY: &[Rule] = &[
    may_round(&[F32], IEEE, FTZ | SAT),
    may_round(&[F64], IEEE, 0),
    may_round(HALVES, &[Nearest], FTZ | SAT),
    may_round(BRAINS, &[Nearest], 0),
];
const SUBTRACT: &[Rule] = &[
    plain(INTEGERS, 0),
    plain(&[S32], SAT),
    may_round(&[F32], IEEE, FTZ | SAT),
    may_round(&[F64], IEEE, 0),
    may_round(HALVES, &[Nearest], FTZ | SAT),
    may_round(BRAINS, &[Nearest], 0),
];
const ADD: &[Rule] = &[
    plain(INTEGERS, 0),
    plain(&[S32], SAT),
    plain(&[U16x2, S16x2], 0),
    may_round(&[F32], IEEE, FTZ | SAT),
    may_round(&[F64], IEEE, 0),
    may_round(HALVES, &[Nearest], FTZ | SAT),
    may_round(BRAINS, &[Nearest], 0),
];
const EXTREMUM: &[Rule] = &[
    plain(INTEGERS, 0),
    plain(&[U16x2], 0),
    plain(&[S16x2, S32], RELU),
    plain(&[F32, F16, F16x2], FTZ | NAN | XORSIGN_ABS),
    plain(BRAINS, NAN | XORSIGN_ABS),
    plain(&[F64], 0),
];
const SIGN: &[Rule] = &[plain(&[S16, S32, S64, F64, BF16, BF16x2], 0), plain(&[F32, F16, F16x2], FTZ)];
const ROOT: &[Rule] = &[with(&[F32], APPROX, FTZ), rounds(&[F32], IEEE, FTZ), rounds(&[F64], IEEE, 0)];
const RECIPROCAL: &[Rule] =
    &[with(&[F32], APPROX, FTZ), rounds(&[F32], IEEE, FTZ), rounds(&[F64], IEEE, 0), with(&[F64], APPROX | FTZ, 0)];
const INVERSE_ROOT: &[Rule] = &[with(&[F32, F64], APPROX, FTZ)];
const APPROXIMATE: &[Rule] = &[with(&[F32], APPROX, FTZ)];
// `ex2.approx.ftz.f16` is what LLVM prints for fast-math; the manual's table lists it without .ftz only.
const EXPONENTIAL: &[Rule] = &[with(&[F32], APPROX, FTZ), with(HALVES, APPROX, FTZ), with(BRAINS, APPROX | FTZ, 0)];
const TANH: &[Rule] = &[with(&[F32, F16, F16x2, BF16, BF16x2], APPROX, 0)];
const DIVIDE: &[Rule] = &[
    plain(INTEGERS, 0),
    with(&[F32], APPROX, FTZ),
    with(&[F32], FULL, FTZ),
    rounds(&[F32], IEEE, FTZ),
    rounds(&[F64], IEEE, 0),
];
const FUSED: &[Rule] = &[
    rounds(&[F32], IEEE, FTZ | SAT),
    rounds(&[F64], IEEE, 0),
    rounds(HALVES, &[Nearest], FTZ | SAT),
    rounds(HALVES, &[Nearest], FTZ | RELU),
    rounds(BRAINS, &[Nearest], RELU),
];
const MULTIPLY_ADD: &[Rule] = &[rounds(&[F32], IEEE, FTZ | SAT), rounds(&[F64], IEEE, 0)];

fn unary_rules(op: Unary) -> &'static [Rule] {
    match op {
        Unary::Abs | Unary::Neg => SIGN,
        Unary::Not => const { &[plain(LOGIC, 0)] },
        Unary::Cnot => const { &[plain(&[B16, B32, B64], 0)] },
        Unary::Popc | Unary::Clz | Unary::Brev => const { &[plain(WORDS, 0)] },
        Unary::Bfind | Unary::BfindShiftamt => const { &[plain(&[U32, U64, S32, S64], 0)] },
        Unary::Rcp => RECIPROCAL,
        Unary::Sqrt => ROOT,
        Unary::Rsqrt => INVERSE_ROOT,
        Unary::Ex2 => EXPONENTIAL,
        Unary::Lg2 | Unary::Sin | Unary::Cos => APPROXIMATE,
        Unary::Tanh => TANH,
    }
}

fn binary_rules(op: Binary) -> &'static [Rule] {
    match op {
        Binary::Add => ADD,
        Binary::Sub => SUBTRACT,
        Binary::Mul => MULTIPLY,
        Binary::MulLo | Binary::MulHi | Binary::Rem => const { &[plain(INTEGERS, 0)] },
        Binary::MulWide => const { &[plain(NARROW, 0)] },
        Binary::Mul24Lo | Binary::Mul24Hi => const { &[plain(&[U32, S32], 0)] },
        Binary::Div => DIVIDE,
        Binary::Min | Binary::Max => EXTREMUM,
        Binary::And | Binary::Or | Binary::Xor => const { &[plain(LOGIC, 0)] },
        Binary::Shl => const { &[plain(&[B16, B32, B64], 0)] },
        Binary::Shr => const { &[plain(&[B16, B32, B64], 0), plain(INTEGERS, 0)] },
        Binary::Copysign => const { &[plain(&[F32, F64], 0)] },
    }
}

fn ternary_rules(op: Ternary) -> &'static [Rule] {
    match op {
        Ternary::Fma => FUSED,
        Ternary::Mad => MULTIPLY_ADD,
        Ternary::MadLo | Ternary::Sad => const { &[plain(INTEGERS, 0)] },
        Ternary::MadHi => const { &[plain(INTEGERS, 0), plain(&[S32], SAT)] },
        Ternary::MadWide => const { &[plain(NARROW, 0)] },
        Ternary::Mad24Lo => const { &[plain(&[U32, S32], 0)] },
        Ternary::Mad24Hi => const { &[plain(&[U32, S32], 0), plain(&[S32], SAT)] },
        Ternary::Bfe => const { &[plain(&[U32, U64, S32, S64], 0)] },
    }
}

/// Checks that PTX has the instruction with the type and modifiers.
///
/// # Errors
/// Names the instruction.
pub fn check_unary(op: Unary, ty: Type, modifiers: Modifiers) -> Result<(), String> {
    check(op.name(), unary_rules(op), ty, modifiers)
}

/// Checks that PTX has the instruction with the type and modifiers.
///
/// # Errors
/// Names the instruction.
pub fn check_binary(op: Binary, ty: Type, modifiers: Modifiers) -> Result<(), String> {
    check(op.name(), binary_rules(op), ty, modifiers)
}

/// Checks that PTX has the instruction with the type and modifiers.
///
/// # Errors
/// Names the instruction.
pub fn check_ternary(op: Ternary, ty: Type, modifiers: Modifiers) -> Result<(), String> {
    check(op.name(), ternary_rules(op), ty, modifiers)
}

fn check(name: &str, rules: &[Rule], ty: Type, modifiers: Modifiers) -> Result<(), String> {
    let written = flags(modifiers);
    let fits = |rule: &Rule| {
        rule.types.contains(&ty)
            && !modifiers.to_integer
            && modifiers.rounding.map_or(!rule.rounded, |rounding| rule.roundings.contains(&rounding))
            && written & rule.required == rule.required
            && written & !(rule.required | rule.allowed) == 0
    };
    if rules.iter().any(fits) { Ok(()) } else { Err(format!("{name}{}.{}", suffixes(modifiers), ty.name())) }
}

/// Checks that PTX has `cvt` between the types with the modifiers.
///
/// # Errors
/// Names the instruction.
pub fn check_convert(to: Type, from: Type, modifiers: Modifiers) -> Result<(), String> {
    const SCALARS: &[Type] = &[U8, U16, U32, U64, S8, S16, S32, S64, BF16, F16, F32, F64];
    let packed = matches!(from, F16x2 | BF16x2) && matches!(to, E4M3x2 | E5M2x2);
    let unpacked = matches!(from, E4M3x2 | E5M2x2) && to == F16x2;
    let allowed = if to == TF32 && from == F32 {
        fits_tf32(modifiers)
    } else if packed || unpacked {
        let satfinite = if packed { SATFINITE } else { 0 };
        modifiers.rounding == Some(Nearest) && flags(modifiers) & !RELU == satfinite
    } else {
        SCALARS.contains(&to) && SCALARS.contains(&from) && fits_scalar(to, from, modifiers)
    };
    converts(allowed, to, from, modifiers)
}

/// Checks that PTX has `cvt` of two operands to a packed type with the modifiers.
///
/// # Errors
/// Names the instruction.
pub fn check_convert_pair(to: Type, from: Type, modifiers: Modifiers) -> Result<(), String> {
    let written = flags(modifiers);
    let allowed = match to {
        F16x2 | BF16x2 => matches!(modifiers.rounding, Some(Nearest | Zero)) && written & !(RELU | SATFINITE) == 0,
        E4M3x2 | E5M2x2 => modifiers.rounding == Some(Nearest) && written & !RELU == SATFINITE,
        _ => false,
    };
    converts(allowed && from == F32 && !modifiers.to_integer, to, from, modifiers)
}

fn converts(allowed: bool, to: Type, from: Type, modifiers: Modifiers) -> Result<(), String> {
    if allowed { Ok(()) } else { Err(format!("cvt{}.{}.{}", suffixes(modifiers), to.name(), from.name())) }
}

fn fits_tf32(modifiers: Modifiers) -> bool {
    let allowed = match modifiers.rounding {
        Some(NearestAway) => SATFINITE,
        Some(Nearest | Zero) => SATFINITE | RELU,
        _ => return false,
    };
    !modifiers.to_integer && flags(modifiers) & !allowed == 0
}

/// `cvt` between integers and floats that are not packed.
fn fits_scalar(to: Type, from: Type, modifiers: Modifiers) -> bool {
    let narrows = to.is_float() && from.is_float() && loses_precision(to, from);
    let rounding_fits = match (to.is_float(), from.is_float(), modifiers.rounding) {
        (false, false, rounding) => rounding.is_none(),
        (false, true, rounding) => rounding.is_some() && modifiers.to_integer,
        (true, false, rounding) => rounding.is_some() && !modifiers.to_integer,
        (true, true, None) => !narrows,
        (true, true, Some(_)) => {
            if modifiers.to_integer {
                to == from
            } else {
                narrows
            }
        }
    };
    let ftz = if to == F32 || from == F32 { FTZ } else { 0 };
    let sat = if to == BF16 { 0 } else { SAT };
    let from_single = from == F32 && matches!(to, F16 | BF16) && !modifiers.to_integer;
    let extra = if from_single { RELU | SATFINITE } else { 0 };
    rounding_fits && modifiers.rounding != Some(NearestAway) && flags(modifiers) & !(ftz | sat | extra) == 0
}

fn loses_precision(to: Type, from: Type) -> bool {
    to.bits() < from.bits() || to.bits() == from.bits() && to != from
}

fn flags(modifiers: Modifiers) -> u32 {
    let Modifiers { ftz, sat, satfinite, approx, full, relu, nan, xorsign_abs, .. } = modifiers;
    let flags = [ftz, sat, satfinite, approx, full, relu, nan, xorsign_abs];
    flags.iter().enumerate().map(|(bit, set)| u32::from(*set) << bit).sum()
}

fn suffixes(modifiers: Modifiers) -> String {
    let rounding = modifiers.rounding.map(|rounding| match rounding {
        Nearest => ".rn",
        Zero => ".rz",
        Down => ".rm",
        Up => ".rp",
        NearestAway => ".rna",
    });
    let integer = if modifiers.to_integer { "i" } else { "" };
    let written = flags(modifiers);
    let named = FLAG_NAMES.iter().enumerate().filter(|(bit, _)| written >> bit & 1 == 1);
    named.fold(format!("{}{integer}", rounding.unwrap_or_default()), |text, (_, name)| text + "." + name)
}
