//! Arithmetic on bit patterns: rounding, saturation, flush-to-zero, conversions.
//!
//! A register is a `u64`. Functions ignore the bits above an operand's width and return results with zeros there, so
//! `ld.u8` into a 32-bit register and `mov.b16` need no care. Packed types (`f16x2`) are two halves of 32 bits.
//!
//! The decoder calls [`check_unary`] and its siblings once for each instruction; the functions that compute
//! ([`unary`], [`binary`], [`ternary`], [`convert`]) assume what these accepted.
mod approximate;
pub(crate) mod bits;
mod compare;
mod convert;
mod dispatch;
mod float;
mod format;
mod integer;
mod modifiers;
mod rules;
mod targets;
mod types;

pub use bits::{PrmtMode, bfi, dp2a, dp4a, lop3, prmt, shf};
pub use compare::{Comparison, TestProperty, check_comparison, compare, testp};
pub use convert::{convert, convert_pair};
pub use dispatch::{Binary, Ternary, Unary, binary, ternary, unary};
pub use integer::{add_with_carry, is_division_by_zero, sub_with_borrow};
pub use modifiers::{Modifiers, Rounding};
pub use rules::{check_binary, check_convert, check_convert_pair, check_ternary, check_unary};
pub use types::Type;

#[cfg(test)]
mod tests;
