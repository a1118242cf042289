//! Arithmetic on scalar expressions: evaluation, equality, simplification.
//!
//! - [`fold`](mod@fold): operators that fold constants and drop neutral operands, as expected of `1 + 2` or `x * 1` in
//!   a model's text. Local and cheap.
//! - [`Analyzer`]: simplifies, bounds and proves, given facts about variables. Integer expressions are normalized to
//!   polynomials over atoms (variables, quotients, remainders, minima, …), so that equal ones have one form.
//!
//! The crate `hammock-kernels` has polynomials of its own (`index`) over the same [`Interval`]s, because it generates
//! code: its coefficients wrap to 64 bits, while here overflow gives the polynomial up; it must not drop operations
//! that could fail at run time, while here nothing fails; and it keeps the order of summands as written, while here
//! equal expressions have one form.
mod analyzer;
mod assumptions;
mod divide;
mod floor;
mod fold;
mod interval;
mod normal;
mod polynomial;
mod prove;
#[cfg(test)]
mod tests;

pub use analyzer::Analyzer;
pub use divide::gcd;
pub use fold::{binary, cast, fold, fold_bits, match_types, neg, not, promote};
pub use interval::Interval;
pub use polynomial::modular::Poly;
