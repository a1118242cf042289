//! Passes that change precision: int8 and int4 weights, int8 activations, QDQ patterns, mixed precision.

pub mod fake_quantization_to_integer;
pub mod pack_quantized_weights;
pub mod quantize_activations;
pub mod quantize_weights;
pub mod to_mixed_precision;
