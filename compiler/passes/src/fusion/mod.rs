//! Passes that form groups of operators and fuse each group into one kernel.

pub mod annotate_tir_op_pattern;
pub mod fuse_ops;
pub mod fuse_ops_by_pattern;
pub mod fuse_rows;
pub mod fuse_tir;
pub mod fuse_transpose_matmul;
pub mod merge_composite_functions;
pub mod separate_outputs;
pub mod split_call_tir_by_pattern;
