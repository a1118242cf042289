//! Arithmetic on scalar expressions: evaluation, equality, simplification.
//!
//! - [`fold`](mod@fold): operators that compute with constants at once and drop neutral operands, as someone who
//!   writes `1 + 2` or `x * 1` in a model's text expects. Local and cheap.
//! - [`Analyzer`]: simplifies, bounds and proves, given what is known about variables. Integer expressions are read as
//!   polynomials over atoms (variables, quotients, remainders, minima, …), so that equal ones have one form.
//!
//! The crate `hammock-kernels` has polynomials of its own (`index`) over the same [`Interval`]s, because it writes code.
//! There, coefficients wrap as 64 bits do, where here a polynomial is given up; what could fail at run time must not be
//! dropped, where here nothing fails; and terms stay in the order in which they were written, so that kernels read as
//! their authors wrote them, where here equal expressions have one form.
mod analyzer;
mod divide;
mod fold;
mod interval;
mod normal;
mod poly;
mod prove;
#[cfg(test)]
mod tests;

pub use analyzer::Analyzer;
pub use divide::gcd;
pub use fold::{binary, cast, fold, fold_bits, match_types, neg, not, promote};
pub use interval::Interval;
