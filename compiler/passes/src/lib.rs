//! The pass manager, and one file per pass.
//!
//! A [`Pass`] rewrites a module in place. Each is declared once, in its own file, with its options, and listed in
//! [`PASSES`]; names of passes and options are those of TVM. A [`Pipeline`] is a list of passes with their options,
//! written `a,b{option=1},c`; [`Pipeline::run`] runs it and lets an [`Observer`] look at the module after each
//! pass. [`pipeline()`] says which passes compile a module; a pass may occur several times, or not at all.
//!
//! A pass of one's own is a function and a `static` of type [`Pass`]: [`Pipeline::parse_with`] takes it by name among the
//! others. `compiler/driver/tests/own_pass.rs` has one, with [`editor`] to rewrite values.
//!
//! A pass leaves a module that the verifier accepts. Passes know nothing about text, and make no machine code: what they
//! may ask for is in their [`Context`], and a driver hands in an [`Evaluator`] that runs kernels for them.
#![forbid(unsafe_code)]

mod compile_time;
mod context;
mod devices;
pub mod editor;
mod functions;
mod groups;
mod leaves;
mod levels;
mod memory_plan;
mod observe;
mod op_pattern;
mod options;
mod pipeline;
mod retype;
mod rewrite;
mod shared_functions;
mod symbolic;
mod tir;

mod adjust_matmul_order;
mod allocate_workspace;
mod alter_op_impl;
mod annotate_tir_op_pattern;
mod attach_attr_layout_free_buffers;
mod attach_global_symbol;
mod bind_params;
mod bind_symbolic_vars;
mod bundle_model_params;
mod call_tir_rewrite;
mod canonicalize_bindings;
mod combine_parallel_matmul;
mod compute_prim_value;
mod convert_layout;
mod convert_to_dataflow;
mod dataflow_use_inplace_calls;
mod dead_code_elimination;
mod decompose_ops;
mod eliminate_common_subexpr;
mod expand_matmul_of_sum;
mod expand_tuple_arguments;
mod fake_quantization_to_integer;
mod fast_math_transform;
mod filled;
mod fold_batchnorm_to_conv2d;
mod fold_constant;
mod fuse_ops;
mod fuse_ops_by_pattern;
mod fuse_rows;
mod fuse_tir;
mod fuse_transpose_matmul;
mod inline_private_functions;
mod kill_after_last_use;
mod lambda_lift;
mod lazy_transform_params;
mod legalize_ops;
mod lift_transform_params;
mod lower_alloc_tensor;
mod lower_runtime_builtin;
mod merge_composite_functions;
mod normalize;
mod optimize_layout_transform;
mod pack_weights;
mod prepare_constants;
mod quantize_weights;
mod realize_vdevice;
mod remove_purity_checking;
mod remove_redundant_permute_dims;
mod remove_redundant_reshape;
mod remove_unused_outputs;
mod remove_unused_parameters;
mod reorder_permute_dims_after_concat;
mod reorder_take_after_matmul;
mod rewrite_cuda_graph;
mod rewrite_dataflow_reshape;
mod run_codegen;
mod separate_outputs;
mod specialize_prim_func_based_on_call_site;
mod split_call_tir_by_pattern;
mod split_layout_rewrite_preproc;
mod static_plan_block_memory;
mod to_mixed_precision;
mod to_non_dataflow;
mod topological_sort;
mod update_param_type;
mod update_vdevice;
mod vm_shape_lower;
mod winograd;
mod zero_initialize;

pub use bind_params::bind_params;
pub use context::{
    CodeGenerators, Context, Environment, Evaluator, Generator, NamedTensors, Packed, Planner, Texts, Words,
    check_deadline,
};

pub use levels::{exact_pipeline, pipeline, with_prepared_constants, with_quantized_weights};
pub use memory_plan::{MemoryPlan, PlannedBuffer, PlannedKernel, PlannedStorage, peaks};
pub use observe::{Observer, Silent};
pub use options::{OptionKind, Options, PassOption};
pub use pipeline::{Pipeline, Step, find};

use hammock_diagnostics::Diagnostic;
use hammock_ir::Module;

/// A pass: a rewriting of a whole module.
pub struct Pass {
    /// Its name, that of TVM's pass.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// The options that it takes.
    pub options: &'static [PassOption],
    /// Runs the pass.
    pub run: fn(&mut Module, &Context) -> Result<(), Diagnostic>,
}

/// Every pass, by name.
pub static PASSES: &[&Pass] = &[
    &adjust_matmul_order::PASS,
    &allocate_workspace::PASS,
    &alter_op_impl::PASS,
    &annotate_tir_op_pattern::PASS,
    &attach_attr_layout_free_buffers::PASS,
    &attach_global_symbol::PASS,
    &bind_params::PASS,
    &bind_symbolic_vars::PASS,
    &bundle_model_params::PASS,
    &call_tir_rewrite::PASS,
    &canonicalize_bindings::PASS,
    &combine_parallel_matmul::PASS,
    &compute_prim_value::PASS,
    &convert_layout::PASS,
    &convert_to_dataflow::PASS,
    &dataflow_use_inplace_calls::PASS,
    &dead_code_elimination::PASS,
    &decompose_ops::FOR_INFERENCE,
    &decompose_ops::FOR_TRAINING,
    &decompose_ops::PASS,
    &eliminate_common_subexpr::PASS,
    &expand_matmul_of_sum::PASS,
    &expand_tuple_arguments::PASS,
    &fake_quantization_to_integer::PASS,
    &fast_math_transform::PASS,
    &fold_batchnorm_to_conv2d::PASS,
    &fold_constant::PASS,
    &fuse_ops::PASS,
    &fuse_ops_by_pattern::PASS,
    &fuse_rows::PASS,
    &fuse_tir::PASS,
    &fuse_transpose_matmul::PASS,
    &inline_private_functions::PASS,
    &kill_after_last_use::PASS,
    &lambda_lift::PASS,
    &lazy_transform_params::PASS,
    &legalize_ops::PASS,
    &lift_transform_params::PASS,
    &lower_alloc_tensor::PASS,
    &lower_runtime_builtin::PASS,
    &merge_composite_functions::PASS,
    &normalize::PASS,
    &optimize_layout_transform::PASS,
    &pack_weights::PASS,
    &prepare_constants::PASS,
    &quantize_weights::PASS,
    &realize_vdevice::PASS,
    &remove_purity_checking::PASS,
    &remove_redundant_permute_dims::PASS,
    &remove_redundant_reshape::PASS,
    &remove_unused_outputs::PASS,
    &remove_unused_parameters::PASS,
    &reorder_permute_dims_after_concat::PASS,
    &reorder_take_after_matmul::PASS,
    &rewrite_cuda_graph::PASS,
    &rewrite_dataflow_reshape::PASS,
    &run_codegen::PASS,
    &separate_outputs::PASS,
    &specialize_prim_func_based_on_call_site::PASS,
    &split_call_tir_by_pattern::PASS,
    &split_layout_rewrite_preproc::PASS,
    &static_plan_block_memory::PASS,
    &to_mixed_precision::PASS,
    &to_non_dataflow::PASS,
    &topological_sort::PASS,
    &update_param_type::PASS,
    &update_vdevice::PASS,
    &vm_shape_lower::PASS,
    &winograd::PASS,
    &zero_initialize::PASS,
    &tir::annotate_irregular_loop::PASS,
    &tir::bind_target::PASS,
    &tir::canonicalize_loop::PASS,
    &tir::common_subexpr_elim::PASS,
    &tir::compact_buffer_allocation::PASS,
    &tir::convert_blocks_to_opaque::PASS,
    &tir::flatten_buffer::PASS,
    &tir::force_narrow_index_to_int32::PASS,
    &tir::hoist_if_then_else::PASS,
    &tir::lower_init_block::PASS,
    &tir::lower_match_buffer::PASS,
    &tir::lower_opaque_block::PASS,
    &tir::narrow_data_type::PASS,
    &tir::plan_and_update_buffer_allocation_location::PASS,
    &tir::remove_no_op::PASS,
    &tir::rewrite_unsafe_select::PASS,
    &tir::skip_assert::PASS,
    &tir::stmt_simplify::PASS,
    &tir::unroll_loop::PASS,
    &tir::vectorize_loop::PASS,
];
