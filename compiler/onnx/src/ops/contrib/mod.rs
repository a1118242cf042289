//! ONNX Runtime's contrib operators, of the domain `com.microsoft`: what its optimizations fuse, and what exporters for it
//! write. Their reference is `docs/ContribOperators.md` of ONNX Runtime.

mod activation;
mod attention;
mod channels_last;
mod diffusion;
mod embed;
mod fused;
mod group_query;
mod packed;
mod quantize;
mod quantize_window;
mod rotary;
mod skip_norm;
mod standard;

use super::{Import, Op};

/// Families of contrib operators.
pub const FAMILIES: [&[Op]; 13] = [
    activation::OPS,
    attention::OPS,
    channels_last::OPS,
    diffusion::OPS,
    embed::OPS,
    fused::OPS,
    group_query::OPS,
    packed::OPS,
    quantize::OPS,
    quantize_window::OPS,
    rotary::OPS,
    skip_norm::OPS,
    standard::OPS,
];

/// Version of the standard operators that import functions of both domains follow.
const STANDARD_OPSET: i64 = 21;

/// Declares a contrib operator.
const fn op(name: &'static str, import: Import) -> Op {
    super::op(name, import).in_domain("com.microsoft")
}
