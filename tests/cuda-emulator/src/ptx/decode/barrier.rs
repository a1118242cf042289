//! Barriers and fences.
use super::{
    super::op::{Barrier, BarrierReduction, Op},
    Decoder,
    memory::SCOPES,
};
use crate::{arith::Type, shadow::Scope};

/// `bar`: as `barrier.aligned`, and `bar.warp.sync`.
pub(super) fn bar(d: &mut Decoder<'_>) -> Result<Op, String> {
    if d.accept("warp") {
        d.expect("sync")?;
        d.count(1..=1)?;
        return Ok(Op::WarpBarrier { mask: d.src(0, Type::B32)? });
    }
    d.accept("cta");
    decode(d, true)
}

pub(super) fn barrier(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.accept("cta");
    decode(d, false)
}

fn decode(d: &mut Decoder<'_>, is_bar: bool) -> Result<Op, String> {
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Sync,
        Arrive,
        Reduce,
    }
    let kind = d.required(&[("sync", Kind::Sync), ("arrive", Kind::Arrive), ("red", Kind::Reduce)])?;
    let is_aligned = if is_bar { true } else { d.peek() == "aligned" };
    let mut operation = None;
    if kind == Kind::Reduce {
        operation = Some(d.required(&[("popc", 0), ("and", 1), ("or", 2)])?);
    }
    if !is_bar {
        d.accept("aligned");
    }
    let is_aligned = is_aligned || !is_bar && d.parts.contains(&"aligned");
    let first = usize::from(operation.is_some());
    let operands = d.count(first + 1..=2 * first + 2)?;
    let mut reduction = None;
    if let Some(operation) = operation {
        d.expect(if operation == 0 { "u32" } else { "pred" })?;
        let make = [BarrierReduction::Popc, BarrierReduction::And, BarrierReduction::Or][operation];
        let dst = d.dst(0, if operation == 0 { 32 } else { 1 })?;
        reduction = Some((make(dst), d.predicate(operands - 1)?));
    }
    let has_threads = operands - 2 * first == 2;
    let threads = if has_threads { Some(d.src(first + 1, Type::U32)?) } else { None };
    if kind == Kind::Arrive && threads.is_none() {
        return Err(format!("`{}` without a number of threads", d.statement.name));
    }
    let id = d.src(first, Type::U32)?;
    Ok(Op::Barrier(Barrier { id, threads, is_aligned, is_arrive: kind == Kind::Arrive, reduction }))
}

pub(super) fn membar(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(0..=0)?;
    Ok(Op::Fence { scope: d.required(&[("cta", Scope::Block), ("gl", Scope::Device), ("sys", Scope::Device)])? })
}

pub(super) fn fence(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(0..=0)?;
    d.choose(&[("sc", ()), ("acq_rel", ()), ("acquire", ()), ("release", ())]);
    Ok(Op::Fence { scope: d.required(SCOPES)? })
}
