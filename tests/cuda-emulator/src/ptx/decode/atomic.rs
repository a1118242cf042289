//! `atom` and `red`.
use super::{
    super::op::{Access, AtomicOp, Op, Order, Source, Space},
    Decoder,
    arithmetic::plain,
    memory::SCOPES,
};
use crate::{
    arith::{Binary, Modifiers, Rounding, Type},
    shadow::Scope,
};

fn arithmetic(op: Binary) -> AtomicOp {
    AtomicOp::Arithmetic(op, plain())
}

/// True if PTX has the operation for the type.
fn has(op: AtomicOp, ty: Type) -> bool {
    use Type::{B16, B32, B64, BF16, BF16x2, F16, F16x2, F32, F64, S32, S64, U32, U64};
    match op {
        AtomicOp::Arithmetic(Binary::And | Binary::Or | Binary::Xor, _) | AtomicOp::Exchange => {
            [B32, B64].contains(&ty)
        }
        AtomicOp::CompareAndSwap => [B16, B32, B64].contains(&ty),
        AtomicOp::Increment | AtomicOp::Decrement => ty == U32,
        AtomicOp::Arithmetic(Binary::Add, _) => [U32, S32, U64, F16, F16x2, BF16, BF16x2, F32, F64].contains(&ty),
        AtomicOp::Arithmetic(..) => [U32, S32, U64, S64].contains(&ty),
    }
}

/// Reads `.sem.scope.space.op.type`, and the operands from the address on.
fn decode(d: &mut Decoder<'_>, dst: bool) -> Result<Op, String> {
    let orders = [
        ("relaxed", Order::Relaxed),
        ("acquire", Order::Acquire),
        ("release", Order::Release),
        ("acq_rel", Order::AcquireRelease),
    ];
    let order = d.choose(&orders).unwrap_or(Order::Relaxed);
    let scope = d.choose(SCOPES).unwrap_or(Scope::Device);
    let spaces = [("global", Space::Global), ("shared", Space::Shared), ("shared::cta", Space::Shared)];
    let space = d.choose(&spaces).unwrap_or(Space::Generic);
    let mut op = d.required(&[
        ("add", arithmetic(Binary::Add)),
        ("min", arithmetic(Binary::Min)),
        ("max", arithmetic(Binary::Max)),
        ("and", arithmetic(Binary::And)),
        ("or", arithmetic(Binary::Or)),
        ("xor", arithmetic(Binary::Xor)),
        ("exch", AtomicOp::Exchange),
        ("cas", AtomicOp::CompareAndSwap),
        ("inc", AtomicOp::Increment),
        ("dec", AtomicOp::Decrement),
    ])?;
    let no_ftz = d.accept("noftz");
    let ty = d.ty()?;
    if !has(op, ty) || no_ftz != (ty.is_float() && ty.bits() == 16 || ty.is_packed()) {
        return Err(format!("unknown combination of modifiers in `{}`", d.statement.name));
    }
    if ty.is_float() {
        op = AtomicOp::Arithmetic(Binary::Add, Modifiers { rounding: Some(Rounding::Nearest), ..plain() });
    }
    let first = usize::from(dst);
    let swaps = op == AtomicOp::CompareAndSwap;
    if swaps && !dst {
        return Err(d.unknown());
    }
    let count = first + 2 + usize::from(swaps);
    d.count(count..=count)?;
    let access =
        Access { address: d.address(first, space)?, bytes: ty.bytes(), count: 1, order, scope, is_read_only: false };
    let c = if swaps { d.src(first + 2, ty)? } else { Source::Immediate(0) };
    let dst = if dst { d.dst_or_sink(0, ty.bits())? } else { None };
    Ok(Op::Atomic { access, op, ty, dst, b: d.src(first + 1, ty)?, c })
}

pub(super) fn atom(d: &mut Decoder<'_>) -> Result<Op, String> {
    decode(d, true)
}

pub(super) fn red(d: &mut Decoder<'_>) -> Result<Op, String> {
    decode(d, false)
}
