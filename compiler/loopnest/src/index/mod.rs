//! Index arithmetic of generated code: polynomials over loop variables and sizes, and their simplification.
//!
//! See [`arith`](hammock_ir::arith) for how it differs from [`Analyzer`](hammock_ir::arith::Analyzer).
//!
//! Everything here is int64: native code computes indices of narrower integers in 64 bits (see
//! [`prim`](hammock_ir::prim)). Data ([`PrimExpr::is_data`](hammock_ir::PrimExpr::is_data)) wrap to the width of their
//! dtype: additions, subtractions and multiplications of data in an index are expanded, because a result that is
//! correct modulo 2^64 is correct; operands of comparisons, divisions and selects only if ranges prove that they do not
//! wrap.

mod simplify;

pub use hammock_ir::equal::exprs as same_expr;
pub use simplify::Simplifier;

use hammock_ir::{PrimExpr, arith::polynomial::Polynomial};

/// A polynomial over int64 expressions.
pub type Poly = Polynomial<PrimExpr>;

/// Returns true if two sizes are equal, even if their integer types differ.
pub fn is_same_extent(a: &PrimExpr, b: &PrimExpr) -> bool {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => a == b,
        _ => same_expr(a, b),
    }
}
