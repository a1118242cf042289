//! `cvt`.
use super::{Modifiers, Type};

/// Checks that PTX has `cvt` between the types with the modifiers.
///
/// # Errors
/// Names what is wrong.
pub fn check_convert(to: Type, from: Type, modifiers: Modifiers) -> Result<(), String> {
    todo!("{to:?} {from:?} {modifiers:?}")
}

/// Checks that PTX has `cvt` of two operands to a packed type with the modifiers.
///
/// # Errors
/// Names what is wrong.
pub fn check_convert_pair(to: Type, from: Type, modifiers: Modifiers) -> Result<(), String> {
    todo!("{to:?} {from:?} {modifiers:?}")
}

/// Converts a value. Results of a signed type are sign-extended to 64 bits, because the destination may be a wider
/// register; the machine cuts them to the register's width.
pub fn convert(to: Type, from: Type, modifiers: Modifiers, a: u64) -> u64 {
    todo!("{to:?} {from:?} {modifiers:?} {a}")
}

/// Converts two values to a packed type: `a` becomes the upper half, `b` the lower.
pub fn convert_pair(to: Type, from: Type, modifiers: Modifiers, a: u64, b: u64) -> u64 {
    todo!("{to:?} {from:?} {modifiers:?} {a} {b}")
}
