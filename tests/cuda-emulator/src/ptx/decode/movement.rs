//! Moves, conversions, and addresses of state spaces.
use super::{
    super::{
        op::{Function, LOCAL_WINDOW, Op, PARAM_WINDOW, SHARED_WINDOW, Source, Space},
        syntax::{FrameSpace, Operand, Symbol},
    },
    Decoder,
    arithmetic::plain,
};
use crate::arith::{Binary, Type, check_convert, check_convert_pair};

const NONE: Source = Source::Immediate(0);

pub(super) fn mov(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(2..=2)?;
    let ty = d.ty()?;
    if ty == Type::Pred {
        return Ok(Op::PredicateMove { dst: d.dst_predicate(0)?, a: d.predicate(1)? });
    }
    if ty.bits() < 16 || ty.bits() > 64 {
        return Err(format!("unsupported type in `{}`", d.statement.name));
    }
    match (d.operand(0)?, d.operand(1)?) {
        (Operand::Vector(_), Operand::Vector(_)) => Err(format!("unsupported: `{}` of vectors", d.statement.name)),
        (Operand::Vector(parts), _) => {
            let part = part_type(d, ty, parts.len())?;
            let dst =
                parts.iter().map(|operand| d.operand_or_sink(operand, part.bits(), 0)).collect::<Result<_, _>>()?;
            Ok(Op::Unpack { dst, a: d.src(1, ty)?, bits: part.bits() })
        }
        (_, Operand::Vector(parts)) => {
            let part = part_type(d, ty, parts.len())?;
            let parts = parts.iter().map(|operand| d.source(operand, part, 1)).collect::<Result<_, _>>()?;
            Ok(Op::Pack { dst: d.dst(0, ty.bits())?, parts, bits: part.bits() })
        }
        _ => Ok(Op::Compute {
            function: Function::Move,
            dst: d.dst(0, ty.bits())?,
            args: [d.src(1, ty)?, NONE, NONE, NONE],
        }),
    }
}

/// The type of a part of a register that is packed of `count`.
fn part_type(d: &Decoder<'_>, ty: Type, count: usize) -> Result<Type, String> {
    match (ty.bits(), count) {
        (32, 2) | (64, 4) => Ok(Type::B16),
        (64, 2) => Ok(Type::B32),
        _ => Err(format!("unsupported: `{}` of {count} parts", d.statement.name)),
    }
}

pub(super) fn cvt(d: &mut Decoder<'_>) -> Result<Op, String> {
    let pair = d.count(2..=3)? == 3;
    let modifiers = d.modifiers();
    let (to, from) = (d.ty()?, d.ty()?);
    let (dst, bits) = d.dst_at_least(d.operand(0)?, to.bits(), 0)?;
    if to.is_float() && bits != to.bits() {
        return d.wrong(0, &format!("a register of {} bits", to.bits()));
    }
    let read = |index| {
        let operand = d.operand(index)?;
        if from.is_float() { d.source(operand, from, index) } else { d.src_at_least(operand, from, index) }
    };
    if pair {
        d.named(check_convert_pair(to, from, modifiers))?;
        let args = [read(1)?, read(2)?, NONE, NONE];
        return Ok(Op::Compute { function: Function::ConvertPair(to, from, modifiers), dst, args });
    }
    d.named(check_convert(to, from, modifiers))?;
    let a = read(1)?;
    // A signed result that is narrower than its register extends its sign over it.
    if to.is_signed() && bits > to.bits() {
        let extended = if bits == 64 { Type::S64 } else { Type::S32 };
        let args = [Source::Register(dst), NONE, NONE, NONE];
        d.behind.push(Op::Compute { function: Function::Convert(extended, to, plain()), dst, args });
    }
    Ok(Op::Compute { function: Function::Convert(to, from, modifiers), dst, args: [a, NONE, NONE, NONE] })
}

/// The windows of generic addresses.
const WINDOWS: &[(&str, (Space, u64))] = &[
    ("global", (Space::Global, 0)),
    ("const", (Space::Const, 0)),
    ("shared", (Space::Shared, SHARED_WINDOW)),
    ("shared::cta", (Space::Shared, SHARED_WINDOW)),
    ("local", (Space::Local, LOCAL_WINDOW)),
    ("param", (Space::Param, PARAM_WINDOW)),
];

pub(super) fn cvta(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(2..=2)?;
    let op = if d.accept("to") { Binary::Sub } else { Binary::Add };
    let (space, mut window) = d.required(WINDOWS)?;
    d.expect("u64")?;
    if space == Space::Param && !d.frame.is_entry {
        // Parameters of functions are in local memory.
        window = LOCAL_WINDOW;
    }
    if let Operand::Address(Symbol::Frame(index), _) = *d.operand(1)? {
        let is_local = d.frame.function.variables[index].space == FrameSpace::Local;
        if is_local != (space == Space::Local) {
            return d.wrong(1, "an address in the state space");
        }
    }
    let args = [d.src(1, Type::U64)?, Source::Immediate(window), NONE, NONE];
    Ok(Op::Compute { function: Function::Binary(op, Type::U64, plain()), dst: d.dst(0, 64)?, args })
}

pub(super) fn isspacep(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(2..=2)?;
    let (space, _) = d.required(WINDOWS)?;
    Ok(Op::IsSpace { dst: d.dst_predicate(0)?, space, a: d.src(1, Type::U64)? })
}
