//! Instructions by which lanes of a warp communicate.
use super::{
    super::op::{Op, ShuffleMode, VoteMode},
    Decoder,
};
use crate::arith::{Binary, Type};

pub(super) fn shfl(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(5..=5)?;
    d.expect("sync")?;
    let mode = d.required(&[
        ("up", ShuffleMode::Up),
        ("down", ShuffleMode::Down),
        ("bfly", ShuffleMode::Bfly),
        ("idx", ShuffleMode::Idx),
    ])?;
    d.expect("b32")?;
    let (Some(dst), in_range) = d.dst_and_predicate(0, 32)? else { return d.wrong(0, "a register") };
    let (a, b) = (d.src(1, Type::B32)?, d.src(2, Type::U32)?);
    Ok(Op::Shuffle { mode, dst, in_range, a, b, clamp: d.src(3, Type::U32)?, mask: d.src(4, Type::B32)? })
}

pub(super) fn vote(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(3..=3)?;
    d.expect("sync")?;
    let modes = [("all", VoteMode::All), ("any", VoteMode::Any), ("uni", VoteMode::Uni), ("ballot", VoteMode::Ballot)];
    let mode = d.required(&modes)?;
    d.expect(if mode == VoteMode::Ballot { "b32" } else { "pred" })?;
    let dst = d.dst(0, if mode == VoteMode::Ballot { 32 } else { 1 })?;
    Ok(Op::Vote { mode, dst, predicate: d.predicate(1)?, mask: d.src(2, Type::B32)? })
}

pub(super) fn match_sync(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(3..=3)?;
    let all = d.required(&[("all", true), ("any", false)])?;
    d.expect("sync")?;
    let ty = d.required(&[("b32", Type::B32), ("b64", Type::B64)])?;
    let (dst, predicate) = if all { d.dst_and_predicate(0, 32)? } else { (Some(d.dst(0, 32)?), None) };
    Ok(Op::Match { all, dst, predicate, ty, a: d.src(1, ty)?, mask: d.src(2, Type::B32)? })
}

pub(super) fn redux(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(3..=3)?;
    d.expect("sync")?;
    let op = d.required(&[
        ("add", Binary::Add),
        ("min", Binary::Min),
        ("max", Binary::Max),
        ("and", Binary::And),
        ("or", Binary::Or),
        ("xor", Binary::Xor),
    ])?;
    let is_logic = matches!(op, Binary::And | Binary::Or | Binary::Xor);
    let types: &[_] = if is_logic { &[("b32", Type::B32)] } else { &[("u32", Type::U32), ("s32", Type::S32)] };
    let ty = d.required(types)?;
    Ok(Op::Reduce { op, ty, dst: d.dst(0, 32)?, a: d.src(1, ty)?, mask: d.src(2, Type::B32)? })
}

pub(super) fn elect(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(2..=2)?;
    d.expect("sync")?;
    let (dst, Some(predicate)) = d.dst_and_predicate(0, 32)? else { return d.wrong(0, "a register and a predicate") };
    Ok(Op::Elect { dst, predicate, mask: d.src(1, Type::B32)? })
}

pub(super) fn active_mask(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(1..=1)?;
    d.expect("b32")?;
    Ok(Op::ActiveMask { dst: d.dst(0, 32)? })
}
