//! Bit fields, bytes and packed dot products: instructions with shapes of their own.
use super::Type;

/// Modes of `prmt.b32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrmtMode {
    /// A selector for each byte.
    Index,
    /// `.f4e`: four bytes forward.
    F4e,
    /// `.b4e`: four bytes backward.
    B4e,
    /// `.rc8`: one byte four times.
    Rc8,
    /// `.ecl`: clamps to the left edge.
    Ecl,
    /// `.ecr`: clamps to the right edge.
    Ecr,
    /// `.rc16`: a half twice.
    Rc16,
}

impl PrmtMode {
    /// Returns the mode of a suffix without its dot.
    pub fn parse(name: &str) -> Option<PrmtMode> {
        todo!("{name}")
    }
}

/// `prmt.b32`: selects four of the eight bytes of `b:a`.
pub fn prmt(mode: PrmtMode, a: u64, b: u64, selector: u64) -> u64 {
    todo!("{mode:?} {a} {b} {selector}")
}

/// `lop3.b32`: any logical function of three operands by its table of 8 bits.
pub fn lop3(a: u64, b: u64, c: u64, table: u64) -> u64 {
    todo!("{a} {b} {c} {table}")
}

/// `shf.l.mode.b32` (`left`) and `shf.r.mode.b32`: funnel shift of `b:a`; `.wrap` takes the count modulo 32,
/// `.clamp` at most 32.
pub fn shf(left: bool, wrap: bool, a: u64, b: u64, count: u64) -> u64 {
    todo!("{left} {wrap} {a} {b} {count}")
}

/// `bfi.b32`, `bfi.b64`: inserts the low `length` bits of `a` into `b` at `position`.
pub fn bfi(ty: Type, a: u64, b: u64, position: u64, length: u64) -> u64 {
    todo!("{ty:?} {a} {b} {position} {length}")
}

/// `dp4a`: `c` plus the dot product of four bytes; `signed` of `a` and of `b`.
pub fn dp4a(signed: [bool; 2], a: u64, b: u64, c: u64) -> u64 {
    todo!("{signed:?} {a} {b} {c}")
}

/// `dp2a.lo`, `dp2a.hi` (`high`): `c` plus the dot product of two halves of `a` with two bytes of `b`.
pub fn dp2a(high: bool, signed: [bool; 2], a: u64, b: u64, c: u64) -> u64 {
    todo!("{high} {signed:?} {a} {b} {c}")
}
