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

/// Modes by name, and the four source bytes, lowest first, that selectors 0 to 3 choose.
const PRMT_MODES: [(&str, PrmtMode, [[u32; 4]; 4]); 6] = [
    ("f4e", PrmtMode::F4e, [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
    ("b4e", PrmtMode::B4e, [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
    ("rc8", PrmtMode::Rc8, [[0; 4], [1; 4], [2; 4], [3; 4]]),
    ("ecl", PrmtMode::Ecl, [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
    ("ecr", PrmtMode::Ecr, [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
    ("rc16", PrmtMode::Rc16, [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
];

impl PrmtMode {
    /// Returns the mode of a suffix without its dot.
    pub fn parse(name: &str) -> Option<PrmtMode> {
        PRMT_MODES.iter().find(|(known, ..)| *known == name).map(|(_, mode, _)| *mode)
    }
}

/// `prmt.b32`: selects four of the eight bytes of `b:a`. In index mode the upper bit of a selector replicates the
/// byte's sign.
pub fn prmt(mode: PrmtMode, a: u64, b: u64, selector: u64) -> u64 {
    let source = low(a) | low(b) << 32;
    let byte = |index: u32| (source >> (8 * index)) & 0xff;
    let bytes = match PRMT_MODES.iter().find(|(_, known, _)| *known == mode) {
        Some((.., table)) => table[(selector & 3) as usize].map(byte),
        None => [0, 4, 8, 12].map(|shift| {
            let control = (selector >> shift) as u32;
            let chosen = byte(control & 7);
            if control & 8 == 0 { chosen } else { (chosen >> 7) * 0xff }
        }),
    };
    bytes.iter().rev().fold(0, |word, byte| word << 8 | byte)
}

/// `lop3.b32`: any logical function of three operands by its table of 8 bits.
pub fn lop3(a: u64, b: u64, c: u64, table: u64) -> u64 {
    let term = |index: u64| {
        let operand = |bit: u64, x: u64| if index >> bit & 1 == 1 { x } else { !x };
        if table >> index & 1 == 1 { operand(2, a) & operand(1, b) & operand(0, c) } else { 0 }
    };
    low((0..8).map(term).fold(0, |sum, term| sum | term))
}

/// `shf.l.mode.b32` (`left`) and `shf.r.mode.b32`: funnel shift of `b:a`; `.wrap` takes the count modulo 32,
/// `.clamp` at most 32.
pub fn shf(left: bool, wrap: bool, a: u64, b: u64, count: u64) -> u64 {
    let count = if wrap { count & 31 } else { low(count).min(32) };
    let source = low(a) | low(b) << 32;
    low(if left { source << count >> 32 } else { source >> count })
}

/// `bfe`: extracts `length` bits at `position`, extended by the field's sign for signed types.
pub(super) fn bfe(ty: Type, a: u64, position: u64, length: u64) -> u64 {
    let (position, length, bits) = ((position & 0xff) as u32, (length & 0xff) as u32, ty.bits());
    let a = a & ty.mask();
    if length == 0 {
        return 0;
    }
    let sign = ty.is_signed() && a >> (position + length - 1).min(bits - 1) & 1 == 1;
    let available = bits.saturating_sub(position).min(length);
    let field = if available == 0 { 0 } else { a >> position & ones(available) };
    (if sign { field | !ones(available) } else { field }) & ty.mask()
}

/// `bfi.b32`, `bfi.b64`: inserts the low `length` bits of `a` into `b` at `position`.
pub fn bfi(ty: Type, a: u64, b: u64, position: u64, length: u64) -> u64 {
    let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
    if position >= ty.bits() {
        return b & ty.mask();
    }
    let field = ones(length) << position;
    ((b & !field) | (a << position & field)) & ty.mask()
}

/// `dp4a`: `c` plus the dot product of four bytes; `signed` of `a` and of `b`.
pub fn dp4a(signed: [bool; 2], a: u64, b: u64, c: u64) -> u64 {
    let product = |i: u32| element(a, i, 8, signed[0]).wrapping_mul(element(b, i, 8, signed[1]));
    low((0..4).map(product).fold(c as i64, i64::wrapping_add) as u64)
}

/// `dp2a.lo`, `dp2a.hi` (`high`): `c` plus the dot product of two halves of `a` with two bytes of `b`.
pub fn dp2a(high: bool, signed: [bool; 2], a: u64, b: u64, c: u64) -> u64 {
    let first = if high { 2 } else { 0 };
    let product = |i: u32| element(a, i, 16, signed[0]).wrapping_mul(element(b, first + i, 8, signed[1]));
    low((0..2).map(product).fold(c as i64, i64::wrapping_add) as u64)
}

/// The `i`-th element of `bits` bits of a word.
pub(crate) fn element(word: u64, i: u32, bits: u32, signed: bool) -> i64 {
    let shifted = word >> (i * bits) << (64 - bits);
    if signed { shifted as i64 >> (64 - bits) } else { (shifted >> (64 - bits)) as i64 }
}

fn ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

fn low(word: u64) -> u64 {
    word & 0xffff_ffff
}
