//! Arithmetic on scalar expressions: evaluation, equality, simplification.
//!
//! - [`fold`](mod@fold): operators that fold constants and drop neutral operands, as expected of `1 + 2` or `x * 1` in
//!   a model's text. Local and cheap.
//! - [`polynomial`]: integer expressions as sums of products of atoms (variables, quotients, remainders, minima, …).
//! - [`Analyzer`]: simplifies, bounds and proves, given facts about variables. For sizes, whose integers are unbounded
//!   and never fail: an overflowing polynomial is given up, and equal expressions have one form.
//!
//! Code generation has a simplifier of its own over the same polynomials and [`Interval`]s, `index` in
//! `hammock-loopnest`: coefficients wrap to 64 bits, operations that could fail at run time stay, and summands keep
//! the order in which they were written.
mod analyzer;
mod assumptions;
mod divide;
mod floor;
mod fold;
mod interval;
mod normal;
pub mod polynomial;
mod prove;
#[cfg(test)]
mod tests;

pub use analyzer::Analyzer;
pub use divide::gcd;
pub use fold::{binary, cast, fold, fold_bits, match_types, neg, not, promote};
pub use interval::Interval;
