//! `mbarrier`.
use super::{
    super::op::{Address, MbarrierOp, Op, Source, Space},
    Decoder,
};
use crate::arith::Type;

pub(super) fn mbarrier(d: &mut Decoder<'_>) -> Result<Op, String> {
    match d.peek() {
        "init" => init(d),
        "inval" => invalidate(d),
        "arrive" | "arrive_drop" => arrive(d),
        "test_wait" | "try_wait" => wait(d),
        "pending_count" => pending_count(d),
        _ => Err(format!("unknown instruction `{}`", d.statement.name)),
    }
}

fn init(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.at += 1;
    d.count(2..=2)?;
    let space = d.shared_or_generic();
    d.expect("b64")?;
    Ok(Op::Mbarrier { op: MbarrierOp::Init { count: d.src(1, Type::U32)? }, address: d.address(0, space)? })
}

fn invalidate(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.at += 1;
    d.count(1..=1)?;
    let space = d.shared_or_generic();
    d.expect("b64")?;
    Ok(Op::Mbarrier { op: MbarrierOp::Invalidate, address: d.address(0, space)? })
}

fn arrive(d: &mut Decoder<'_>) -> Result<Op, String> {
    let drop = d.required(&[("arrive", false), ("arrive_drop", true)])?;
    let operands = d.count(2..=3)?;
    d.accept("release");
    d.accept("cta");
    let space = d.shared_or_generic();
    d.expect("b64")?;
    if operands == 3 {
        d.requires(90)?;
    }
    let count = if operands == 3 { d.src(2, Type::U32)? } else { Source::Immediate(1) };
    let op = MbarrierOp::Arrive { count, drop, state: d.dst_or_sink(0, 64)? };
    Ok(Op::Mbarrier { op, address: d.address(1, space)? })
}

/// `test_wait`, and `try_wait`, whose time limit may end at once.
fn wait(d: &mut Decoder<'_>) -> Result<Op, String> {
    let tries = d.required(&[("try_wait", true), ("test_wait", false)])?;
    d.count(3..=if tries { 4 } else { 3 })?;
    let by_parity = d.accept("parity");
    d.accept("acquire");
    d.accept("cta");
    let space = d.shared_or_generic();
    d.expect("b64")?;
    let phase = d.src(2, if by_parity { Type::U32 } else { Type::B64 })?;
    let op = MbarrierOp::Wait { predicate: d.dst_or_sink(0, 1)?, by_parity, phase };
    Ok(Op::Mbarrier { op, address: d.address(1, space)? })
}

fn pending_count(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.at += 1;
    d.count(2..=2)?;
    d.expect("b64")?;
    let op = MbarrierOp::PendingCount { dst: d.dst(0, 32)?, state: d.src(1, Type::B64)? };
    // No access of memory: the state has it.
    let address = Address { space: Space::Shared, base: Source::Immediate(0), offset: 0, is_narrow: false };
    Ok(Op::Mbarrier { op, address })
}
