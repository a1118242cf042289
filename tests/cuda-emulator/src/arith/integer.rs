//! Integers.
use super::{Binary, Modifiers, Ternary, Type, Unary, bits};

/// True if the instruction divides an integer by zero, whose result PTX leaves unspecified.
pub fn is_division_by_zero(op: Binary, ty: Type, b: u64) -> bool {
    matches!(op, Binary::Div | Binary::Rem) && ty.is_integer() && b & ty.mask() == 0
}

/// `add.cc`, `addc`, `addc.cc`: the sum of 32 or 64 bits and the carry out.
pub fn add_with_carry(ty: Type, a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = u128::from(a & ty.mask()) + u128::from(b & ty.mask()) + u128::from(carry);
    (sum as u64 & ty.mask(), sum >> ty.bits() != 0)
}

/// `sub.cc`, `subc`, `subc.cc`: the difference of 32 or 64 bits and the borrow out.
pub fn sub_with_borrow(ty: Type, a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let difference = i128::from(a & ty.mask()) - i128::from(b & ty.mask()) - i128::from(borrow);
    (difference as u64 & ty.mask(), difference < 0)
}

/// The value of a register as an integer of the type.
pub(super) fn value(ty: Type, register: u64) -> i128 {
    let bits = register & ty.mask();
    let above = 64 - ty.bits();
    if ty.is_signed() { i128::from(((bits << above) as i64) >> above) } else { i128::from(bits) }
}

/// Least and greatest value of an integer type.
pub(super) fn range(ty: Type) -> (i128, i128) {
    if ty.is_signed() {
        let half = 1 << (ty.bits() - 1);
        (-half, half - 1)
    } else {
        (0, i128::from(ty.mask()))
    }
}

pub(super) fn unary(op: Unary, ty: Type, a: u64) -> u64 {
    let (x, bits) = (value(ty, a), ty.bits());
    let unsigned = a & ty.mask();
    let result = match op {
        Unary::Abs => x.unsigned_abs() as u64,
        Unary::Neg => x.wrapping_neg() as u64,
        Unary::Not => !unsigned,
        Unary::Cnot => u64::from(unsigned == 0),
        Unary::Popc => return unsigned.count_ones().into(),
        Unary::Clz => return u64::from(unsigned.leading_zeros() - (64 - bits)),
        Unary::Brev => unsigned.reverse_bits() >> (64 - bits),
        _ => return find_leading_bit(op == Unary::BfindShiftamt, ty, x),
    };
    result & ty.mask()
}

/// `bfind`: position of the highest bit that differs from the sign, or all ones.
fn find_leading_bit(shift_amount: bool, ty: Type, x: i128) -> u64 {
    let magnitude = if x < 0 { !x } else { x };
    match magnitude.checked_ilog2() {
        None => 0xffff_ffff,
        Some(position) if shift_amount => u64::from(ty.bits() - 1 - position),
        Some(position) => position.into(),
    }
}

pub(super) fn binary(op: Binary, ty: Type, modifiers: Modifiers, a: u64, b: u64) -> u64 {
    let (x, y) = (value(ty, a), value(ty, b));
    let result = match op {
        Binary::Add => saturate(ty, modifiers, x + y),
        Binary::Sub => saturate(ty, modifiers, x - y),
        Binary::MulLo => x.wrapping_mul(y),
        Binary::MulHi => high(ty, x.wrapping_mul(y)),
        Binary::MulWide => return x.wrapping_mul(y) as u64 & wide_mask(ty),
        Binary::Mul24Lo => value24(ty, a) * value24(ty, b),
        Binary::Mul24Hi => (value24(ty, a) * value24(ty, b)) >> 16,
        Binary::Div if y == 0 => -1,
        Binary::Div => x / y,
        Binary::Rem if y == 0 => x,
        Binary::Rem => x % y,
        Binary::Min => rectify(modifiers, x.min(y)),
        Binary::Max => rectify(modifiers, x.max(y)),
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        // Counts are 32 bits, and those above the width act as the width.
        Binary::Shl => x << (b as u32).min(ty.bits()),
        _ => x >> (b as u32).min(ty.bits()),
    };
    result as u64 & ty.mask()
}

pub(super) fn ternary(op: Ternary, ty: Type, modifiers: Modifiers, a: u64, b: u64, c: u64) -> u64 {
    let (x, y, z) = (value(ty, a), value(ty, b), value(ty, c));
    let result = match op {
        Ternary::MadLo => x.wrapping_mul(y).wrapping_add(z),
        Ternary::MadHi => saturate(ty, modifiers, value(ty, high(ty, x.wrapping_mul(y)) as u64) + z),
        Ternary::MadWide => return (x.wrapping_mul(y) as u64).wrapping_add(c) & wide_mask(ty),
        Ternary::Mad24Lo => value24(ty, a) * value24(ty, b) + z,
        Ternary::Mad24Hi => {
            let product = value24(ty, a) * value24(ty, b);
            saturate(ty, modifiers, value(ty, (product >> 16) as u64) + z)
        }
        Ternary::Sad => x.abs_diff(y) as i128 + z,
        _ => return bits::bfe(ty, a, b, c),
    };
    result as u64 & ty.mask()
}

fn saturate(ty: Type, modifiers: Modifiers, x: i128) -> i128 {
    let (least, greatest) = range(ty);
    if modifiers.sat { x.clamp(least, greatest) } else { x }
}

fn rectify(modifiers: Modifiers, x: i128) -> i128 {
    if modifiers.relu { x.max(0) } else { x }
}

/// The upper half of a product of twice the width.
fn high(ty: Type, product: i128) -> i128 {
    (product as u128 >> ty.bits()) as i128
}

fn wide_mask(ty: Type) -> u64 {
    if ty.bits() >= 32 { u64::MAX } else { (1 << (2 * ty.bits())) - 1 }
}

/// The low 24 bits as an integer.
fn value24(ty: Type, register: u64) -> i128 {
    let bits = (register & 0xff_ffff) as i128;
    if ty.is_signed() && bits >= 1 << 23 { bits - (1 << 24) } else { bits }
}
