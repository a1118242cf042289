//! `ld`, `st` and prefetches.
use super::{
    super::{
        op::{Access, Op, Order, Space},
        syntax::{FrameSpace, Operand, Symbol},
    },
    Decoder,
};
use crate::{arith::Type, shadow::Scope};

/// The scopes. The system's is the device's: the host sees nothing until a launch has ended.
pub(super) const SCOPES: &[(&str, Scope)] =
    &[("cta", Scope::Block), ("cluster", Scope::Device), ("gpu", Scope::Device), ("sys", Scope::Device)];

/// The state spaces of accesses.
pub(super) const SPACES: &[(&str, Space)] = &[
    ("global", Space::Global),
    ("const", Space::Const),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("local", Space::Local),
    ("param", Space::Param),
    ("param::entry", Space::Param),
    ("param::func", Space::Param),
];

/// Hints to caches, which change no value.
const CACHE_HINTS: &[&str] = &[
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::evict_normal",
    "L2::evict_first",
    "L2::evict_last",
    "L2::64B",
    "L2::128B",
    "L2::256B",
];

/// What follows `ld` or `st` up to the type.
struct Qualifiers {
    order: Order,
    scope: Scope,
    space: Space,
    is_read_only: bool,
    count: usize,
}

fn qualifiers(d: &mut Decoder<'_>) -> Result<Qualifiers, String> {
    let orders = [
        ("weak", Order::Weak),
        ("volatile", Order::Relaxed),
        ("relaxed", Order::Relaxed),
        ("acquire", Order::Acquire),
        ("release", Order::Release),
    ];
    let is_volatile = d.peek() == "volatile";
    let order = d.choose(&orders).unwrap_or(Order::Weak);
    let scope = match d.choose(SCOPES) {
        None if order != Order::Weak && !is_volatile => return Err(d.unknown()),
        scope => scope.unwrap_or(Scope::Device),
    };
    let space = d.choose(SPACES).unwrap_or(Space::Generic);
    let (mut is_read_only, mut count) = (false, 1);
    loop {
        match d.peek() {
            "nc" => is_read_only = true,
            "v2" => count = 2,
            "v4" => count = 4,
            hint if CACHE_HINTS.contains(&hint) => {}
            _ => return Ok(Qualifiers { order, scope, space, is_read_only, count }),
        }
        d.at += 1;
    }
}

impl Decoder<'_> {
    /// The type of an access: 8 to 64 bits.
    fn access_type(&mut self, count: usize) -> Result<Type, String> {
        let ty = self.ty()?;
        if !(8..=64).contains(&ty.bits()) || ty.bits() as usize * count > 128 {
            return Err(format!("unsupported type in `{}`", self.statement.name));
        }
        Ok(ty)
    }
}

/// `ld` and `ldu`: a warp-uniform load is a hint.
pub(super) fn ld(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(2..=2)?;
    let q = qualifiers(d)?;
    if q.order == Order::Release || q.is_read_only && q.space != Space::Global && q.space != Space::Generic {
        return Err(format!("unknown combination of modifiers in `{}`", d.statement.name));
    }
    let ty = d.access_type(q.count)?;
    let operands = d.vector(0)?;
    if operands.len() != q.count {
        return d.wrong(0, &format!("a vector of {} registers", q.count));
    }
    let mut widest = 0;
    let mut dst = Vec::new();
    for operand in operands {
        if *operand == Operand::Sink {
            dst.push(None);
            continue;
        }
        let (register, bits) = d.dst_at_least(operand, ty.bits(), 0)?;
        widest = widest.max(bits);
        dst.push(Some(register));
    }
    let sign_extend = (ty.is_signed() && widest > ty.bits()).then_some((ty.bits(), widest));
    let access = access(d, &q, ty, 1)?;
    Ok(Op::Load { access, dst: dst.into(), sign_extend })
}

fn access(d: &Decoder<'_>, q: &Qualifiers, ty: Type, index: usize) -> Result<Access, String> {
    let address = d.address(index, q.space)?;
    let Qualifiers { order, scope, is_read_only, .. } = *q;
    Ok(Access { address, bytes: ty.bytes(), count: q.count as u32, order, scope, is_read_only })
}

pub(super) fn st(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(2..=2)?;
    let q = qualifiers(d)?;
    if q.order == Order::Acquire || q.is_read_only || q.space == Space::Const {
        return Err(format!("unknown combination of modifiers in `{}`", d.statement.name));
    }
    let ty = d.access_type(q.count)?;
    if let Operand::Memory(base, _) = d.operand(0)?
        && let Operand::Address(Symbol::Frame(variable), _) = **base
        && matches!(d.frame.function.variables[variable].space, FrameSpace::EntryParam(_))
    {
        return Err(format!("`{}` to a parameter of an entry", d.statement.name));
    }
    let operands = d.vector(1)?;
    if operands.len() != q.count {
        return d.wrong(1, &format!("a vector of {} registers", q.count));
    }
    let src = operands.iter().map(|operand| d.src_at_least(operand, ty, 1)).collect::<Result<_, _>>()?;
    Ok(Op::Store { access: access(d, &q, ty, 0)?, src })
}

/// Prefetches change no value; the address may be any.
pub(super) fn prefetch(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(1..=1)?;
    let space = d.choose(&[("global", Space::Global), ("local", Space::Local)]).unwrap_or(Space::Generic);
    d.required(&[("L1", ()), ("L2", ()), ("L2::evict_last", ()), ("L2::evict_normal", ())])?;
    d.address(0, space)?;
    Ok(Op::Nop)
}
