//! `cp.async`.
use super::{
    super::op::{MbarrierOp, Op, Space},
    Decoder,
};
use crate::arith::Type;

pub(super) fn cp(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.expect("async")?;
    match d.peek() {
        "ca" | "cg" => copy(d),
        "commit_group" => {
            d.at += 1;
            d.count(0..=0)?;
            Ok(Op::CommitGroup)
        }
        "wait_group" => {
            d.at += 1;
            d.count(1..=1)?;
            match u32::try_from(d.constant(0)?) {
                Ok(pending) => Ok(Op::WaitGroup { pending }),
                Err(_) => d.wrong(0, "a number of groups"),
            }
        }
        "wait_all" => {
            d.at += 1;
            d.count(0..=0)?;
            Ok(Op::WaitAll)
        }
        "mbarrier" => arrive(d),
        _ => Err(format!("unknown instruction `{}`", d.statement.name)),
    }
}

fn copy(d: &mut Decoder<'_>) -> Result<Op, String> {
    let only_l2 = d.required(&[("ca", false), ("cg", true)])?;
    d.required(&[("shared", ()), ("shared::cta", ())])?;
    d.expect("global")?;
    d.choose(&[("L2::64B", ()), ("L2::128B", ()), ("L2::256B", ())]);
    let operands = d.count(3..=4)?;
    let bytes = match d.constant(2)? {
        16 => 16,
        bytes @ (4 | 8) if !only_l2 => bytes as u32,
        _ => return d.wrong(2, "a size that the instruction copies"),
    };
    let (mut src_bytes, mut ignore) = (None, None);
    if operands == 4 {
        match d.src(3, Type::U32) {
            Ok(source) => src_bytes = Some(source),
            Err(_) => ignore = Some(d.predicate(3)?),
        }
    }
    Ok(Op::CopyAsync { dst: d.address(0, Space::Shared)?, src: d.address(1, Space::Global)?, bytes, src_bytes, ignore })
}

fn arrive(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(1..=1)?;
    d.expect("mbarrier")?;
    d.expect("arrive")?;
    let no_increment = d.accept("noinc");
    let space = d.shared_or_generic();
    d.expect("b64")?;
    Ok(Op::Mbarrier { op: MbarrierOp::ArriveAfterCopies { no_increment }, address: d.address(0, space)? })
}
