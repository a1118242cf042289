//! Integers.
use super::{Binary, Type};

/// True if the instruction divides an integer by zero, whose result PTX leaves unspecified.
pub fn is_division_by_zero(op: Binary, ty: Type, b: u64) -> bool {
    matches!(op, Binary::Div | Binary::Rem) && ty.is_integer() && b & ty.mask() == 0
}

/// `add.cc`, `addc`, `addc.cc`: the sum of 32 or 64 bits and the carry out.
pub fn add_with_carry(ty: Type, a: u64, b: u64, carry: bool) -> (u64, bool) {
    todo!("{ty:?} {a} {b} {carry}")
}

/// `sub.cc`, `subc`, `subc.cc`: the difference of 32 or 64 bits and the borrow out.
pub fn sub_with_borrow(ty: Type, a: u64, b: u64, borrow: bool) -> (u64, bool) {
    todo!("{ty:?} {a} {b} {borrow}")
}
