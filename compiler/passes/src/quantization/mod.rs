//! Passes that change precision: int8 and int4 weights, QDQ patterns, mixed precision.

pub mod fake_quantization_to_integer;
pub mod quantize_weights;
pub mod to_mixed_precision;
