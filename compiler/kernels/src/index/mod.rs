//! Index arithmetic: polynomials over loop variables and sizes, and their simplification.
//!
//! Everything here is int64: native code computes indices of narrower integers in 64 bits (see
//! [`prim`](hammock_ir::prim)).

mod poly;
mod simplify;

pub use hammock_ir::equal::exprs as same_expr;
pub use poly::Poly;
pub use simplify::Simplifier;
