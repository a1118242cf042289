//! Arithmetic and logic on a lane's own registers.
use super::{
    super::op::{Carry, CarryKind, Function, Logic, Op, Source},
    Decoder,
};
use crate::arith::{Binary, Modifiers, PrmtMode, Ternary, Type, Unary, check_binary, check_ternary, check_unary};

const NONE: Source = Source::Immediate(0);

fn compute(function: Function, dst: u32, args: &[Source]) -> Op {
    let mut all = [NONE; 4];
    all[..args.len()].copy_from_slice(args);
    Op::Compute { function, dst, args: all }
}

/// The type of `bits` bits without an interpretation.
fn untyped(bits: u32) -> Type {
    match bits {
        16 => Type::B16,
        32 => Type::B32,
        _ => Type::B64,
    }
}

pub(super) fn unary(d: &mut Decoder<'_>) -> Result<Op, String> {
    let op = Unary::parse(d.parts[0]).ok_or_else(|| d.unknown())?;
    unary_of(d, op)
}

pub(super) fn bfind(d: &mut Decoder<'_>) -> Result<Op, String> {
    let op = if d.accept("shiftamt") { Unary::BfindShiftamt } else { Unary::Bfind };
    unary_of(d, op)
}

fn unary_of(d: &mut Decoder<'_>, op: Unary) -> Result<Op, String> {
    d.count(2..=2)?;
    let modifiers = d.modifiers();
    let ty = d.ty()?;
    d.named(check_unary(op, ty, modifiers))?;
    let bits = match op {
        Unary::Popc | Unary::Clz | Unary::Bfind | Unary::BfindShiftamt => 32,
        _ => ty.bits(),
    };
    Ok(compute(Function::Unary(op, ty, modifiers), d.dst(0, bits)?, &[d.src(1, ty)?]))
}

pub(super) fn not(d: &mut Decoder<'_>) -> Result<Op, String> {
    if !d.accept("pred") {
        return unary_of(d, Unary::Not);
    }
    d.count(2..=2)?;
    let (logic, a, b) = (Logic::Xor, d.predicate(1)?, super::super::op::PredicateSource::Constant(true));
    Ok(Op::PredicateLogic { logic, dst: d.dst_predicate(0)?, a, b })
}

/// `and`, `or`, `xor` of bits or predicates.
pub(super) fn logic(d: &mut Decoder<'_>) -> Result<Op, String> {
    if !d.accept("pred") {
        return binary(d);
    }
    d.count(3..=3)?;
    let logic = match d.parts[0] {
        "and" => Logic::And,
        "or" => Logic::Or,
        _ => Logic::Xor,
    };
    Ok(Op::PredicateLogic { logic, dst: d.dst_predicate(0)?, a: d.predicate(1)?, b: d.predicate(2)? })
}

/// The instruction's root with `.lo`, `.hi` or `.wide`.
fn part_name(d: &mut Decoder<'_>) -> String {
    match d.choose(&[("lo", ".lo"), ("hi", ".hi"), ("wide", ".wide")]) {
        Some(part) => format!("{}{part}", d.parts[0]),
        None => d.parts[0].to_string(),
    }
}

pub(super) fn binary(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(3..=3)?;
    if matches!(d.parts[0], "add" | "sub") && d.peek() == "cc" {
        return carry(d);
    }
    let name = part_name(d);
    let op = Binary::parse(&name).ok_or_else(|| d.unknown())?;
    let modifiers = d.modifiers();
    let ty = d.ty()?;
    d.named(check_binary(op, ty, modifiers))?;
    let bits = if op == Binary::MulWide { 2 * ty.bits() } else { ty.bits() };
    let b = if matches!(op, Binary::Shl | Binary::Shr) { Type::U32 } else { ty };
    Ok(compute(Function::Binary(op, ty, modifiers), d.dst(0, bits)?, &[d.src(1, ty)?, d.src(2, b)?]))
}

pub(super) fn ternary(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(4..=4)?;
    let name = part_name(d);
    if d.peek() == "cc" {
        return carry_of(d, &name);
    }
    let op = Ternary::parse(&name).ok_or_else(|| d.unknown())?;
    let modifiers = d.modifiers();
    let ty = d.ty()?;
    d.named(check_ternary(op, ty, modifiers))?;
    let wide = untyped(2 * ty.bits());
    let (dst, b, c) = match op {
        Ternary::MadWide => (wide, ty, wide),
        Ternary::Bfe => (ty, Type::U32, Type::U32),
        _ => (ty, ty, ty),
    };
    let args = [d.src(1, ty)?, d.src(2, b)?, d.src(3, c)?];
    Ok(compute(Function::Ternary(op, ty, modifiers), d.dst(0, dst.bits())?, &args))
}

/// `add.cc`, `addc`, `sub.cc`, `subc`, `madc`.
pub(super) fn carry(d: &mut Decoder<'_>) -> Result<Op, String> {
    let name = part_name(d);
    carry_of(d, &name)
}

fn carry_of(d: &mut Decoder<'_>, name: &str) -> Result<Op, String> {
    let (kind, reads) = match name {
        "add" => (CarryKind::Add, false),
        "addc" => (CarryKind::Add, true),
        "sub" => (CarryKind::Sub, false),
        "subc" => (CarryKind::Sub, true),
        "mad.lo" => (CarryKind::Mad(Binary::MulLo), false),
        "mad.hi" => (CarryKind::Mad(Binary::MulHi), false),
        "madc.lo" => (CarryKind::Mad(Binary::MulLo), true),
        "madc.hi" => (CarryKind::Mad(Binary::MulHi), true),
        _ => return Err(d.unknown()),
    };
    let writes = d.accept("cc");
    let ty = d.ty()?;
    if !ty.is_integer() || ty.bits() < 32 {
        return Err(format!("unsupported type in `{}`", d.statement.name));
    }
    let last = if matches!(kind, CarryKind::Mad(_)) { 3 } else { 2 };
    d.count(last + 1..=last + 1)?;
    let args = [d.src(1, ty)?, d.src(2, ty)?, if last == 3 { d.src(3, ty)? } else { NONE }];
    Ok(Op::Carry { carry: Carry { kind, ty, reads, writes }, dst: d.dst(0, ty.bits())?, args })
}

pub(super) fn lop3(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(5..=5)?;
    d.expect("b32")?;
    let table = d.constant(4)? as u64;
    let args = [d.src(1, Type::B32)?, d.src(2, Type::B32)?, d.src(3, Type::B32)?];
    Ok(compute(Function::Lop3(table), d.dst(0, 32)?, &args))
}

pub(super) fn prmt(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(4..=4)?;
    d.expect("b32")?;
    let mode = match PrmtMode::parse(d.peek()) {
        Some(mode) => {
            d.at += 1;
            mode
        }
        None => PrmtMode::Index,
    };
    let args = [d.src(1, Type::B32)?, d.src(2, Type::B32)?, d.src(3, Type::B32)?];
    Ok(compute(Function::Prmt(mode), d.dst(0, 32)?, &args))
}

pub(super) fn shf(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(4..=4)?;
    let left = d.required(&[("l", true), ("r", false)])?;
    let wrap = d.required(&[("wrap", true), ("clamp", false)])?;
    d.expect("b32")?;
    let args = [d.src(1, Type::B32)?, d.src(2, Type::B32)?, d.src(3, Type::U32)?];
    Ok(compute(Function::Shf { left, wrap }, d.dst(0, 32)?, &args))
}

pub(super) fn bfi(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(5..=5)?;
    let ty = d.required(&[("b32", Type::B32), ("b64", Type::B64)])?;
    let args = [d.src(1, ty)?, d.src(2, ty)?, d.src(3, Type::U32)?, d.src(4, Type::U32)?];
    Ok(compute(Function::Bfi(ty), d.dst(0, ty.bits())?, &args))
}

/// The types of `dp4a` and `dp2a`: true for a signed one; the accumulator's type follows from them.
fn dot_operands(d: &mut Decoder<'_>) -> Result<([bool; 2], [Source; 3]), String> {
    d.count(4..=4)?;
    let table = [("s32", true), ("u32", false)];
    let signed = [d.required(&table)?, d.required(&table)?];
    Ok((signed, [d.src(1, Type::B32)?, d.src(2, Type::B32)?, d.src(3, Type::B32)?]))
}

pub(super) fn dp4a(d: &mut Decoder<'_>) -> Result<Op, String> {
    let (signed, args) = dot_operands(d)?;
    Ok(compute(Function::Dp4a(signed), d.dst(0, 32)?, &args))
}

pub(super) fn dp2a(d: &mut Decoder<'_>) -> Result<Op, String> {
    let high = d.required(&[("hi", true), ("lo", false)])?;
    let (signed, args) = dot_operands(d)?;
    Ok(compute(Function::Dp2a { high, signed }, d.dst(0, 32)?, &args))
}

/// Modifiers of none: what movement and atomics need.
pub(super) fn plain() -> Modifiers {
    Modifiers::default()
}
