//! Passes that simplify and restructure the graph: what it computes, and in which order.

pub mod adjust_matmul_order;
pub mod canonicalize_bindings;
pub mod combine_parallel_matmul;
pub mod conv_transpose_to_conv;
pub mod convert_to_dataflow;
pub mod dead_code_elimination;
pub mod decompose_ops;
pub mod eliminate_common_subexpr;
pub mod expand_matmul_of_sum;
pub mod expand_tuple_arguments;
pub mod fast_math_transform;
pub mod fold_batchnorm_to_conv2d;
pub mod inline_private_functions;
pub mod kn2row;
pub mod lambda_lift;
pub mod normalize;
pub mod remove_unused_outputs;
pub mod remove_unused_parameters;
pub mod reorder_take_after_matmul;
pub mod slice_strided_conv;
pub mod topological_sort;
pub mod trim_conv_kernel;
pub mod winograd;

use crate::{OptionKind, PassOption};

/// Option that leaves normalizations in training mode as they are.
pub const KEEP_TRAINING: PassOption = PassOption {
    name: "keep_training",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Leave batch normalization with `training=True` as it is, instead of assuming inference",
};
