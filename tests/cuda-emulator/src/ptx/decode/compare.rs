//! Comparisons and selections.
use super::{
    super::op::{Compare, Function, Logic, Op, Source},
    Decoder,
};
use crate::arith::{Comparison, TestProperty, Type, check_comparison};

fn comparison(d: &mut Decoder<'_>) -> Result<(Comparison, Option<Logic>, bool), String> {
    let comparison = Comparison::parse(d.peek()).ok_or_else(|| d.unknown())?;
    d.at += 1;
    let logic = d.choose(&[("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)]);
    Ok((comparison, logic, d.accept("ftz")))
}

fn compare(d: &Decoder<'_>, kind: (Comparison, Option<Logic>, bool), ty: Type) -> Result<Compare, String> {
    let (comparison, logic, ftz) = kind;
    d.named(check_comparison(comparison, ty, ftz))?;
    let combine = match logic {
        Some(logic) => Some((logic, d.predicate(3)?)),
        None => None,
    };
    d.count(if logic.is_some() { 4..=4 } else { 3..=3 })?;
    Ok(Compare { comparison, ty, ftz, a: d.src(1, ty)?, b: d.src(2, ty)?, combine })
}

pub(super) fn setp(d: &mut Decoder<'_>) -> Result<Op, String> {
    let kind = comparison(d)?;
    let ty = d.ty()?;
    let (dst, complement) = d.dst_and_predicate(0, 1)?;
    Ok(Op::SetPredicate { compare: compare(d, kind, ty)?, dst, complement })
}

pub(super) fn set(d: &mut Decoder<'_>) -> Result<Op, String> {
    let kind = comparison(d)?;
    let (to, from) = (d.ty()?, d.ty()?);
    let truth = match to {
        Type::U32 | Type::S32 => 0xffff_ffff,
        Type::U16 | Type::S16 => 0xffff,
        Type::F32 => u64::from(1f32.to_bits()),
        Type::F16 => 0x3c00,
        Type::F16x2 => 0x3c00_3c00,
        Type::BF16 => 0x3f80,
        Type::BF16x2 => 0x3f80_3f80,
        _ => return Err(format!("unsupported type in `{}`", d.statement.name)),
    };
    if from.is_packed() != to.is_packed() && !(from.is_packed() && to.bits() == 32 && to.is_integer()) {
        return Err(format!("unsupported types in `{}`", d.statement.name));
    }
    Ok(Op::Set { compare: compare(d, kind, from)?, dst: d.dst(0, to.bits())?, truth })
}

pub(super) fn selp(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(4..=4)?;
    let ty = d.ty()?;
    let (a, b) = (d.src(1, ty)?, d.src(2, ty)?);
    Ok(Op::Select { dst: d.dst(0, ty.bits())?, a, b, predicate: d.predicate(3)? })
}

pub(super) fn slct(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(4..=4)?;
    let ftz = d.accept("ftz");
    let ty = d.ty()?;
    let sign = d.required(&[("s32", Type::S32), ("f32", Type::F32)])?;
    if ftz && sign != Type::F32 {
        return Err(format!("`.ftz` of `{}`", d.statement.name));
    }
    let args = [d.src(1, ty)?, d.src(2, ty)?, d.src(3, sign)?, Source::Immediate(0)];
    Ok(Op::Compute { function: Function::SelectBySign(sign), dst: d.dst(0, ty.bits())?, args })
}

pub(super) fn testp(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(2..=2)?;
    let property = TestProperty::parse(d.peek()).ok_or_else(|| d.unknown())?;
    d.at += 1;
    let ty = d.required(&[("f32", Type::F32), ("f64", Type::F64)])?;
    Ok(Op::TestProperty { property, ty, dst: d.dst_predicate(0)?, a: d.src(1, ty)? })
}
