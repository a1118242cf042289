//! The pass manager and the passes, one file each.
//!
//! A [`Pass`] rewrites a module in place. Each is declared once, in its own file, with its options, and listed in
//! [`PASSES`]; names of passes and options are TVM's. A [`Pipeline`] is a list of passes with their options, written
//! `a,b{option=1},c`; [`Pipeline::run`] runs it and shows the module to an [`Observer`] after each pass.
//! [`pipeline()`] returns the passes that compile a module; a pass may occur several times, or not at all.
//!
//! Passes are sorted by purpose: `graph`, `params`, `fusion`, `layout`, `memory`, `quantization`, `lowering` and
//! `tir`. They share the analyses in `analysis`, which change nothing, and the tools in `rewrite`. A pass imports
//! another only to run it.
//!
//! A custom pass is a function and a `static` of type [`Pass`]; [`Pipeline::parse_with`] finds it by name, like the
//! built-in ones. `compiler/driver/tests/own_pass.rs` has one that rewrites values with [`editor`].
//!
//! A pass leaves a module that the verifier accepts. Passes neither parse text nor generate machine code: their
//! [`Context`] offers the services that they need, and the driver supplies an [`Evaluator`] that runs kernels for
//! them.
#![forbid(unsafe_code)]

mod context;
mod levels;
mod observe;
mod options;
mod pipeline;
mod stop;

mod analysis;
mod fusion;
mod graph;
mod layout;
pub mod libraries;
mod lowering;
mod memory;
mod params;
mod quantization;
mod rewrite;
mod tir;

pub use analysis::memory_plan::{MemoryPlan, PlannedBuffer, PlannedKernel, PlannedStorage, peaks};
pub use context::{CodeGenerators, Context, Environment, Evaluator, Generator, NamedTensors, Planner, Texts};

pub use layout::split_layout_rewrite_preproc::PREPACKED;
pub use levels::{
    exact_pipeline, gpu_pipeline, pipeline, vm_pipeline, with_libraries, with_prepared_constants,
    with_quantized_activations, with_quantized_weights,
};
pub use observe::{Observer, Silent};
pub use options::{OptionKind, Options, PassOption};
pub use params::bind_params::bind_params;
pub use pipeline::{Pipeline, Step, find};
pub use rewrite::editor;
pub use stop::{StopCondition, StopReason};

use hammock_diagnostics::Diagnostic;
use hammock_ir::Module;

/// A pass: a transformation of a whole module.
pub struct Pass {
    /// Its name, that of TVM's pass.
    pub name: &'static str,
    /// Its description, in one line.
    pub doc: &'static str,
    /// The options that it takes.
    pub options: &'static [PassOption],
    /// Runs the pass.
    pub run: fn(&mut Module, &Context) -> Result<(), Diagnostic>,
}

/// Every pass, by name.
pub static PASSES: &[&Pass] = &[
    &graph::adjust_matmul_order::PASS,
    &memory::allocate_workspace::PASS,
    &layout::alter_op_impl::PASS,
    &fusion::annotate_tir_op_pattern::PASS,
    &layout::attach_attr_layout_free_buffers::PASS,
    &lowering::attach_global_symbol::PASS,
    &params::bind_params::PASS,
    &params::bind_symbolic_vars::PASS,
    &params::bundle_model_params::PASS,
    &lowering::call_tir_rewrite::PASS,
    &graph::canonicalize_bindings::PASS,
    &graph::combine_parallel_matmul::PASS,
    &lowering::compute_prim_value::PASS,
    &graph::conv_transpose_to_conv::PASS,
    &layout::convert_layout::PASS,
    &graph::convert_to_dataflow::PASS,
    &memory::dataflow_use_inplace_calls::PASS,
    &graph::dead_code_elimination::PASS,
    &graph::decompose_ops::FOR_INFERENCE,
    &graph::decompose_ops::FOR_TRAINING,
    &graph::decompose_ops::PASS,
    &graph::eliminate_common_subexpr::PASS,
    &graph::expand_matmul_of_sum::PASS,
    &graph::expand_tuple_arguments::PASS,
    &quantization::fake_quantization_to_integer::PASS,
    &graph::fast_math_transform::PASS,
    &graph::fold_batchnorm_to_conv2d::PASS,
    &params::fold_constant::PASS,
    &fusion::fuse_ops::PASS,
    &fusion::fuse_ops_by_pattern::PASS,
    &fusion::fuse_rows::PASS,
    &fusion::fuse_tir::PASS,
    &fusion::fuse_transpose_matmul::PASS,
    &graph::inline_private_functions::PASS,
    &memory::kill_after_last_use::PASS,
    &graph::kn2row::PASS,
    &graph::lambda_lift::PASS,
    &params::lazy_transform_params::PASS,
    &lowering::legalize_ops::PASS,
    &params::lift_transform_params::PASS,
    &lowering::lower_alloc_tensor::PASS,
    &lowering::lower_runtime_builtin::PASS,
    &fusion::merge_composite_functions::PASS,
    &graph::normalize::PASS,
    &layout::optimize_layout_transform::PASS,
    &quantization::pack_quantized_weights::PASS,
    &layout::pack_weights::PASS,
    &memory::place_kernels::PASS,
    &params::prepare_constants::PASS,
    &quantization::quantize_activations::PASS,
    &quantization::quantize_weights::PASS,
    &memory::realize_vdevice::PASS,
    &lowering::remove_purity_checking::PASS,
    &layout::remove_redundant_permute_dims::PASS,
    &layout::remove_redundant_reshape::PASS,
    &graph::remove_unused_outputs::PASS,
    &graph::remove_unused_parameters::PASS,
    &layout::reorder_permute_dims_after_concat::PASS,
    &graph::reorder_take_after_matmul::PASS,
    &lowering::rewrite_cuda_graph::PASS,
    &memory::rewrite_dataflow_reshape::PASS,
    &lowering::run_codegen::PASS,
    &fusion::separate_outputs::PASS,
    &graph::slice_strided_conv::PASS,
    &tir::specialize_prim_func_based_on_call_site::PASS,
    &fusion::split_call_tir_by_pattern::PASS,
    &layout::split_layout_rewrite_preproc::PASS,
    &memory::static_plan_block_memory::PASS,
    &quantization::to_mixed_precision::PASS,
    &lowering::to_non_dataflow::PASS,
    &graph::topological_sort::PASS,
    &graph::trim_conv_kernel::PASS,
    &params::update_param_type::PASS,
    &memory::update_vdevice::PASS,
    &lowering::vm_shape_lower::PASS,
    &graph::winograd::PASS,
    &memory::zero_initialize::PASS,
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
