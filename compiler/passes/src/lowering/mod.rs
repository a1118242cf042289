//! Passes that lower operators to kernels and builtins of the virtual machine.

pub mod attach_global_symbol;
pub mod call_tir_rewrite;
pub mod compute_prim_value;
pub mod legalize_ops;
pub mod lower_alloc_tensor;
pub mod lower_runtime_builtin;
pub mod remove_purity_checking;
pub mod rewrite_cuda_graph;
pub mod run_codegen;
pub mod to_non_dataflow;
pub mod vm_shape_lower;
