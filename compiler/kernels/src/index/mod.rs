//! Index arithmetic: polynomials over loop variables and sizes, and their simplification.
//!
//! Everything here is int64. Index expressions of narrower integers are assumed not to overflow, so they widen to
//! the same numbers.

mod equal;
mod poly;
mod simplify;

pub use equal::same_expr;
pub use poly::Poly;
pub use simplify::Simplifier;
