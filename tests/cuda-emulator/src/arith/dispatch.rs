//! The instructions by their number of operands.
use super::{Modifiers, Type, float, integer};

macro_rules! operations {
    ($(#[$doc:meta])* $enum:ident { $($variant:ident $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $enum { $(#[doc = concat!("`", $name, "`")] $variant,)* }

        impl $enum {
            /// Returns the operation of an instruction's name, e.g. `mul.wide`.
            pub fn parse(name: &str) -> Option<$enum> {
                match name { $($name => Some($enum::$variant),)* _ => None }
            }

            /// The instruction's name.
            pub fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }
        }
    };
}

operations! {
    /// Instructions of one operand.
    Unary {
        Abs "abs", Neg "neg", Not "not", Cnot "cnot", Popc "popc", Clz "clz", Brev "brev", Bfind "bfind",
        BfindShiftamt "bfind.shiftamt", Rcp "rcp", Sqrt "sqrt", Rsqrt "rsqrt", Ex2 "ex2", Lg2 "lg2", Sin "sin",
        Cos "cos", Tanh "tanh",
    }
}

operations! {
    /// Instructions of two operands. `mul` is that of floats.
    Binary {
        Add "add", Sub "sub", Mul "mul", MulLo "mul.lo", MulHi "mul.hi", MulWide "mul.wide", Mul24Lo "mul24.lo", Mul24Hi "mul24.hi",
        Div "div", Rem "rem", Min "min", Max "max", And "and", Or "or", Xor "xor", Shl "shl", Shr "shr",
        Copysign "copysign",
    }
}

operations! {
    /// Instructions of three operands. `mad` without `.lo`, `.hi` or `.wide` is that of floats.
    Ternary {
        Fma "fma", Mad "mad", MadLo "mad.lo", MadHi "mad.hi", MadWide "mad.wide", Mad24Lo "mad24.lo",
        Mad24Hi "mad24.hi", Sad "sad",
        Bfe "bfe",
    }
}

/// Computes an instruction of one operand. `popc`, `clz` and `bfind` return 32 bits.
pub fn unary(op: Unary, ty: Type, modifiers: Modifiers, a: u64) -> u64 {
    match (ty.is_packed(), ty.is_float()) {
        (true, _) => halves(|shift| unary(op, ty.half(), modifiers, a >> shift)),
        (_, true) => float::unary(op, ty, modifiers, a),
        _ => integer::unary(op, ty, a),
    }
}

/// Computes an instruction of two operands. `mul.wide` returns twice the width; shifts read 32 bits of `b`.
///
/// Integer division by zero returns all ones, the remainder `a`: PTX leaves both unspecified, so a strict machine
/// reports it (see [`is_division_by_zero`](super::is_division_by_zero)).
pub fn binary(op: Binary, ty: Type, modifiers: Modifiers, a: u64, b: u64) -> u64 {
    match (ty.is_packed(), ty.is_float()) {
        (true, _) => halves(|shift| binary(op, ty.half(), modifiers, a >> shift, b >> shift)),
        (_, true) => float::binary(op, ty, modifiers, a, b),
        _ => integer::binary(op, ty, modifiers, a, b),
    }
}

/// Computes an instruction of three operands. `mad.wide` reads and returns `c` of twice the width; `bfe` reads 8 bits
/// of `b` (position) and `c` (length).
pub fn ternary(op: Ternary, ty: Type, modifiers: Modifiers, a: u64, b: u64, c: u64) -> u64 {
    match (ty.is_packed(), ty.is_float()) {
        (true, _) => halves(|shift| ternary(op, ty.half(), modifiers, a >> shift, b >> shift, c >> shift)),
        (_, true) => float::ternary(op, ty, modifiers, a, b, c),
        _ => integer::ternary(op, ty, modifiers, a, b, c),
    }
}

/// Both halves of a packed result, from a function of the shift that brings a half down.
fn halves(half: impl Fn(u32) -> u64) -> u64 {
    half(0) & 0xffff | half(16) << 16
}
