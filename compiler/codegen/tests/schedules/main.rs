//! Schedules of kernels, at every vector width, against the reference interpreter. One program, since it is linked with all of
//! the compiler.
#![cfg(feature = "native")]

mod boundary_peeling;
mod classes;
mod convolution_tiles;
mod float_rounding;
mod leading_dim;
mod narrow_matmul;
mod packed_operands;
mod polyphase;
mod precomputed_tables;
mod quantized_weights;
mod row_tiling;
mod segments;
#[allow(dead_code)]
#[path = "../support/mod.rs"]
mod support;
mod transposed_conv;
