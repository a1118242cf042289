//! Index arithmetic: polynomials over loop variables and sizes, and what they simplify to.
//!
//! Everything here is int64. Index expressions of narrower integers are taken to be free of overflow, so they widen
//! to the same numbers.

mod equal;
mod poly;
mod simplify;

pub use equal::same_expr;
pub use poly::Poly;
pub use simplify::Simplifier;
