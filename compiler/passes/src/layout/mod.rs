//! Passes that choose layouts of tensors and weights, and remove layout changes.

pub mod alter_op_impl;
pub mod attach_attr_layout_free_buffers;
pub mod convert_layout;
pub mod optimize_layout_transform;
pub mod pack_weights;
pub mod remove_redundant_permute_dims;
pub mod remove_redundant_reshape;
pub mod reorder_permute_dims_after_concat;
pub mod split_layout_rewrite_preproc;
