//! ONNX Runtime's contrib operators, of the domain `com.microsoft`: what its optimizations fuse, and what exporters for it
//! write. Their reference is `docs/ContribOperators.md` of ONNX Runtime.

mod activation;
mod attention;
mod embed;
mod fused;
mod group_query;
mod packed;
mod quantize;
mod rotary;
mod skip_norm;

use super::{Import, Op};

/// Families of contrib operators.
pub const FAMILIES: [&[Op]; 9] = [
    activation::OPS,
    attention::OPS,
    embed::OPS,
    fused::OPS,
    group_query::OPS,
    packed::OPS,
    quantize::OPS,
    rotary::OPS,
    skip_norm::OPS,
];

/// Version of the standard operators that import functions of both domains follow.
const STANDARD_OPSET: i64 = 21;

/// Declares a contrib operator.
const fn op(name: &'static str, import: Import) -> Op {
    super::op(name, import).in_domain("com.microsoft")
}
